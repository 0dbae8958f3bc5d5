//! `host:port` as torch reads it.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use crate::{Error, Result};

/// A host with or without a port. The host stands without brackets.
///
/// ```
/// use torchrun_jsc::host_port::HostPort;
/// let endpoint = HostPort::parse("--rdzv_endpoint", "[fd00::1]:29500").unwrap();
/// assert_eq!((endpoint.host.as_str(), endpoint.port), ("fd00::1", Some(29500)));
/// assert_eq!(endpoint.to_string(), "[fd00::1]:29500");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "python", derive(serde::Serialize, serde::Deserialize))]
pub struct HostPort {
    /// Host name, IPv4 or IPv6 address, letter for letter as it was given.
    pub host: String,
    /// TCP port; 0 asks the system for a free one.
    pub port: Option<u16>,
}

impl HostPort {
    /// Parse `text` as torch's `parse_rendezvous_endpoint` does, plus bare IPv6 addresses, which torch takes apart
    /// at their last colon.
    ///
    /// <https://github.com/pytorch/pytorch/blob/v2.5.0/torch/distributed/elastic/rendezvous/utils.py>
    ///
    /// # Errors
    /// [`Error::Setting`] with `name` (the variable or option `text` came from) where torch would refuse the value.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let refuse = |reason: &str| {
            Error::setting(name, text, format!("{reason}; an endpoint is host, host:port, [IPv6] or [IPv6]:port"))
        };
        let trimmed = text.trim();
        let (host, port) = split(trimmed);
        let port = match port {
            None => None,
            Some(digits) => Some(parse_port(digits).ok_or_else(|| refuse("the port is not a number from 0 to 65535"))?),
        };
        if host.is_empty() {
            return Err(refuse("the host is missing"));
        }
        if let Some(bad) = host.chars().find(|&c| !is_host_character(c)) {
            return Err(refuse(&format!("{bad:?} cannot stand in a host name")));
        }
        if host.contains(':') && host.parse::<Ipv6Addr>().is_err() {
            return Err(refuse("the host is neither a name nor an IPv6 address"));
        }
        Ok(Self { host: host.to_owned(), port })
    }

    /// The host as an address, where it is one.
    #[must_use]
    pub fn ip(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    /// Whether the host is `localhost` or an address of the loopback network: one that no other node can reach.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.host.eq_ignore_ascii_case("localhost") || self.ip().is_some_and(|ip| ip.is_loopback())
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]", self.host)?;
        } else {
            f.write_str(&self.host)?;
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// Host without brackets, and the text of the port.
fn split(text: &str) -> (&str, Option<&str>) {
    if let Some(host) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return (host, None);
    }
    let Some((host, port)) = text.rsplit_once(':') else { return (text, None) };
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    // `fd00::1` is an address without a port, unless what stands before the last colon is an address by itself.
    let is_port = port.bytes().all(|b| b.is_ascii_digit());
    if (!is_port || bare.parse::<Ipv6Addr>().is_err()) && text.parse::<Ipv6Addr>().is_ok() {
        return (text, None);
    }
    (bare, Some(port))
}

fn parse_port(digits: &str) -> Option<u16> {
    let plain = (1..=5).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().ok())?
}

/// torch's `[\w\.:-]`.
fn is_host_character(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (String, Option<u16>) {
        let endpoint = HostPort::parse("--rdzv_endpoint", text).unwrap_or_else(|e| panic!("{e}"));
        (endpoint.host, endpoint.port)
    }

    #[test]
    fn reads_what_torch_reads() {
        for (text, host, port) in [
            ("h", "h", None),
            ("h:1", "h", Some(1)),
            (" h:1 ", "h", Some(1)),
            ("h:0", "h", Some(0)),
            ("h:00029", "h", Some(29)),
            ("10.20.0.1:29500", "10.20.0.1", Some(29500)),
            ("[::1]:29500", "::1", Some(29500)),
            ("[::1]", "::1", None),
            ("::1:29500", "::1", Some(29500)),
            ("jwb0001i.lab.test:65535", "jwb0001i.lab.test", Some(65535)),
            ("a_b-c.d", "a_b-c.d", None),
        ] {
            assert_eq!(parts(text), (host.to_owned(), port), "{text}");
        }
    }

    #[test]
    fn bare_ipv6_has_no_port() {
        for text in ["::1", "fd00:20::1", "1:2:3:4:5:6:7:8", "::ffff:10.0.0.1"] {
            assert_eq!(parts(text), (text.to_owned(), None), "{text}");
        }
    }

    #[test]
    fn refuses_what_torch_refuses_and_names_the_option() {
        for text in [
            "h:",
            "h:65536",
            "h:-1",
            "h:123456",
            "fe80::1%eth0",
            "user@h:1",
            "tcp://h:1",
            ":29500",
            "*:1",
            "",
            "h:1:2",
            "h h",
            "[::1",
            "h\u{1b}[31m:1",
        ] {
            let error = HostPort::parse("--rdzv_endpoint", text).expect_err(text).to_string();
            assert!(error.starts_with("--rdzv_endpoint=\""), "{error}");
            assert!(!error.contains('\u{1b}'), "{error}");
        }
    }

    #[test]
    fn prints_what_it_read() {
        for text in ["h", "h:1", "[fd00::1]:29500", "[fd00::1]", "10.0.0.1:0"] {
            assert_eq!(HostPort::parse("x", text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn knows_loopback() {
        for (text, loopback) in [
            ("localhost:1", true),
            ("LOCALHOST", true),
            ("127.0.1.1", true),
            ("[::1]:2", true),
            ("a01", false),
            ("10.0.0.1", false),
        ] {
            assert_eq!(HostPort::parse("x", text).unwrap().is_loopback(), loopback, "{text}");
        }
    }
}
