//! The one error type of the crate.

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
    #[error("{name}={value:?}: {reason}")]
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
        "{name}={host:?}: cannot resolve it on node {node}: {answer}; use a name that all nodes resolve, or an address"
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

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;
