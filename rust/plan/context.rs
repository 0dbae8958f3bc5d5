//! What every rule looks at.

use std::net::IpAddr;

use crate::endpoint::Endpoint;
use crate::interface::{self, Filter, Interface, LazyTable};
use crate::slurm::Step;

use super::{Identity, Node, Options, Settings};

/// The inputs of the plan once the endpoint is known and looked up.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) settings: &'a Settings,
    pub(super) options: &'a Options,
    pub(super) step: &'a Step,
    pub(super) node: Node<'a>,
    pub(super) identity: &'a Identity,
    pub(super) endpoint: &'a Endpoint,
    /// The rank of the node that the endpoint was derived from, where nobody gave one.
    pub(super) derived_from: Option<usize>,
    /// The endpoint's addresses in the resolver's order.
    pub(super) addresses: &'a [IpAddr],
}

impl<'a> Context<'a> {
    /// The endpoint's addresses, best first.
    pub(super) fn preferred_addresses(&self) -> Vec<IpAddr> {
        let mut addresses = self.addresses.to_vec();
        prefer(&mut addresses, self.node.table, self.settings.filter().as_ref());
        addresses
    }

    /// The endpoint's best address.
    pub(super) fn endpoint_address(&self) -> Option<IpAddr> {
        self.preferred_addresses().first().copied()
    }

    /// The interface of this node that has one of the endpoint's addresses, with that address.
    pub(super) fn own_address(&self) -> Option<(IpAddr, &'a Interface)> {
        let table = self.node.table;
        self.preferred_addresses().into_iter().find_map(|ip| table.proof_of_self(ip).map(|interface| (ip, interface)))
    }
}

impl Settings {
    /// The interfaces that the user allows.
    pub(super) fn filter(&self) -> Option<Filter> {
        self.interface.as_deref().map(Filter::parse)
    }
}

/// Sort addresses, best first: on an attached network of an allowed interface, InfiniBand before others.
pub(super) fn prefer(addresses: &mut [IpAddr], table: &LazyTable, filter: Option<&Filter>) {
    if addresses.len() > 1 {
        addresses.sort_by_key(|&ip| preference(table.attached_to(ip), filter, ip));
    }
}

/// Sort key: smaller is better.
fn preference(attached: Option<&Interface>, filter: Option<&Filter>, ip: IpAddr) -> u8 {
    let allowed = |interface: &Interface| filter.is_none_or(|filter| filter.allows(&interface.name));
    match attached {
        _ if !interface::is_global(ip) => 3,
        Some(interface) if allowed(interface) && interface.link_type == interface::INFINIBAND => 0,
        Some(interface) if allowed(interface) => 1,
        _ => 2,
    }
}
