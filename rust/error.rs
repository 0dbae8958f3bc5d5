//! The one error type of the crate.

use std::fmt;

/// What can go wrong between reading the environment and having a plan.
///
/// Every message names the input and its value; values are quoted with control characters escaped, so that nothing
/// from the environment reaches a terminal raw.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A hostlist expression that Slurm would not expand, or that we refuse to guess at.
    #[error("bad node list {expression:?}: {reason} at byte {offset}")]
    Hostlist {
        /// The whole expression.
        expression: String,
        /// Byte offset of the fault in `expression`.
        offset: usize,
        /// What is wrong there.
        reason: &'static str,
    },
    /// An expression that is valid but stands for more hosts than may be listed at once.
    #[error("node list {expression:?} stands for {count} hosts, more than the limit of {limit}")]
    TooManyHosts {
        /// The whole expression.
        expression: String,
        /// How many hosts it stands for; saturates at `usize::MAX`.
        count: usize,
        /// The limit that was exceeded.
        limit: usize,
    },
    /// A variable or option whose value cannot be used.
    #[error("{}={value:?}: {}", Plain(.name), Plain(.reason))]
    Setting {
        /// Environment variable (`SLURM_NODEID`) or option (`--rdzv_endpoint`).
        name: String,
        /// Its value, as given.
        value: String,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// A host name without a usable address.
    #[error(
        "{}={host:?}: cannot resolve it on node {}: {}; use a name that all nodes resolve, or an address",
        Plain(.name), Plain(.node), Plain(.answer)
    )]
    Resolve {
        /// Where the name came from (`--rdzv_endpoint`).
        name: String,
        /// The host name that was looked up.
        host: String,
        /// The node on which it was looked up.
        node: String,
        /// The resolver's own answer.
        answer: String,
    },
}

impl Error {
    /// [`Error::Setting`] for the variable or option `name`.
    pub fn setting(name: impl Into<String>, value: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Setting { name: name.into(), value: value.into(), reason: reason.into() }
    }
}

/// Text with control characters escaped as in `{:?}`, and quotes left alone.
struct Plain<'a>(&'a str);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '"' | '\'' | '\\' => write!(f, "{c}"),
            _ => write!(f, "{}", c.escape_debug()),
        })
    }
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_message_is_raw() {
        let raw = || "\u{1b}[31m\n\u{202e}\"'\\é".to_owned();
        let setting = Error::Setting { name: raw(), value: raw(), reason: raw() };
        let resolve = Error::Resolve { name: raw(), host: raw(), node: raw(), answer: raw() };
        let hostlist = Error::Hostlist { expression: raw(), offset: 0, reason: "" };
        let too_many = Error::TooManyHosts { expression: raw(), count: 2, limit: 1 };
        for error in [setting, resolve, hostlist, too_many] {
            let message = error.to_string();
            assert!(message.contains("\\u{1b}[31m\\n\\u{202e}") && message.contains('é'), "{message}");
            assert!(!message.contains(|c: char| c.is_control() || c == '\u{202e}'), "{message}");
        }
    }
}
