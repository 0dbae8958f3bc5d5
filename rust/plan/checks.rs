//! What cannot be right about a launch although each part of it can be used.

use crate::interface;
use crate::Result;

use super::context::Context;
use super::host::Host;

/// More nodes than this are not looked up one by one to see whether the endpoint is one of them.
const MAX_LOOKUPS: usize = 32;

/// Warnings that concern the whole step: from its first task only.
pub(super) fn of_step(context: &Context<'_>, host: &Host) -> Result<Vec<String>> {
    let (identity, step) = (context.here.identity, context.here.step);
    if identity.rank != Some(0) || !step.is_first_of_node() || !step.is_inside() {
        return Ok(Vec::new());
    }
    let warnings = [numbers(context)?, outside(context, host)];
    Ok(warnings.into_iter().flatten().collect())
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
    let agents = context.here.step.tasks()?.unwrap_or(nodes);
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
    let (here, store) = (context.here, context.store);
    let nodes = here.identity.nodes.as_ref()?;
    let known =
        store.named.is_some() || host.is_here || context.options.is_host.is_some() || nodes.hosts.len() > MAX_LOOKUPS;
    if known || context.options.backend != "c10d" {
        return None;
    }
    let is_endpoint = |name: &str| {
        let addresses = here.node.resolver.lookup(name).unwrap_or_default();
        addresses.iter().any(|ip| interface::is_global(*ip) && store.addresses.contains(ip))
    };
    let mut names = nodes.hosts.names().flat_map(|node| here.templates.iter().map(move |form| form.apply(&node)));
    let found = names.any(|name| is_endpoint(&name));
    let endpoint = &store.endpoint.value;
    // A node whose look-up timed out may still be the endpoint, so do not warn.
    (!found && !here.node.resolver.is_late())
        .then(|| format!("the endpoint {endpoint} is none of the step's nodes by name or address: does it run there?"))
}
