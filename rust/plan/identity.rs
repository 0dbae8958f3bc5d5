//! Which node of the step this is.

use crate::slurm::{Nodes, Step};
use crate::{Error, Result};

use super::names;

/// This node's name and place in the step.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    /// Its name: as in the node list where it is found there, else what the node calls itself.
    pub name: String,
    /// Its place in the step, counted from 0.
    pub rank: Option<usize>,
    /// Where the rank was read.
    pub rank_source: String,
    /// The nodes of the step.
    pub nodes: Option<Nodes>,
    /// Slurm's own list, which its task counts follow, where `nodes` has another order.
    pub listed: Option<Nodes>,
    /// What is contradictory about it.
    pub warning: Option<String>,
}

impl Identity {
    /// The number of nodes of the step.
    #[must_use]
    pub fn nnodes(&self) -> Option<usize> {
        self.nodes.as_ref().map(|nodes| nodes.hosts.len())
    }

    /// The node after this one in the step, and after the last one the first.
    pub(super) fn peer(&self) -> Option<String> {
        let nodes = &self.nodes.as_ref()?.hosts;
        nodes.nth(self.rank?.checked_add(1)? % nodes.len())
    }

    /// The place in the step's task counts of the node with this rank.
    pub(super) fn counted_place(&self, rank: usize) -> Option<usize> {
        let Some(listed) = &self.listed else { return Some(rank) };
        place(listed, &self.nodes.as_ref()?.hosts.nth(rank)?)
    }

    /// The domain of this node's name, with its dot.
    pub(super) fn domain(&self) -> &str {
        names::split(&self.name).1
    }
}

/// Find this node in its step by its name (`SLURMD_NODENAME`, then the host name) and by `SLURM_NODEID`.
///
/// Where `wanted`, the number of nodes of the launch, is 1, a node list that cannot be read is as if there were none.
pub(super) fn identify(step: &Step, hostname: &str, wanted: usize) -> Result<Identity> {
    let nodes = match step.nodes() {
        Err(_) if wanted == 1 => None,
        nodes => nodes?,
    };
    let name = step.get("SLURMD_NODENAME").unwrap_or(hostname);
    // In a batch script SLURM_NODEID is the script's own; under ssh and mpirun it may be another node's.
    let id = if step.is_inside() { step.node_id()? } else { None };
    let Some(nodes) = nodes else {
        return Ok(Identity { name: name.into(), rank: id, rank_source: "SLURM_NODEID".into(), ..Identity::default() });
    };
    // A list that the caller gave has the caller's order.
    let is_grouped = wanted != 1 && nodes.variable.starts_with("SLURM_");
    let groups = if is_grouped { step.het_groups()? } else { Vec::new() };
    let (nodes, listed) = match groups_of_step(step, &groups, &nodes, name, wanted)? {
        Some(grouped) => (grouped, Some(nodes)),
        None => (nodes, None),
    };
    let by_name = place(&nodes, name).or_else(|| place(&nodes, hostname)).or_else(|| search(&nodes, hostname));
    let identity = |nodes: Nodes, rank: usize, source: &str, warning: Option<String>| Identity {
        name: nodes.hosts.nth(rank).unwrap_or_else(|| name.to_owned()),
        rank: Some(rank),
        rank_source: source.to_owned(),
        nodes: Some(nodes),
        listed: listed.clone(),
        warning,
    };
    match (by_name, id) {
        (Some(place), Some(id)) if place == id || nodes.hosts.nth(id).as_deref() == Some(name) => {
            Ok(identity(nodes, id, "SLURM_NODEID", None))
        }
        (Some(place), Some(id)) => {
            if let Some(all) = all_groups(&groups).filter(|all| all.hosts.nth(id).as_deref() == Some(name)) {
                return Ok(identity(all, id, "SLURM_NODEID", None));
            }
            // Handed from one node to another, as by a launcher that exports its whole environment.
            if self::place(&nodes, hostname) == Some(id) {
                let said = format!("SLURMD_NODENAME={name} contradicts SLURM_NODEID={id} and the host name {hostname}");
                let warning = Some(format!("{said}; taking {id}"));
                return Ok(identity(nodes, id, "SLURM_NODEID", warning));
            }
            let list = &nodes.variable;
            // psslurm counts the nodes of each group from 0.
            let of_group = groups.iter().any(|group| self::place(group, name) == Some(id));
            // One node says it for all: where all ids are the same, number 0 has nothing to complain of.
            let warning = (place <= 1 && !of_group).then(|| {
                format!("SLURM_NODEID={id} contradicts {list}, where {name} is number {place}; taking {place}")
            });
            let source = nodes.variable.clone();
            Ok(identity(nodes, place, &source, warning))
        }
        (Some(place), None) => {
            let source = nodes.variable.clone();
            Ok(identity(nodes, place, &source, None))
        }
        (None, Some(id)) if id < nodes.hosts.len() => Ok(identity(nodes, id, "SLURM_NODEID", None)),
        (None, Some(id)) => Err(Error::Setting {
            name: "SLURM_NODEID".into(),
            value: id.to_string(),
            reason: format!("{} has only {} nodes, and {name} is none of them", nodes.variable, nodes.hosts.len()),
        }),
        (None, None) => Ok(Identity { name: name.to_owned(), nodes: Some(nodes), ..Identity::default() }),
    }
}

/// The nodes of a step over several groups of a heterogeneous job, in the order of their ids: group by group.
///
/// slurmd's list of such a step is sorted by name. Under psslurm the list may be that of one group, where the size of the
/// step or of the launch tells.
fn groups_of_step(step: &Step, groups: &[Nodes], list: &Nodes, name: &str, wanted: usize) -> Result<Option<Nodes>> {
    let size = list.hosts.len();
    let is_part = |group: &&Nodes| {
        group.hosts.len() < size && group.hosts.nth(0).is_some_and(|first| list.hosts.position(&first).is_some())
    };
    let parts = Nodes::join(&groups.iter().filter(is_part).collect::<Vec<_>>());
    if let Some(parts) = parts.filter(|parts| parts.hosts.len() == size) {
        return Ok(Some(parts));
    }
    let expected = step.num_nodes()?.unwrap_or(wanted);
    if size == expected {
        return Ok(None);
    }
    Ok(all_groups(groups).filter(|all| all.hosts.len() == expected && place(all, name).is_some()))
}

fn all_groups(groups: &[Nodes]) -> Option<Nodes> {
    Nodes::join(&groups.iter().collect::<Vec<_>>())
}

fn place(nodes: &Nodes, name: &str) -> Option<usize> {
    let (label, domain) = names::split(name);
    names::place(nodes, label, domain, "")
}

/// Look for a dotted name in the list whose first label is the host name's.
fn search(nodes: &Nodes, hostname: &str) -> Option<usize> {
    let dotted = nodes.hosts.nth(0).is_some_and(|first| first.contains('.'));
    let label = names::split(hostname).0;
    dotted.then(|| nodes.hosts.iter().position(|node| names::split(&node).0 == label)).flatten()
}
