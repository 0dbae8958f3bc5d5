//! The nodes of a step in the order of their ids, which in a heterogeneous job is not that of Slurm's list.

use crate::Result;

use super::nodes::Nodes;
use super::step::Step;

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

impl Step {
    /// The nodes in the order of their ids, where the node called `name` looks for itself among them.
    ///
    /// `wanted` is the number of nodes of the launch, where there is one. A launch on one node needs no groups.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] for a list or a number that cannot be read.
    pub fn ordered_nodes(&self, name: &str, wanted: Option<usize>) -> Result<Option<Ordered>> {
        let Some(nodes) = self.nodes()? else { return Ok(None) };
        // A list that the caller gave has the caller's order.
        let is_grouped = wanted != Some(1) && !self.has_given_nodes();
        let groups = if is_grouped { self.het_groups()? } else { Vec::new() };
        Ok(Some(match groups_of_step(self, &groups, &nodes, name, wanted)? {
            Some(grouped) => Ordered { nodes: grouped, listed: Some(nodes), groups },
            None => Ordered { nodes, listed: None, groups },
        }))
    }
}

/// The nodes of a step over several groups of a heterogeneous job, in the order of their ids: group by group.
///
/// slurmd's list of such a step is sorted by name. Under psslurm the list may be that of one group, where the size of the
/// step or of the launch tells.
fn groups_of_step(
    step: &Step,
    groups: &[Nodes],
    list: &Nodes,
    name: &str,
    wanted: Option<usize>,
) -> Result<Option<Nodes>> {
    let size = list.hosts.len();
    let is_part = |group: &&Nodes| {
        group.hosts.len() < size && group.hosts.nth(0).is_some_and(|first| list.hosts.position(&first).is_some())
    };
    let parts = Nodes::join(&groups.iter().filter(is_part).collect::<Vec<_>>());
    if let Some(parts) = parts.filter(|parts| parts.hosts.len() == size) {
        return Ok(Some(parts));
    }
    let Some(expected) = step.num_nodes()?.or(wanted).filter(|&expected| expected != size) else { return Ok(None) };
    Ok(join_all(groups).filter(|all| all.hosts.len() == expected && all.place(name).is_some()))
}

fn join_all(groups: &[Nodes]) -> Option<Nodes> {
    Nodes::join(&groups.iter().collect::<Vec<_>>())
}
