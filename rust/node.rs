//! The node that a decision is made on.

use std::fs;
use std::sync::OnceLock;

use crate::interface::{LazyTable, Table};
use crate::resolver::Resolver;

/// What the plan knows of the node it is made on.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    /// What the node calls itself (`gethostname`).
    pub hostname: &'a str,
    /// Its interfaces, listed when they are first needed.
    pub table: &'a LazyTable,
    /// Its resolver and routes.
    pub resolver: &'a dyn Resolver,
    /// Its range of ephemeral ports, where known.
    pub ephemeral_ports: Option<(u16, u16)>,
}

/// Ask `question` of the node that this process runs on, with this resolver.
pub fn ask_this<T>(resolver: &dyn Resolver, question: impl FnOnce(Node<'_>) -> T) -> T {
    let hostname = nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned();
    let table = LazyTable::new(Box::new(|| Table::snapshot().unwrap_or_default()));
    question(Node { hostname: &hostname, table: &table, resolver, ephemeral_ports: ephemeral_ports() })
}

/// The kernel's range of ephemeral ports, read once: that takes as long as all the rest of a call.
fn ephemeral_ports() -> Option<(u16, u16)> {
    static RANGE: OnceLock<Option<(u16, u16)>> = OnceLock::new();
    *RANGE.get_or_init(|| parse_range(&fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?))
}

fn parse_range(text: &str) -> Option<(u16, u16)> {
    let mut numbers = text.split_whitespace().map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolver::SystemResolver;
    use std::time::Duration;

    #[test]
    fn reads_the_kernels_line() {
        assert_eq!(parse_range("32768\t60999\n"), Some((32_768, 60_999)));
        for text in ["", "1", "a b", "1 99999"] {
            assert_eq!(parse_range(text), None, "{text}");
        }
    }

    #[test]
    fn this_node_has_a_name_and_a_loopback_interface() {
        let resolver = SystemResolver::new(Duration::from_secs(5), || false);
        ask_this(&resolver, |node| {
            assert!(!node.hostname.is_empty());
            assert!(node.table.interfaces.iter().any(|interface| interface.loopback));
        });
    }
}
