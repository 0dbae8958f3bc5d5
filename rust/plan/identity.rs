//! Which node of the allocation this is.

use std::net::IpAddr;

use crate::allocation::Allocation;
use crate::label::split;
use crate::slurm::{Nodes, Ordered};
use crate::{Error, Result};

/// This node's name and place among the others.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    /// Its name: as in the node list where it is found there, else what the node calls itself.
    pub name: String,
    /// Its place among the nodes, counted from 0.
    pub rank: Option<usize>,
    /// Where the rank was read.
    pub rank_source: String,
    /// The nodes of the step, or of the allocation.
    pub nodes: Option<Nodes>,
    /// Slurm's own list, which its task counts follow, where `nodes` has another order.
    pub listed: Option<Nodes>,
    /// Why Slurm's numbers of nodes and tasks cannot be this node's, where its name contradicts them.
    pub contradiction: Option<String>,
    /// What is contradictory about it, for the node that speaks of it.
    pub warning: Option<String>,
}

impl Identity {
    /// The number of nodes.
    #[must_use]
    pub fn nnodes(&self) -> Option<usize> {
        self.nodes.as_ref().map(|nodes| nodes.hosts.len())
    }

    /// Whether there is known to be more than one node.
    pub(super) fn has_peers(&self) -> bool {
        self.nnodes().is_some_and(|nodes| nodes > 1)
    }

    /// The node after this one, and after the last one the first.
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

/// Find this node among the others by its name (`SLURMD_NODENAME`, then the host name) and by `SLURM_NODEID`.
///
/// `wanted` is the number of nodes of the launch, where there is one. For a launch on one node, a node list that cannot
/// be read is as if there were none.
pub(super) fn identify(allocation: &Allocation, hostname: &str, wanted: Option<usize>) -> Result<Identity> {
    let name = allocation.node_name().unwrap_or(hostname);
    let found = match allocation.ordered_nodes(name, wanted) {
        Err(_) if wanted == Some(1) => None,
        found => found?,
    };
    let id = allocation.node_id()?;
    let Some(found) = found else {
        return Ok(Identity { name: name.into(), rank: id, rank_source: "SLURM_NODEID".into(), ..Identity::default() });
    };
    let nodes = &found.nodes;
    // Outside a step a name that was handed on with the environment is another node's.
    let (first, second) = if allocation.is_task() { (name, hostname) } else { (hostname, name) };
    let by_name = nodes.place(first).or_else(|| nodes.place(second)).or_else(|| nodes.place_by_label(hostname));
    // Slurm's number is that of its own list, not of one that has the user's order.
    let id = if allocation.has_given_nodes() {
        let of_slurm = || found.listed.as_ref()?.hosts.nth(id?);
        of_slurm().and_then(|name| nodes.place(&name)).filter(|_| by_name.is_none())
    } else {
        id
    };
    match (by_name, id) {
        (Some(place), Some(id)) if place == id && nodes.place(hostname).is_some_and(|own| own != id) => {
            Ok(handed(found, name, hostname, id))
        }
        (Some(place), Some(id)) if place == id || nodes.hosts.nth(id).as_deref() == Some(name) => {
            Ok(by_id(found, name, id))
        }
        (Some(place), Some(id)) => {
            let found = contradicted(found, name, hostname, place, id);
            let is_explained = found.contradiction.is_none() && allocation.is_handed_on();
            Ok(Identity { warning: found.warning.filter(|_| !is_explained), ..found })
        }
        (Some(place), None) => Ok(by_list(found, name, place)),
        (None, Some(id)) if id < nodes.hosts.len() => Ok(unlisted(found, allocation.node_name(), id)),
        (None, Some(id)) => {
            let reason = format!("{} has only {} nodes, and {name} is none of them", nodes.variable, nodes.hosts.len());
            Err(Error::setting("SLURM_NODEID", id.to_string(), reason))
        }
        (None, None) => {
            // Of a list of addresses nobody expects to have the name.
            let has_names = nodes.hosts.nth(0).is_some_and(|first| first.parse::<IpAddr>().is_err());
            let lacks = allocation.has_given_nodes() && has_names;
            let warning = lacks.then(|| format!("{name} is not in TORCHRUN_JSC_NODELIST"));
            Ok(Identity { name: name.to_owned(), nodes: Some(found.nodes), warning, ..Identity::default() })
        }
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
        contradiction: None,
        warning: None,
    }
}

/// This node, where its name is none of the list: that of a container, or the list is another step's.
fn unlisted(found: Ordered, name: Option<&str>, id: usize) -> Identity {
    let list = found.nodes.variable.clone();
    let warning = name.map(|name| format!("SLURMD_NODENAME={name} is not in {list}; taking number {id} of it"));
    Identity { warning, ..by_id(found, name.unwrap_or_default(), id) }
}

/// This node, where name and id are those of another one, and the host name is its own.
fn handed(found: Ordered, name: &str, hostname: &str, id: usize) -> Identity {
    let place = found.nodes.place(hostname).unwrap_or(id);
    let said = format!("SLURM_NODEID={id} and SLURMD_NODENAME={name} contradict the host name {hostname}");
    let warning = Some(format!("{said}; taking {place}"));
    Identity { contradiction: Some(said), warning, ..by_list(found, hostname, place) }
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
    if found.is_id_in_group(name, id) {
        return by_list(found, name, place);
    }
    let said = format!("SLURM_NODEID={id} contradicts {}, where {name} is number {place}", found.nodes.variable);
    // Warn on one node only. If every node was handed the same id, node 0 sees no contradiction, so node 1 speaks.
    let warning = (place <= 1).then(|| format!("{said}; taking {place}"));
    Identity { contradiction: Some(said), warning, ..by_list(found, name, place) }
}
