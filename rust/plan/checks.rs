//! What cannot be right about a launch although each part of it can be used.

use crate::Result;

use super::context::Context;
use super::host::Host;

/// Warnings that concern the whole step: from its first task only.
pub(super) fn of_step(context: &Context<'_>, host: &Host) -> Result<Vec<String>> {
    let (identity, allocation) = (context.here.identity, context.here.allocation);
    if identity.rank != Some(0) || !allocation.is_first_of_node() || !allocation.is_launched() {
        return Ok(Vec::new());
    }
    let warnings = [numbers(context)?, outside(context, host)];
    Ok(warnings.into_iter().flatten().collect())
}

/// What of the environment is not believed: said once a node.
pub(super) fn doubts(context: &Context<'_>) -> Vec<String> {
    context.here.allocation.doubts.clone()
}

/// An endpoint at an address that is on a bridge here, as on all nodes.
pub(super) fn shared(context: &Context<'_>) -> Option<String> {
    let table = context.here.node.table;
    let is_shared = |ip| table.owner(ip).filter(|interface| interface.is_shared()).map(|interface| (ip, interface));
    let (ip, interface) = context.store.addresses.iter().find_map(|&ip| is_shared(ip))?;
    let is_only = context.store.addresses.len() == 1 && context.options.max_nodes > 1;
    is_only.then(|| format!("{ip} is on {} of this node, a bridge that other nodes have too", interface.name))
}

/// A `--node_rank` that is not the rank this node gets.
pub(super) fn node_rank(context: &Context<'_>) -> Option<String> {
    let (given, rank) = (context.options.node_rank?, context.here.identity.rank?);
    let ignored = context.options.backend == "c10d" && given != rank && context.options.max_nodes > 1;
    let name = &context.here.identity.name;
    ignored.then(|| format!("--node_rank={given} is not used by the c10d backend: node {name} is number {rank}"))
}

/// A `TORCHRUN_JSC_NODE_RANK` that is not this node's in the step, as where `$SLURM_NODEID` was expanded too early.
pub(super) fn user_rank(context: &Context<'_>) -> Option<String> {
    let settings = context.here.settings;
    let (given, rank) = (settings.node_rank?, context.here.identity.rank?);
    let counts = context.options.backend == "c10d" && settings.prefer_arg_patching;
    let name = &context.here.identity.name;
    (counts && given != rank)
        .then(|| format!("TORCHRUN_JSC_NODE_RANK={given} tells who hosts, although node {name} is number {rank}"))
}

/// Agents, nodes of the step and `--nnodes` that do not fit one another.
fn numbers(context: &Context<'_>) -> Result<Option<String>> {
    let options = context.options;
    let Some(nodes) = context.here.identity.nnodes() else { return Ok(None) };
    let agents = context.here.allocation.processes()?.unwrap_or(nodes);
    let (least, most) = (options.min_nodes, options.max_nodes);
    let given = if least == most { most.to_string() } else { format!("{least}:{most}") };
    if agents > most && agents > nodes {
        return Ok(Some(format!(
            "{agents} launchers on {nodes} nodes for --nnodes={given}: start one a node, with --ntasks-per-node=1"
        )));
    }
    if agents < least {
        return Ok(Some(format!("--nnodes={given}, but the step has {agents} tasks on {nodes} nodes: it will wait")));
    }
    Ok((nodes > most).then(|| format!("--nnodes={given}, but the step has {nodes} nodes: some will not take part")))
}

/// An endpoint that is no node of the step.
fn outside(context: &Context<'_>, host: &Host) -> Option<String> {
    let known = host.is_here || context.options.is_host.is_some() || context.options.backend != "c10d";
    let endpoint = &context.store.endpoint.value;
    (!known && context.store.is_outside(context.here))
        .then(|| format!("the endpoint {endpoint} is none of the step's nodes by name or address: does it run there?"))
}
