//! Slurm's short form of numbers per node.

use crate::{Error, Result};

/// Task counts per node, such as `4(x2),3` for two nodes with four tasks and one with three.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskCounts {
    /// Tasks on each node of a run of nodes, and the length of that run.
    runs: Vec<(usize, usize)>,
}

impl TaskCounts {
    /// Read `text`, the value of `variable`.
    ///
    /// # Errors
    /// [`Error::Setting`] where `text` is not a comma-separated list of `N` and `N(xM)`.
    pub fn parse(variable: &str, text: &str) -> Result<Self> {
        let runs: Option<Vec<_>> = text.split(',').map(|part| parse_run(part.trim())).collect();
        runs.map(|runs| Self { runs }).ok_or_else(|| Error::setting(variable, text, "not task counts such as 4(x2),3"))
    }

    /// Tasks on the node with number `node`.
    #[must_use]
    pub fn on_node(&self, node: usize) -> Option<usize> {
        let mut left = node;
        for &(tasks, nodes) in &self.runs {
            if left < nodes {
                return Some(tasks);
            }
            left -= nodes;
        }
        None
    }

    /// Tasks on the nodes before the node with number `node`; saturates.
    #[must_use]
    pub fn before_node(&self, node: usize) -> usize {
        let mut left = node;
        let mut sum: usize = 0;
        for &(tasks, nodes) in &self.runs {
            let here = left.min(nodes);
            sum = sum.saturating_add(tasks.saturating_mul(here));
            left -= here;
        }
        sum
    }
}

fn parse_run(text: &str) -> Option<(usize, usize)> {
    let (tasks, nodes) = match text.split_once("(x") {
        Some((tasks, nodes)) => (tasks, nodes.strip_suffix(')')?),
        None => (text, "1"),
    };
    let plain = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    Some((plain(tasks)?, plain(nodes).filter(|&nodes| nodes > 0)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn per_node(text: &str, nodes: usize) -> Vec<Option<usize>> {
        let counts = TaskCounts::parse("SLURM_STEP_TASKS_PER_NODE", text).unwrap();
        (0..nodes).map(|node| counts.on_node(node)).collect()
    }

    #[test]
    fn reads_slurms_short_form() {
        assert_eq!(per_node("1(x2)", 3), [Some(1), Some(1), None]);
        assert_eq!(per_node("4(x2),3", 3), [Some(4), Some(4), Some(3)]);
        assert_eq!(per_node("2, 1", 2), [Some(2), Some(1)]);
    }

    #[test]
    fn sums_the_nodes_before() {
        let counts = TaskCounts::parse("x", "4(x2),3").unwrap();
        assert_eq!((0..5).map(|n| counts.before_node(n)).collect::<Vec<_>>(), [0, 4, 8, 11, 11]);
    }

    #[test]
    fn refuses_the_rest() {
        for text in ["", "4(x", "4(x0)", "4x2", "-1", "4(x2", "a", "1,,2", "4(x2)3", "99999999999999999999999"] {
            assert!(TaskCounts::parse("x", text).is_err(), "{text}");
        }
    }
}
