//! In which order the nodes get their ranks under c10d.

use crate::slurm::Nodes;

use super::host::Host;
use super::names::Form;
use super::{Context, Decision};

/// Who ranks the nodes of a completed round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankOrder {
    /// torch, by the addresses as strings.
    Torch,
    /// torch too, as long as every node publishes its name: their names sort like the nodes of the step.
    Names,
    /// The nodes' places in the step.
    Step,
}

/// torch sorts by address. Where that is the step's order already, and where there is no other, it is left alone.
/// `address` is what this node publishes.
///
/// <https://github.com/pytorch/pytorch/blob/v2.5.0/torch/distributed/elastic/rendezvous/dynamic_rendezvous.py>
pub(super) fn decide(context: &Context<'_>, host: &Host, address: Option<&str>) -> Option<Decision<RankOrder>> {
    if context.options.backend != "c10d" || context.options.max_nodes == 1 {
        return None;
    }
    let torch = |reason: &str| Some(Decision::new(RankOrder::Torch, reason));
    if context.settings.keep_rank_order {
        return torch("TORCHRUN_JSC_RANK_ORDER");
    }
    if context.identity.rank.is_none() {
        return torch("the nodes of the step are not known");
    }
    match (&host.form, &context.identity.nodes) {
        (Some(form), Some(nodes)) if is_sorted(form, nodes) => {
            let own = form.apply(&context.identity.name);
            Some(if address.is_some_and(|address| address == own) {
                Decision::new(RankOrder::Names, "the addresses sort like the nodes of the step")
            } else {
                Decision::new(RankOrder::Step, "this node's address does not sort like the names of the others")
            })
        }
        _ => Some(Decision::new(RankOrder::Step, "the addresses may not sort like the nodes of the step")),
    }
}

fn is_sorted(form: &Form, nodes: &Nodes) -> bool {
    let mut last = String::new();
    nodes.hosts.iter().all(|node| {
        let name = form.apply(&node);
        let in_order = last <= name;
        last = name;
        in_order
    })
}
