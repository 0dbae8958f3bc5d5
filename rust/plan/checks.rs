//! What cannot be right about a launch although each part of it can be used.

use crate::interface;
use crate::Result;

use super::host::Host;
use super::template::Template;
use super::Context;

/// More nodes than this are not looked up one by one to see whether the endpoint is one of them.
const MAX_LOOKUPS: usize = 32;

/// Warnings that concern the whole step: from its first task only.
pub(super) fn of_step(context: &Context<'_>, host: &Host) -> Result<Vec<String>> {
    let first = context.identity.rank == Some(0) && context.step.local_id()?.unwrap_or(0) == 0;
    if !first || !context.step.is_inside() {
        return Ok(Vec::new());
    }
    let warnings = [numbers(context)?, outside(context, host)?];
    Ok(warnings.into_iter().flatten().collect())
}

/// A `--node_rank` that is not the rank this node gets.
pub(super) fn node_rank(context: &Context<'_>) -> Option<String> {
    let (given, rank) = (context.options.node_rank?, context.identity.rank?);
    let ignored = context.options.backend == "c10d" && given != rank && context.options.max_nodes > 1;
    ignored.then(|| {
        format!("--node_rank={given} is not used by the c10d backend: node {} is number {rank}", context.identity.name)
    })
}

/// A `TORCHRUN_JSC_NODE_RANK` that is not this node's in the step, as where `$SLURM_NODEID` was expanded too early.
pub(super) fn user_rank(context: &Context<'_>) -> Option<String> {
    let (given, rank) = (context.settings.node_rank?, context.identity.rank?);
    let counts = context.options.backend == "c10d" && !context.settings.ignore_node_ranks;
    let name = &context.identity.name;
    (counts && given != rank)
        .then(|| format!("TORCHRUN_JSC_NODE_RANK={given} tells who hosts, although node {name} is number {rank}"))
}

/// Agents, nodes of the step and `--nnodes` that do not fit one another.
fn numbers(context: &Context<'_>) -> Result<Option<String>> {
    let options = context.options;
    let Some(nodes) = context.identity.nnodes() else { return Ok(None) };
    let agents = context.step.tasks()?.unwrap_or(nodes);
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
fn outside(context: &Context<'_>, host: &Host) -> Result<Option<String>> {
    let Some(nodes) = &context.identity.nodes else { return Ok(None) };
    let known =
        host.form.is_some() || host.is_here || context.options.is_host.is_some() || nodes.hosts.len() > MAX_LOOKUPS;
    if known || context.options.backend != "c10d" {
        return Ok(None);
    }
    let templates = Template::of_site(&context.settings.host_templates, context.step.get("SYSTEMNAME"))?;
    let is_endpoint = |name: &String| {
        let addresses = context.node.resolver.lookup(name).unwrap_or_default();
        addresses.iter().any(|ip| interface::is_global(*ip) && context.addresses.contains(ip))
    };
    let found =
        nodes.hosts.iter().any(|node| templates.iter().map(|template| template.apply(&node)).any(|n| is_endpoint(&n)));
    // Who did not answer in time may be one.
    Ok((!found && !context.node.resolver.is_late()).then(|| {
        format!("the endpoint {} is none of the step's nodes by name or address: does it run there?", context.endpoint)
    }))
}
