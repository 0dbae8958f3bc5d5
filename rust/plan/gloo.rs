//! The interface for gloo's traffic between workers.

use crate::interface::Filter;
use crate::settings::SocketIfname;

use super::context::Context;
use super::decision::Decision;
use super::local::Local;

/// The value for `GLOO_SOCKET_IFNAME`, if it is ours to set.
#[derive(Debug, Clone, Default)]
pub(super) struct Gloo {
    pub(super) set: Option<Decision<String>>,
    pub(super) warning: Option<String>,
}

/// Left alone where the user chose; the first usable interface of NCCL's choice; else the one of the local address.
///
/// gloo takes one name or a comma-separated list, and no patterns:
/// <https://github.com/pytorch/pytorch/blob/v2.5.0/torch/csrc/distributed/c10d/init.cpp>
pub(super) fn decide(context: &Context<'_>, local: &Local) -> Gloo {
    let settings = context.here.settings;
    if let Some(given) = &settings.gloo_socket_ifname {
        return Gloo { set: None, warning: missing(context, given) };
    }
    if settings.socket_ifname == SocketIfname::Off || context.options.max_nodes == 1 {
        return Gloo::default();
    }
    let set = match &settings.nccl_socket_ifname {
        Some(nccl) => first_of_nccl(context, nccl, local.interface.as_ref()),
        None => local.interface.clone(),
    };
    // Without a local address the missing route was already warned about. Where the system does not list its interfaces,
    // gloo looks for one by itself.
    let is_lost = set.is_none() && local.address.is_some() && !context.here.node.table.is_unknown();
    let warning = is_lost.then(|| {
        let names = context.here.node.table.usable_names().join(", ");
        let cause = match &settings.nccl_socket_ifname {
            Some(nccl) => format!("NCCL_SOCKET_IFNAME={nccl:?} names no usable interface"),
            None => format!("no interface to {} was found", context.store.endpoint.value),
        };
        format!("GLOO_SOCKET_IFNAME is not set: {cause} on node {}; there are {names}", context.here.identity.name)
    });
    Gloo { set, warning }
}

fn first_of_nccl(context: &Context<'_>, nccl: &str, local: Option<&Decision<String>>) -> Option<Decision<String>> {
    let filter = Filter::parse(nccl);
    if let Some(local) = local.filter(|local| filter.allows(&local.value)) {
        return Some(local.clone());
    }
    let usable = context.here.node.table.usable_names();
    let first = usable.into_iter().find(|name| filter.allows(name))?;
    Some(Decision::new(first.to_owned(), format!("is the first usable one of NCCL_SOCKET_IFNAME={nccl}")))
}

fn missing(context: &Context<'_>, given: &str) -> Option<String> {
    let table = context.here.node.table;
    if table.is_unknown() {
        return None;
    }
    let absent = given.split(',').map(str::trim).find(|name| !table.interfaces.iter().any(|i| i.name == *name))?;
    let (node, names) = (&context.here.identity.name, table.usable_names().join(", "));
    Some(format!("GLOO_SOCKET_IFNAME={given:?}: no interface {absent:?} on node {node}; there are {names}"))
}
