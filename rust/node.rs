//! The node that a decision is made on.

use std::fs;
use std::sync::OnceLock;

use crate::interface::{LazyTable, Table};
use crate::resolver::Resolver;

/// The processes of a node, as far as they matter to a plan. Tests answer in its place.
pub trait Processes {
    /// The names of this process's parents, the nearest one first, as far as the system shows them.
    fn parents(&self) -> Vec<String>;
}

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
    /// Its processes.
    pub processes: &'a dyn Processes,
}

/// Ask `question` of the node that this process runs on, with this resolver.
pub fn ask_this<T>(resolver: &dyn Resolver, question: impl FnOnce(Node<'_>) -> T) -> T {
    let hostname = nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned();
    let table = LazyTable::new(Box::new(|| Table::snapshot().unwrap_or_default()));
    let ephemeral_ports = ephemeral_ports();
    question(Node { hostname: &hostname, table: &table, resolver, ephemeral_ports, processes: &System })
}

/// The processes that the kernel shows in `/proc`.
struct System;

impl Processes for System {
    fn parents(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut process = std::os::unix::process::parent_id();
        // Not even a shell in a shell has that many; a process that ends meanwhile could lead round in a circle.
        while process > 0 && names.len() < 64 {
            let Some((name, parent)) =
                fs::read_to_string(format!("/proc/{process}/stat")).ok().as_deref().and_then(parse_stat)
            else {
                break;
            };
            names.push(name);
            process = parent;
        }
        names
    }
}

/// Name and parent in a line of `/proc/PID/stat`. The name stands in parentheses and may contain any character.
fn parse_stat(line: &str) -> Option<(String, u32)> {
    let (before, after) = line.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    // State, then the parent.
    Some((name.to_owned(), after.split_whitespace().nth(1)?.parse().ok()?))
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
    fn reads_a_process() {
        assert_eq!(parse_stat("12 (a (b) c) S 7 12 12"), Some(("a (b) c".to_owned(), 7)));
        assert_eq!(parse_stat("12"), None);
    }

    #[test]
    fn a_process_has_parents() {
        assert!(System.parents().iter().all(|name| !name.is_empty()));
        #[cfg(target_os = "linux")]
        assert!(!System.parents().is_empty());
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
