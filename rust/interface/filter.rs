//! NCCL's syntax of interface names.

/// Which interfaces are allowed, in the syntax of `NCCL_SOCKET_IFNAME`: a comma-separated list of prefixes; `=` in
/// front makes the names exact, `^` turns the list into exceptions.
///
/// <https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-ifname>
///
/// ```
/// use torchrun_jsc::interface::Filter;
/// assert!(Filter::parse("ib,hsn").allows("hsn0"));
/// assert!(!Filter::parse("^=eth0").allows("eth0"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    text: String,
    exclude: bool,
    exact: bool,
    names: Vec<String>,
}

impl Filter {
    /// Read `text`; any text has a meaning.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let rest = text.trim();
        let (exclude, rest) = rest.strip_prefix('^').map_or((false, rest), |rest| (true, rest));
        let (exact, rest) = rest.strip_prefix('=').map_or((false, rest), |rest| (true, rest));
        let names = rest.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
        Self { text: text.trim().to_owned(), exclude, exact, names }
    }

    /// Whether an interface called `name` may be used.
    #[must_use]
    pub fn allows(&self, name: &str) -> bool {
        let listed = self.names.iter().any(|n| if self.exact { n == name } else { name.starts_with(n.as_str()) });
        listed != self.exclude
    }

    /// The text it was read from, without blanks around it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_like_nccl() {
        for (text, allowed, refused) in [
            ("eth", "eth0 eth1 ethernet", "ib0 lo"),
            ("=eth0", "eth0", "eth01 eth"),
            ("=eth0,eth1", "eth0 eth1", "eth2 eth10"),
            ("^docker", "eth0 lo", "docker0 docker1"),
            ("^=docker0", "docker1 docker01", "docker0"),
            ("^docker0", "lo eth0", "docker0 docker01"),
            ("ib", "ib0 ibp1s0", "eth0"),
            ("ib,hsn", "ib0 hsn3", "eth0"),
            (" ib0 , hsn ", "ib0 hsn1", "eth0"),
            ("^", "eth0 lo", ""),
        ] {
            let filter = Filter::parse(text);
            for name in allowed.split_whitespace() {
                assert!(filter.allows(name), "{text} {name}");
            }
            for name in refused.split_whitespace() {
                assert!(!filter.allows(name), "{text} {name}");
            }
        }
    }
}
