//! Who hosts the store: the first rule that answers.

use crate::{Error, Result};

use super::names::{self, Form};
use super::template::Template;
use super::{Context, Decision, HostCheck};

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
    /// How the endpoint's host is made of the host node's name.
    pub(super) form: Option<Form>,
}

/// Apply the rules in order: the user's `is_host`, the user's ranks, the endpoint, Slurm's node id.
pub(super) fn decide(context: &Context<'_>) -> Result<Host> {
    let Context { settings, options, step, identity, endpoint, .. } = *context;
    let templates = Template::of_site(&settings.host_templates, step.get("SYSTEMNAME"))?;
    let named =
        identity.nodes.as_ref().and_then(|nodes| names::find(nodes, &endpoint.host, &templates, identity.domain()));
    let mut host = Host {
        name: named.as_ref().map(|found| found.node.clone()),
        form: named.as_ref().map(|found| found.form.clone()),
        ..Host::default()
    };
    if let Some(given) = options.is_host {
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
        .or_else(|| by_name(context, named.as_ref()))
        .or_else(|| by_address(context))
        .or_else(|| by_node_id(context));
    let Some(answer) = answer else { return Ok(host) };
    host.is_here = answer.value;
    if answer.value && host.name.is_none() {
        host.name = Some(identity.name.clone());
    }
    // Outside a step nobody says which agent of a node is the first: torch's own retry finds out.
    let local_id = step.local_id()?;
    host.check = if settings.ignore_node_ranks || (answer.value && local_id.is_none()) {
        HostCheck::Function
    } else {
        HostCheck::Argument
    };
    host.serves = Some(match local_id {
        Some(local) if local > 0 && answer.value => {
            Decision::new(false, format!("SLURM_LOCALID={local}: the first agent of the host node hosts"))
        }
        _ => answer,
    });
    Ok(host)
}

/// A host rank that no node has, where the nodes' ranks are Slurm's. Ranks of the user's own may be any numbers.
fn check_host_rank(context: &Context<'_>) -> Result<()> {
    let settings = context.settings;
    let (Some(host), None, Some(nodes)) = (settings.host_node_rank, settings.node_rank, context.identity.nnodes())
    else {
        return Ok(());
    };
    if settings.ignore_node_ranks || host < nodes.max(context.options.max_nodes) {
        return Ok(());
    }
    Err(Error::Setting {
        name: "TORCHRUN_JSC_HOST_NODE_RANK".into(),
        value: host.to_string(),
        reason: format!("the step has nodes 0 to {}", nodes - 1),
    })
}

/// `TORCHRUN_JSC_NODE_RANK` against `TORCHRUN_JSC_HOST_NODE_RANK`, with the host's rank.
fn by_user_ranks(context: &Context<'_>) -> Option<(Decision<bool>, usize)> {
    let settings = context.settings;
    if settings.ignore_node_ranks || (settings.node_rank.is_none() && settings.host_node_rank.is_none()) {
        return None;
    }
    let host = settings.host_node_rank.unwrap_or(0);
    let (rank, source) = match settings.node_rank {
        Some(rank) => (rank, "TORCHRUN_JSC_NODE_RANK"),
        None => (context.identity.rank?, "node rank"),
    };
    let reason = format!("{source} {rank}, TORCHRUN_JSC_HOST_NODE_RANK {host}");
    Some((Decision::new(rank == host, reason), host))
}

/// The endpoint was made of a node of the step.
fn by_derivation(context: &Context<'_>) -> Option<Decision<bool>> {
    let (host, rank) = (context.derived_from?, context.identity.rank?);
    let reason = format!("this is node {rank} by {}, node {host} hosts", context.identity.rank_source);
    Some(Decision::new(rank == host, reason))
}

/// The endpoint names a node of the step.
fn by_name(context: &Context<'_>, named: Option<&names::Match>) -> Option<Decision<bool>> {
    let found = named.filter(|found| found.certain)?;
    let rank = context.identity.rank?;
    let host = &context.endpoint.host;
    let (node, position) = (&found.node, found.position);
    Some(Decision::new(rank == position, format!("{host} names {node}, node {position} of the step")))
}

/// The endpoint is an address of this node's own interfaces, or of none of them.
fn by_address(context: &Context<'_>) -> Option<Decision<bool>> {
    // An address is not said to be itself.
    let known_as = match context.endpoint.ip() {
        Some(_) => String::new(),
        None => format!("{} is ", context.endpoint.host),
    };
    if let Some((ip, interface)) = context.own_address() {
        return Some(Decision::new(true, format!("{known_as}{ip}, on {} of this node", interface.name)));
    }
    let table = context.node.table;
    let tells = context.addresses.iter().find(|&&ip| crate::interface::is_global(ip) && table.owner(ip).is_none())?;
    // Without nodes that are known torch's own check may know better, for example behind address translation.
    let is_known = context.step.is_allocated() || context.identity.rank.is_some();
    is_known.then(|| Decision::new(false, format!("{known_as}{tells}, which no interface of this node has")))
}

/// Node 0 of the step hosts.
fn by_node_id(context: &Context<'_>) -> Option<Decision<bool>> {
    if context.settings.ignore_node_ranks {
        return None;
    }
    let rank = context.identity.rank?;
    Some(Decision::new(rank == 0, format!("this is node {rank} by {}, node 0 hosts", context.identity.rank_source)))
}
