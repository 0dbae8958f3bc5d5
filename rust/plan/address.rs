//! What this node tells its peers to reach it by.

use std::net::IpAddr;

use crate::interface::{self, Interface, LazyTable};
use crate::{Error, Result};

use super::host::Host;
use super::{Context, Decision, Settings};

/// This node's own address and the interface that carries it.
#[derive(Debug, Clone, Default)]
pub(super) struct Local {
    pub(super) address: Option<Decision<String>>,
    pub(super) interface: Option<Decision<String>>,
    pub(super) warnings: Vec<String>,
}

impl Local {
    fn new(address: String, reason: String, interface: Option<Decision<String>>) -> Self {
        Self { address: Some(Decision::new(address, reason)), interface, warnings: Vec::new() }
    }

    fn warn(mut self, warning: Option<String>) -> Self {
        self.warnings.extend(warning);
        self
    }
}

/// The user's address; on the host node the endpoint's host as written; elsewhere this node's name in the endpoint's
/// form; else the source address of the route to the endpoint.
pub(super) fn decide(context: &Context<'_>, host: &Host) -> Result<Local> {
    check_interface_setting(context.settings, context.node.table, &context.identity.name)?;
    if let Some(given) = context.options.local_address.as_deref() {
        return given_address(context, given);
    }
    if host.is_here {
        let reason = "the endpoint's host, as written";
        let local = Local::new(context.endpoint.host.clone(), reason.into(), host_interface(context, host));
        let own = context.own_address();
        return Ok(local.warn(own.and_then(|(ip, interface)| unusable(context, ip, interface))));
    }
    let named = name_in_form(context, host);
    let dead = named.iter().find_map(|named| unusable(context, named.ip, named.interface));
    match named.into_iter().find(|named| named.interface.unusable().is_none()) {
        Some(named) => Ok(named.into_local(context)),
        None => Ok(source_of_route(context).warn(dead)),
    }
}

/// What is to be said of an interface that should carry this node's address and cannot.
fn unusable(context: &Context<'_>, ip: IpAddr, interface: &Interface) -> Option<String> {
    let why = interface.unusable()?;
    Some(format!("{} of node {}, which has {ip}, {why}", interface.name, context.identity.name))
}

/// `TORCHRUN_JSC_INTERFACE` must match something here.
pub(super) fn check_interface_setting(settings: &Settings, table: &LazyTable, node: &str) -> Result<()> {
    let Some(filter) = settings.filter() else { return Ok(()) };
    let usable = table.usable_names();
    if usable.iter().any(|name| filter.allows(name)) {
        return Ok(());
    }
    Err(Error::Setting {
        name: "TORCHRUN_JSC_INTERFACE".into(),
        value: filter.text().to_owned(),
        reason: format!("no usable interface of {node} matches; there are {}", usable.join(", ")),
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
    let literal = given.eq_ignore_ascii_case("localhost") || given.parse::<IpAddr>().is_ok();
    match owned {
        // A node's own name may be on loopback at home (127.0.1.1) and not elsewhere.
        Some((ip, _)) if ip.is_loopback() && literal && context.options.max_nodes > 1 => {
            Err(bad("loopback cannot be reached from the other nodes".into()))
        }
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
    let name = host.form.as_ref()?.apply(&context.identity.peer()?);
    let targets = context.node.resolver.lookup(&name).ok()?;
    targets.into_iter().find_map(|target| {
        let (_, interface) = source(context, target)?;
        Some(Decision::new(interface.name.clone(), format!("is on the route to {name}")))
    })
}

/// This node's name in the same form as the endpoint's, with an address of it that is this node's.
struct Named<'a> {
    name: String,
    ip: IpAddr,
    interface: &'a Interface,
}

impl Named<'_> {
    fn into_local(self, context: &Context<'_>) -> Local {
        let Self { name, ip, interface } = self;
        let carries = Decision::new(interface.name.clone(), format!("has {ip}, the address of {name}"));
        let reason = format!("this node's name in the form of {}", context.endpoint.host);
        Local::new(name, reason, Some(carries))
    }
}

/// The addresses of this node's name in the endpoint's form that are on an allowed interface here.
fn name_in_form<'a>(context: &Context<'a>, host: &Host) -> Vec<Named<'a>> {
    let Some(form) = host.form.as_ref() else { return Vec::new() };
    let name = form.apply(&context.identity.name);
    let addresses = context.node.resolver.lookup(&name).unwrap_or_default();
    let named = |ip: IpAddr| {
        let interface = allowed(context, context.node.table.proof_of_self(ip)?)?;
        Some(Named { name: name.clone(), ip, interface })
    };
    addresses.into_iter().filter_map(named).collect()
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
    Local::default().warn(Some(warning))
}

/// The source address and interface of the route to `target`, if peers can use them.
fn source<'a>(context: &Context<'a>, target: IpAddr) -> Option<(IpAddr, &'a Interface)> {
    if !interface::is_global(target) {
        return None;
    }
    let ip = context.node.resolver.source_to(target)?;
    let interface = allowed(context, context.node.table.proof_of_self(ip)?)?;
    interface.unusable().is_none().then_some((ip, interface))
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
