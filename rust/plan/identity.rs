//! Which node of the step this is.

use crate::environ::Variable;
use crate::label::split;
use crate::slurm::{Nodes, Ordered, Step};
use crate::{Error, Result};

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

    /// Whether the step is known to have more than one node.
    pub(super) fn has_peers(&self) -> bool {
        self.nnodes().is_some_and(|nodes| nodes > 1)
    }

    /// The node after this one in the step, and after the last one the first.
    pub(super) fn peer(&self) -> Option<String> {
        let nodes = &self.nodes.as_ref()?.hosts;
        nodes.nth(self.rank?.checked_add(1)? % nodes.len())
    }

    /// The place in the step's task counts of the node with this rank.
    pub(super) fn counted_place(&self, rank: usize) -> Option<usize> {
        let Some(listed) = &self.listed else { return Some(rank) };
        listed.place(&self.nodes.as_ref()?.hosts.nth(rank)?)
    }

    /// The domain of this node's name, with its dot.
    pub(super) fn domain(&self) -> &str {
        split(&self.name).1
    }
}

/// Find this node in its step by its name (`SLURMD_NODENAME`, then the host name) and by `SLURM_NODEID`.
///
/// `wanted` is the number of nodes of the launch, where there is one. For a launch on one node, a node list that cannot
/// be read is as if there were none.
pub(super) fn identify(step: &Step, hostname: &str, wanted: Option<usize>) -> Result<Identity> {
    let name = step.get(Variable::NodeName).unwrap_or(hostname);
    let found = match step.ordered_nodes(name, wanted) {
        Err(_) if wanted == Some(1) => None,
        found => found?,
    };
    // In a batch script SLURM_NODEID is the script's own; under ssh and mpirun it may be another node's.
    let id = if step.is_inside() { step.number(Variable::NodeId)? } else { None };
    let Some(found) = found else {
        return Ok(Identity { name: name.into(), rank: id, rank_source: "SLURM_NODEID".into(), ..Identity::default() });
    };
    let nodes = &found.nodes;
    let by_name = nodes.place(name).or_else(|| nodes.place(hostname)).or_else(|| nodes.place_by_label(hostname));
    match (by_name, id) {
        (Some(place), Some(id)) if place == id || nodes.hosts.nth(id).as_deref() == Some(name) => {
            Ok(by_id(found, name, id))
        }
        (Some(place), Some(id)) => Ok(contradicted(found, name, hostname, place, id)),
        (Some(place), None) => Ok(by_list(found, name, place)),
        (None, Some(id)) if id < nodes.hosts.len() => Ok(by_id(found, name, id)),
        (None, Some(id)) => {
            let reason = format!("{} has only {} nodes, and {name} is none of them", nodes.variable, nodes.hosts.len());
            Err(Error::setting("SLURM_NODEID", id.to_string(), reason))
        }
        (None, None) => Ok(Identity { name: name.to_owned(), nodes: Some(found.nodes), ..Identity::default() }),
    }
}

fn by_id(found: Ordered, name: &str, id: usize) -> Identity {
    Identity { rank_source: "SLURM_NODEID".into(), ..by_list(found, name, id) }
}

fn by_list(found: Ordered, name: &str, rank: usize) -> Identity {
    let Ordered { nodes, listed, .. } = found;
    Identity {
        name: nodes.hosts.nth(rank).unwrap_or_else(|| name.to_owned()),
        rank: Some(rank),
        rank_source: nodes.variable.clone(),
        nodes: Some(nodes),
        listed,
        warning: None,
    }
}

/// This node, where its name and its id are those of two places.
fn contradicted(found: Ordered, name: &str, hostname: &str, place: usize, id: usize) -> Identity {
    if let Some(all) = found.all_groups(name, id) {
        return by_id(Ordered { nodes: all, ..found }, name, id);
    }
    // Handed from one node to another, as by a launcher that exports its whole environment.
    if found.nodes.place(hostname) == Some(id) {
        let warning =
            format!("SLURMD_NODENAME={name} contradicts SLURM_NODEID={id} and the host name {hostname}; taking {id}");
        return Identity { warning: Some(warning), ..by_id(found, name, id) };
    }
    // Warn on one node only. If every node was handed the same id, node 0 sees no contradiction, so node 1 speaks.
    let warning = (place <= 1 && !found.is_id_in_group(name, id)).then(|| {
        let list = &found.nodes.variable;
        format!("SLURM_NODEID={id} contradicts {list}, where {name} is number {place}; taking {place}")
    });
    Identity { warning, ..by_list(found, name, place) }
}
