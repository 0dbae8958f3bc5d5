//! What this node tells its peers to reach it by.

use std::net::IpAddr;

use crate::interface::{self, Interface};
use crate::{Error, Result};

use super::host::Host;
use super::{Context, Decision};

/// This node's own address and the interface that carries it.
#[derive(Debug, Clone, Default)]
pub(super) struct Local {
    pub(super) address: Option<Decision<String>>,
    pub(super) interface: Option<Decision<String>>,
    pub(super) warning: Option<String>,
}

impl Local {
    fn new(address: String, reason: String, interface: Option<Decision<String>>) -> Self {
        Self { address: Some(Decision::new(address, reason)), interface, warning: None }
    }
}

/// The user's address; on the host node the endpoint's host as written; elsewhere this node's name in the endpoint's
/// form; else the source address of the route to the endpoint.
pub(super) fn decide(context: &Context<'_>, host: &Host) -> Result<Local> {
    check_interface_setting(context)?;
    if let Some(given) = context.options.local_address.as_deref() {
        return given_address(context, given);
    }
    if host.is_here {
        let reason = "the endpoint's host, as written";
        return Ok(Local::new(context.endpoint.host.clone(), reason.into(), host_interface(context, host)));
    }
    if let Some(local) = name_in_form(context, host) {
        return Ok(local);
    }
    Ok(source_of_route(context))
}

/// `TORCHRUN_JSC_INTERFACE` must match something here.
fn check_interface_setting(context: &Context<'_>) -> Result<()> {
    let Some(filter) = context.settings.filter() else { return Ok(()) };
    let usable = context.node.table.usable_names();
    if usable.iter().any(|name| filter.allows(name)) {
        return Ok(());
    }
    Err(Error::Setting {
        name: "TORCHRUN_JSC_INTERFACE".into(),
        value: filter.text().to_owned(),
        reason: format!("no usable interface of {} matches; there are {}", context.identity.name, usable.join(", ")),
    })
}

/// `--local_addr` as given, if it is this node's.
fn given_address(context: &Context<'_>, given: &str) -> Result<Local> {
    let bad = |reason: String| Error::Setting { name: "--local_addr".into(), value: given.to_owned(), reason };
    let node = &context.identity.name;
    let addresses = context
        .node
        .resolver
        .lookup(given.trim())
        .map_err(|answer| bad(format!("cannot resolve it on node {node}: {answer}")))?;
    let table = context.node.table;
    let owned = addresses.iter().find_map(|&ip| table.owner(ip).map(|interface| (ip, interface)));
    match owned {
        Some((ip, interface)) => {
            let interface = Decision::new(interface.name.clone(), format!("has {ip}, the --local_addr"));
            Ok(Local::new(given.to_owned(), "--local_addr".into(), Some(interface)))
        }
        None => {
            Err(bad(format!("no interface of node {node} has it; give each node its own, or leave the option out")))
        }
    }
}

/// The interface on the host node: the one that has the endpoint's address. Where the endpoint's host is on loopback
/// here (`127.0.1.1`), the one on the way to another node of the step.
fn host_interface(context: &Context<'_>, host: &Host) -> Option<Decision<String>> {
    if let Some((ip, interface)) = context.own_address() {
        return Some(Decision::new(interface.name.clone(), format!("has {ip}, the endpoint's address")));
    }
    let nodes = &context.identity.nodes.as_ref()?.hosts;
    let peer = nodes.nth((context.identity.rank? + 1) % nodes.len())?;
    let name = host.form.as_ref()?.apply(&peer);
    let targets = context.node.resolver.lookup(&name).ok()?;
    targets.into_iter().find_map(|target| {
        let (_, interface) = source(context, target)?;
        Some(Decision::new(interface.name.clone(), format!("is on the route to {name}")))
    })
}

/// This node's name in the same form as the endpoint's, if it is an address of an allowed interface here.
fn name_in_form(context: &Context<'_>, host: &Host) -> Option<Local> {
    let name = host.form.as_ref()?.apply(&context.identity.name);
    let addresses = context.node.resolver.lookup(&name).ok()?;
    addresses.into_iter().find_map(|ip| {
        let interface = allowed(context, context.node.table.proof_of_self(ip)?)?;
        let carries = Decision::new(interface.name.clone(), format!("has {ip}, the address of {name}"));
        let reason = format!("this node's name in the form of {}", context.endpoint.host);
        Some(Local::new(name.clone(), reason, Some(carries)))
    })
}

fn source_of_route(context: &Context<'_>) -> Local {
    for target in context.preferred_addresses() {
        if let Some((ip, interface)) = source(context, target) {
            let reason = format!("the source address of the route to {target}");
            let carries = Decision::new(interface.name.clone(), format!("is on the route to {target}"));
            return Local::new(ip.to_string(), reason, Some(carries));
        }
    }
    if let Some((ip, interface)) = first_allowed(context) {
        let carries = Decision::new(interface.name.clone(), "is allowed by TORCHRUN_JSC_INTERFACE".to_owned());
        return Local::new(ip.to_string(), format!("the address of {}", interface.name), Some(carries));
    }
    let warning = format!(
        "no route from node {} to the endpoint {}; its interfaces are {}",
        context.identity.name,
        context.endpoint,
        context.node.table.usable_names().join(", ")
    );
    Local { warning: Some(warning), ..Local::default() }
}

/// The source address and interface of the route to `target`, if peers can use them.
fn source<'a>(context: &Context<'a>, target: IpAddr) -> Option<(IpAddr, &'a Interface)> {
    if !interface::is_global(target) {
        return None;
    }
    let ip = context.node.resolver.source_to(target)?;
    let interface = allowed(context, context.node.table.proof_of_self(ip)?)?;
    Some((ip, interface))
}

/// With `TORCHRUN_JSC_INTERFACE`: the first address of the interfaces it allows, InfiniBand before others.
fn first_allowed<'a>(context: &Context<'a>) -> Option<(IpAddr, &'a Interface)> {
    let filter = context.settings.filter()?;
    let mut candidates: Vec<_> = context
        .node
        .table
        .interfaces
        .iter()
        .filter(|interface| !interface.loopback && interface.unusable().is_none() && filter.allows(&interface.name))
        .filter_map(|interface| {
            let address = interface.addresses.iter().find(|address| interface::is_global(address.ip))?;
            Some((address.ip, interface))
        })
        .collect();
    candidates.sort_by_key(|(_, interface)| interface.link_type != interface::INFINIBAND);
    candidates.first().copied()
}

fn allowed<'a>(context: &Context<'_>, interface: &'a Interface) -> Option<&'a Interface> {
    let filter = context.settings.filter();
    filter.is_none_or(|filter| interface.loopback || filter.allows(&interface.name)).then_some(interface)
}
