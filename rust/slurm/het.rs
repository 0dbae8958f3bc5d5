//! The nodes of a step in the order of their ids, which in a heterogeneous job is not that of Slurm's list.

use std::collections::HashSet;

use super::nodes::Nodes;

/// The nodes of a step.
#[derive(Debug, Clone)]
pub struct Ordered {
    /// By their ids.
    pub nodes: Nodes,
    /// Slurm's own list, which its task counts follow, where it has another order.
    pub listed: Option<Nodes>,
    /// The groups of the job, where it is heterogeneous.
    pub groups: Vec<Nodes>,
}

impl Ordered {
    /// The nodes of all groups, where these are what `id` counts for the node called `name`.
    #[must_use]
    pub fn all_groups(&self, name: &str, id: usize) -> Option<Nodes> {
        join_all(&self.groups).filter(|all| all.hosts.nth(id).as_deref() == Some(name))
    }

    /// Whether `id` is the number of the node called `name` in a group of the job: psslurm counts the nodes of each group
    /// from 0.
    #[must_use]
    pub fn is_id_in_group(&self, name: &str, id: usize) -> bool {
        self.groups.iter().any(|group| group.place(name) == Some(id))
    }
}

/// The nodes of `list`, of which a step has `expected`, in the order of their ids, where the node called `name` looks for
/// itself among them. `groups` are those of a heterogeneous job.
///
/// slurmd's list of a step over several groups is sorted by name, and its ids go group by group. Under psslurm the list may
/// be that of one group, where the size of the step or of the launch tells.
#[must_use]
pub fn ordered(list: Nodes, groups: Vec<Nodes>, expected: Option<usize>, name: &str) -> Ordered {
    let size = list.hosts.len();
    let is_part = |group: &&Nodes| {
        group.hosts.len() < size && group.hosts.nth(0).is_some_and(|first| list.hosts.position(&first).is_some())
    };
    let parts = Nodes::join(&groups.iter().filter(is_part).collect::<Vec<_>>());
    let grouped = parts.filter(|parts| parts.hosts.len() == size && covers(parts, &list)).or_else(|| {
        let expected = expected.filter(|&expected| expected != size)?;
        join_all(&groups).filter(|all| all.hosts.len() == expected && all.place(name).is_some() && covers(all, &list))
    });
    match grouped {
        Some(nodes) => Ordered { nodes, listed: Some(list), groups },
        None => Ordered { nodes: list, listed: None, groups },
    }
}

/// Whether the nodes of groups are those of a step with this list and perhaps more, each once: else the groups are those of
/// another job.
fn covers(groups: &Nodes, list: &Nodes) -> bool {
    let names: HashSet<_> = groups.hosts.names().collect();
    names.len() == groups.hosts.len() && list.hosts.names().all(|name| names.contains(&name))
}

fn join_all(groups: &[Nodes]) -> Option<Nodes> {
    Nodes::join(&groups.iter().collect::<Vec<_>>())
}
