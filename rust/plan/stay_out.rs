//! When torch is left alone, and what cannot work at all.

use std::net::IpAddr;

use crate::host_port::HostPort;
use crate::interface;
use crate::options::Options;
use crate::{Error, Result};

use super::context::Context;
use super::identity::Identity;
use super::names;

/// Why a launch that needs no other node is none of our business, where it is not: nothing of an allocation is read for it.
pub(super) fn alone(options: &Options) -> Result<Option<String>> {
    if options.standalone {
        return Ok(Some("--standalone".into()));
    }
    if options.max_nodes != 1 {
        return Ok(None);
    }
    if let Some(reason) = reason(options) {
        return Ok(Some(reason));
    }
    let endpoint = HostPort::parse("--rdzv_endpoint", &options.endpoint)?;
    Ok(endpoint.is_loopback().then(|| "the endpoint is on loopback".into()))
}

/// Why a launch for which nothing is filled in is none of our business, where it is not.
pub(super) fn reason(options: &Options) -> Option<String> {
    match options.backend.as_str() {
        "c10d" if options.file_store => Some("the rendezvous store is a file".into()),
        "c10d" if options.endpoint.trim().is_empty() => Some("no endpoint: torch takes its default".into()),
        "c10d" => None,
        "static" => Some("the static backend uses the master address as it is given".into()),
        _ if options.is_etcd() && options.max_nodes > 1 => None,
        other => Some(format!("backend {other} is torch's own matter here")),
    }
}

/// Refuse an endpoint on loopback, given as `endpoint`, that other nodes are to reach.
pub(super) fn refuse_loopback(options: &Options, endpoint: &str, identity: &Identity, is_filled: bool) -> Result<()> {
    if !identity.has_peers() || !(options.min_nodes > 1 || is_filled) {
        return Ok(());
    }
    Err(Error::setting(
        "--rdzv_endpoint",
        endpoint,
        "loopback cannot be reached from the other nodes of the step; give the host node's name or leave the option out",
    ))
}

/// Refuse an endpoint whose every address is one that other nodes cannot reach, unless it is a node's own name: that
/// may be on loopback at home (127.0.1.1) and not elsewhere.
pub(super) fn refuse_unreachable(context: &Context<'_>) -> Result<()> {
    let (options, identity, store) = (context.options, context.here.identity, context.store);
    let hidden = store.addresses.iter().all(|&ip| !interface::is_global(ip));
    if options.min_nodes <= 1 || !identity.has_peers() || !hidden || options.is_etcd() {
        return Ok(());
    }
    let endpoint = &store.endpoint.value;
    let nodes = identity.nodes.as_ref();
    if endpoint.ip().is_none() && nodes.is_some_and(|nodes| names::is_node(nodes, &endpoint.host, identity.domain())) {
        return Ok(());
    }
    let addresses: Vec<_> = store.addresses.iter().map(IpAddr::to_string).collect();
    let reason = format!(
        "it is {} on node {}, which cannot be reached from the other nodes of the step",
        addresses.join(", "),
        identity.name
    );
    Err(Error::setting("--rdzv_endpoint", &*options.endpoint, reason))
}

/// Refuse port 0 where several nodes must agree on it.
pub(super) fn refuse_port_zero(options: &Options, endpoint: &HostPort) -> Result<()> {
    if endpoint.port != Some(0) || options.max_nodes == 1 {
        return Ok(());
    }
    let reason = "port 0 is another one on every node; give one from 1 to 65535";
    Err(Error::setting("--rdzv_endpoint", &*options.endpoint, reason))
}
