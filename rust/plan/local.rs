//! What this node tells its peers to reach it by, and the interface that carries it: one rule for a launch and for a
//! script.

use std::net::IpAddr;

use crate::interface::{self, Interface};
use crate::{Error, Result};

use super::decision::Decision;
use super::here::Here;
use super::store::Store;

/// This node's own address and the interface that carries it.
#[derive(Debug, Clone, Default)]
pub(super) struct Local {
    pub(super) address: Option<Decision<String>>,
    /// Not loopback: a routable address there is the node's own, but another interface carries it.
    pub(super) interface: Option<Decision<String>>,
    pub(super) warnings: Vec<String>,
}

impl Local {
    fn new(address: String, reason: String, carrier: Option<(&Interface, String)>) -> Self {
        let carrier = carrier.filter(|(interface, _)| !interface.loopback);
        Self {
            address: Some(Decision::new(address, reason)),
            interface: carrier.map(|(interface, reason)| Decision::new(interface.name.clone(), reason)),
            warnings: Vec::new(),
        }
    }

    fn warn(mut self, warning: Option<String>) -> Self {
        self.warnings.extend(warning);
        self
    }
}

/// On the host node the endpoint's host as written; elsewhere this node's name in the endpoint's form; else the source
/// address of the route to the endpoint.
pub(super) fn decide(here: &Here<'_>, store: &Store, is_host_node: bool) -> Local {
    if is_host_node {
        let reason = "the endpoint's host, as written";
        let local = Local::new(store.host().to_owned(), reason.into(), host_interface(here, store));
        let own = here.own(&store.addresses);
        return local.warn(own.and_then(|(ip, interface)| here.unusable(ip, interface)));
    }
    let named = name_in_form(here, store);
    let dead = named.iter().find_map(|named| here.unusable(named.ip, named.interface));
    match named.into_iter().find(|named| named.interface.unusable().is_none()) {
        Some(named) => named.into_local(store),
        None => source_of_route(here, store).warn(dead),
    }
}

/// `--local_addr` as given, if it is this node's; `several` nodes take part.
///
/// # Errors
/// [`Error::Setting`] where it is not.
pub(super) fn given(here: &Here<'_>, given: &str, several: bool) -> Result<Local> {
    let bad = |reason: String| Error::setting("--local_addr", given, reason);
    let node = &here.identity.name;
    let addresses = here
        .node
        .resolver
        .lookup(given.trim())
        .map_err(|answer| bad(format!("cannot resolve it on node {node}: {answer}")))?;
    let table = here.node.table;
    let owned = addresses.iter().find_map(|&ip| table.owner(ip).map(|interface| (ip, interface)));
    let literal = given.eq_ignore_ascii_case("localhost") || given.parse::<IpAddr>().is_ok();
    // A node's own name may be on loopback at home (127.0.1.1) and not elsewhere.
    if literal && several && addresses.iter().any(IpAddr::is_loopback) {
        return Err(bad("loopback cannot be reached from the other nodes".into()));
    }
    match owned {
        Some((ip, interface)) => {
            let carrier = (interface, format!("has {ip}, the --local_addr"));
            Ok(Local::new(given.to_owned(), "--local_addr".into(), Some(carrier)))
        }
        None if table.is_unknown() => Ok(Local::new(given.to_owned(), "--local_addr".into(), None)),
        None => {
            Err(bad(format!("no interface of node {node} has it; give each node its own, or leave the option out")))
        }
    }
}

/// The interface on the host node: the one that has the endpoint's address. Where the endpoint's host is on loopback
/// here (`127.0.1.1`), the one on the way to another node of the step.
fn host_interface<'a>(here: &Here<'a>, store: &Store) -> Option<(&'a Interface, String)> {
    if let Some((ip, interface)) = here.own(&store.addresses) {
        return Some((interface, format!("has {ip}, the endpoint's address")));
    }
    let name = store.named.as_ref()?.form.apply(&here.identity.peer()?);
    let targets = here.node.resolver.ask(&name).ok()?;
    targets.into_iter().find_map(|target| {
        let (_, interface) = source(here, target)?;
        Some((interface?, format!("is on the route to {name}")))
    })
}

/// This node's name in the same form as the endpoint's, with an address of it that is this node's.
struct Named<'a> {
    name: String,
    ip: IpAddr,
    interface: &'a Interface,
}

impl Named<'_> {
    fn into_local(self, store: &Store) -> Local {
        let Self { name, ip, interface } = self;
        let carrier = (interface, format!("has {ip}, the address of {name}"));
        let reason = format!("this node's name in the form of {}", store.host());
        Local::new(name, reason, Some(carrier))
    }
}

/// The addresses of this node's name in the endpoint's form that are on an allowed interface here.
fn name_in_form<'a>(here: &Here<'a>, store: &Store) -> Vec<Named<'a>> {
    let Some(found) = store.named.as_ref() else { return Vec::new() };
    let name = found.form.apply(&here.identity.name);
    let addresses = here.node.resolver.ask(&name).unwrap_or_default();
    let named = |ip: IpAddr| {
        let (ip, interface) = here.own(&[ip])?;
        is_allowed(here, interface).then(|| Named { name: name.clone(), ip, interface })
    };
    addresses.into_iter().filter_map(named).collect()
}

fn source_of_route(here: &Here<'_>, store: &Store) -> Local {
    for &target in &store.addresses {
        if let Some((ip, interface)) = source(here, target) {
            let reason = format!("the source address of the route to {target}");
            let carrier = interface.map(|interface| (interface, format!("is on the route to {target}")));
            return Local::new(ip.to_string(), reason, carrier);
        }
    }
    if let Some((ip, interface)) = first_allowed(here) {
        let carrier = (interface, "is allowed by TORCHRUN_JSC_INTERFACE".to_owned());
        return Local::new(ip.to_string(), format!("the address of {}", interface.name), Some(carrier));
    }
    let warning = format!(
        "no route from node {} to the endpoint {}; its interfaces are {}",
        here.identity.name,
        store.endpoint.value,
        here.node.table.usable_names().join(", ")
    );
    Local::default().warn(Some(warning))
}

/// The source address of the route to `target`, if peers can use it, and its interface where the system lists them.
fn source<'a>(here: &Here<'a>, target: IpAddr) -> Option<(IpAddr, Option<&'a Interface>)> {
    if !interface::is_global(target) {
        return None;
    }
    let ip = here.node.resolver.source_to(target)?;
    if here.node.table.is_unknown() {
        return interface::is_global(ip).then_some((ip, None));
    }
    let (ip, interface) = here.own(&[ip])?;
    (is_allowed(here, interface) && interface.unusable().is_none()).then_some((ip, Some(interface)))
}

/// With `TORCHRUN_JSC_INTERFACE`: the first address of the interfaces it allows, InfiniBand before others.
fn first_allowed<'a>(here: &Here<'a>) -> Option<(IpAddr, &'a Interface)> {
    if !here.has_filter() {
        return None;
    }
    let table: &'a interface::LazyTable = here.node.table;
    let mut candidates: Vec<_> = table
        .interfaces
        .iter()
        .filter(|interface| !interface.loopback && interface.unusable().is_none() && here.allows(interface))
        .filter_map(|interface| {
            let address = interface.addresses.iter().find(|address| interface::is_global(address.ip))?;
            Some((address.ip, interface))
        })
        .collect();
    candidates.sort_by_key(|(_, interface)| interface.link_type != interface::INFINIBAND);
    candidates.first().copied()
}

/// The user's list of interfaces is about those that lead to other nodes.
fn is_allowed(here: &Here<'_>, interface: &Interface) -> bool {
    interface.loopback || here.allows(interface)
}
