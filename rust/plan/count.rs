//! The number of nodes that `--nnodes=auto` stands for, and who speaks for a node.

use crate::allocation::Allocation;
use crate::environ::{Environ, Variable};
use crate::node::Node;
use crate::number;
use crate::settings::Settings;
use crate::Result;

/// The nodes of the step, of the list that the user gave, or else of the allocation; with what is to be said of it.
///
/// # Errors
/// [`crate::Error::Setting`] for a list that cannot be read.
pub fn count_nodes(settings: &Settings, environ: Environ, node: Node<'_>) -> Result<(Option<usize>, Option<String>)> {
    let allocation = Allocation::new(environ, settings.given_nodes(), node)?;
    if !allocation.is_allocated() {
        return Ok((None, None));
    }
    let count = allocation.nodes()?.map(|nodes| nodes.hosts.len());
    let said = match (count, allocation.nodes_beyond_step()?) {
        (Some(count), Some(all)) => {
            Some(format!("--nnodes=auto is {count}: this step has {count} of the job's {all} nodes"))
        }
        _ => None,
    };
    Ok((count, said))
}

/// Whether a process is the first of its node, by what its launcher numbers it with.
#[must_use]
pub fn is_first_of_node(get: impl Fn(Variable) -> Option<String>) -> bool {
    // An MPI launcher's own is the inner one: its daemon is a task of Slurm's.
    let ids = [Variable::OmpiLocalRank, Variable::PalsLocalRank, Variable::HydraLocalRank, Variable::FluxLocalRank];
    let id = ids.into_iter().chain([Variable::LocalId]).find_map(|variable| Some((variable, get(variable)?)));
    id.is_none_or(|(variable, text)| {
        text.trim().is_empty() || number::parse(&variable.name(), text.trim()).is_ok_and(|id| id == 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_process_of_a_node_speaks_for_it() {
        for (id, first) in [("0", true), (" 00 ", true), ("", true), ("1", false), ("x", false)] {
            let get = |variable| (variable == Variable::LocalId).then(|| id.to_owned());
            assert_eq!(is_first_of_node(get), first, "{id:?}");
        }
        assert!(is_first_of_node(|_| None));
        let mpi = |variable| match variable {
            Variable::LocalId => Some("0".to_owned()),
            Variable::OmpiLocalRank => Some("1".to_owned()),
            _ => None,
        };
        assert!(!is_first_of_node(mpi));
    }
}
