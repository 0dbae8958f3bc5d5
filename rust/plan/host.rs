//! Who hosts the store: the first rule that answers.

use crate::{interface, Result};

use super::context::Context;
use super::decision::Decision;
use super::derive;
use super::outcome::HostCheck;

/// What is known of the host node.
#[derive(Debug, Clone, Default)]
pub(super) struct Host {
    /// Whether this agent is to serve the store.
    pub(super) serves: Option<Decision<bool>>,
    pub(super) check: HostCheck,
    /// Whether this node is the host node, whichever of its agents serves.
    pub(super) is_here: bool,
    /// The host node's name.
    pub(super) name: Option<String>,
}

/// Apply the rules in order: the user's `is_host`, the user's ranks, the endpoint, Slurm's node id.
pub(super) fn decide(context: &Context<'_>) -> Result<Host> {
    let identity = context.here.identity;
    let mut host = Host { name: context.store.named.as_ref().map(|found| found.node.clone()), ..Host::default() };
    if let Some(given) = context.options.is_host {
        host.is_here = given;
        host.serves = Some(Decision::new(given, "is_host in --rdzv_conf"));
        return Ok(host);
    }
    check_host_rank(context)?;
    let by_rank = by_user_ranks(context);
    if let Some((_, rank)) = by_rank.as_ref() {
        let nodes = identity.nodes.as_ref();
        host.name = nodes.and_then(|nodes| nodes.hosts.nth(*rank)).or(host.name);
    }
    let answer = by_rank
        .map(|(decision, _)| decision)
        .or_else(|| by_derivation(context))
        .or_else(|| by_name(context))
        .or_else(|| by_address(context))
        .or_else(|| by_node_id(context));
    let Some(answer) = answer else { return Ok(host) };
    host.is_here = answer.value;
    if answer.value && host.name.is_none() {
        host.name = Some(identity.name.clone());
    }
    // Outside a step nobody says which agent of a node is the first: torch's own retry finds out.
    let local_id = context.here.allocation.local_id()?;
    let is_by_function = !context.here.settings.prefer_arg_patching || (answer.value && local_id.is_none());
    host.check = if is_by_function { HostCheck::Function } else { HostCheck::Argument };
    host.serves = Some(match local_id {
        Some(local) if local > 0 && answer.value => {
            let name = context.here.allocation.names()[2].name();
            Decision::new(false, format!("{name}={local}: the first agent of the host node hosts"))
        }
        _ => answer,
    });
    Ok(host)
}

/// A host rank that no node has, where the nodes' ranks are Slurm's. Ranks of the user's own may be any numbers.
fn check_host_rank(context: &Context<'_>) -> Result<()> {
    let settings = context.here.settings;
    let (Some(host), None, Some(nodes)) = (settings.host_node_rank, settings.node_rank, context.here.identity.nnodes())
    else {
        return Ok(());
    };
    if !settings.prefer_arg_patching || host < nodes.max(context.options.max_nodes) {
        return Ok(());
    }
    Err(derive::no_such_node(host, nodes))
}

/// `TORCHRUN_JSC_NODE_RANK` against `TORCHRUN_JSC_HOST_NODE_RANK`, with the host's rank.
fn by_user_ranks(context: &Context<'_>) -> Option<(Decision<bool>, usize)> {
    let settings = context.here.settings;
    if !settings.prefer_arg_patching || (settings.node_rank.is_none() && settings.host_node_rank.is_none()) {
        return None;
    }
    let host = settings.host_rank();
    let (rank, source) = match settings.node_rank {
        Some(rank) => (rank, "TORCHRUN_JSC_NODE_RANK"),
        None => (context.here.identity.rank?, "node rank"),
    };
    let reason = format!("{source} {rank}, TORCHRUN_JSC_HOST_NODE_RANK {host}");
    Some((Decision::new(rank == host, reason), host))
}

/// The endpoint was made of a node of the step.
fn by_derivation(context: &Context<'_>) -> Option<Decision<bool>> {
    let (host, rank) = (context.store.derived_from?, context.here.identity.rank?);
    let reason = format!("this is node {rank} by {}, node {host} hosts", context.here.identity.rank_source);
    Some(Decision::new(rank == host, reason))
}

/// The endpoint names a node of the step.
fn by_name(context: &Context<'_>) -> Option<Decision<bool>> {
    let found = context.store.named.as_ref().filter(|found| found.certain)?;
    let rank = context.here.identity.rank?;
    let (host, node, position) = (context.store.host(), &found.node, found.position);
    Some(Decision::new(rank == position, format!("{host} names {node}, node {position} of the step")))
}

/// The endpoint is an address of this node's own interfaces, or of none of them.
fn by_address(context: &Context<'_>) -> Option<Decision<bool>> {
    let (here, store) = (context.here, context.store);
    // For a literal address, leave out "10.20.0.1 is 10.20.0.1".
    let known_as = match store.endpoint.value.ip() {
        Some(_) => String::new(),
        None => format!("{} is ", store.host()),
    };
    if let Some((ip, interface)) = here.own(&store.addresses) {
        return Some(Decision::new(true, format!("{known_as}{ip}, on {} of this node", interface.name)));
    }
    let table = here.node.table;
    let tells = store.addresses.iter().find(|&&ip| interface::is_global(ip) && table.lacks(ip))?;
    // Without nodes that are known torch's own check may know better, for example behind address translation.
    let is_known = here.allocation.is_allocated() || here.identity.rank.is_some();
    is_known.then(|| Decision::new(false, format!("{known_as}{tells}, which no interface of this node has")))
}

/// Node 0 of the step hosts.
fn by_node_id(context: &Context<'_>) -> Option<Decision<bool>> {
    if !context.here.settings.prefer_arg_patching {
        return None;
    }
    let rank = context.here.identity.rank?;
    let reason = format!("this is node {rank} by {}, node 0 hosts", context.here.identity.rank_source);
    Some(Decision::new(rank == 0, reason))
}
