//! In which order the nodes get their ranks under c10d.

use crate::settings::OrderSetting;
use crate::slurm::Nodes;

use super::context::Context;
use super::decision::Decision;
use super::here::Here;
use super::names::Form;
use super::outcome::RankOrder;

/// torch sorts by address. Where that is the step's order already, and where there is no other, it is left alone.
/// `address` is what this node publishes.
///
/// <https://github.com/pytorch/pytorch/blob/v2.5.0/torch/distributed/elastic/rendezvous/dynamic_rendezvous.py>
pub(super) fn decide(context: &Context<'_>, address: Option<&str>) -> Option<Decision<RankOrder>> {
    let identity = context.here.identity;
    if context.options.backend != "c10d" || context.options.max_nodes == 1 {
        return None;
    }
    let torch = |reason: &str| Some(Decision::new(RankOrder::Torch, reason));
    if context.here.settings.rank_order == OrderSetting::Torch {
        return torch("TORCHRUN_JSC_RANK_ORDER");
    }
    if identity.rank.is_none() {
        return torch("the nodes of the step are not known");
    }
    if place(context.here)? != identity.rank? {
        return Some(Decision::new(RankOrder::Step, "the order of the tasks: SLURM_PROCID is not SLURM_NODEID here"));
    }
    match (&context.store.named, &identity.nodes) {
        (Some(found), Some(nodes)) if is_sorted(&found.form, nodes) => {
            let own = found.form.apply(&identity.name);
            Some(if address.is_some_and(|address| address == own) {
                Decision::new(RankOrder::Names, "the addresses sort like the nodes of the step")
            } else {
                Decision::new(RankOrder::Step, "this node's address does not sort like the names of the others")
            })
        }
        _ => Some(Decision::new(RankOrder::Step, "the addresses may not sort like the nodes of the step")),
    }
}

/// This node's place among the others, which its rank follows: that of its task, where each node has one, since the user may
/// have chosen an order (`--distribution=arbitrary`); else the place in the list.
pub(super) fn place(here: &Here<'_>) -> Option<usize> {
    let rank = here.identity.rank?;
    let has_one_each = here.allocation.is_task()
        && !here.allocation.has_given_nodes()
        && here.identity.contradiction.is_none()
        && here.allocation.processes().ok().flatten() == here.identity.nnodes();
    let task = here.allocation.process_id().ok().flatten().map(|(task, _)| task);
    Some(task.filter(|_| has_one_each).unwrap_or(rank))
}

fn is_sorted(form: &Form, nodes: &Nodes) -> bool {
    let mut last = String::new();
    nodes.hosts.names().all(|node| {
        let name = form.apply(&node);
        let in_order = last <= name;
        last = name;
        in_order
    })
}
