//! What every rule looks at.

use std::net::IpAddr;

use crate::allocation::Allocation;
use crate::interface::{self, Filter, Interface};
use crate::node::Node;
use crate::settings::Settings;
use crate::site;
use crate::template::Template;
use crate::{Error, Result};

use super::identity::Identity;

/// This node in its allocation, with what the user and the site say.
#[derive(Clone)]
pub(super) struct Here<'a> {
    pub(super) settings: &'a Settings,
    pub(super) allocation: &'a Allocation,
    pub(super) node: Node<'a>,
    pub(super) identity: &'a Identity,
    /// How nodes are called on the fast network, to be tried in order.
    pub(super) templates: Vec<Template>,
    /// The interfaces that the user allows.
    filter: Option<Filter>,
}

impl<'a> Here<'a> {
    /// Gather it.
    ///
    /// # Errors
    /// [`Error::Setting`] for a template that makes no names, and for a list of interfaces of which this node has none.
    pub(super) fn new(
        settings: &'a Settings,
        allocation: &'a Allocation,
        node: Node<'a>,
        identity: &'a Identity,
    ) -> Result<Self> {
        let templates = site::templates(&settings.host_template, allocation.environ())?;
        let here = Self { settings, allocation, node, identity, templates, filter: settings.filter() };
        let Some(filter) = &here.filter else { return Ok(here) };
        let usable = node.table.usable_names();
        if node.table.is_unknown() || usable.iter().any(|name| filter.allows(name)) {
            return Ok(here);
        }
        let reason = format!("no usable interface of {} matches; there are {}", identity.name, usable.join(", "));
        Err(Error::setting("TORCHRUN_JSC_INTERFACE", filter.text(), reason))
    }

    /// Whether this node is one of those that are known: a login node is none.
    pub(super) fn is_member(&self) -> bool {
        self.identity.rank.is_some()
    }

    /// Whether the user limits the traffic to some interfaces.
    pub(super) fn has_filter(&self) -> bool {
        self.filter.is_some()
    }

    /// Whether the user allows this interface.
    pub(super) fn allows(&self, interface: &Interface) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.allows(&interface.name))
    }

    /// The addresses of `host`, which stands in the variable or option `name`, best first.
    ///
    /// # Errors
    /// [`Error::Resolve`] where it has none.
    pub(super) fn addresses(&self, name: &str, host: &str) -> Result<Vec<IpAddr>> {
        let answer = self.node.resolver.lookup(host).map_err(|unresolved| Error::Resolve {
            name: name.to_owned(),
            host: host.to_owned(),
            node: self.node.hostname.to_owned(),
            answer: unresolved.answer,
        })?;
        let mut addresses: Vec<_> = answer.iter().map(IpAddr::to_canonical).collect();
        if addresses.len() > 1 {
            addresses.sort_by_key(|&ip| self.preference(ip));
        }
        Ok(addresses)
    }

    /// Smaller is better: on an attached network of an allowed interface, InfiniBand before others.
    fn preference(&self, ip: IpAddr) -> u8 {
        match self.node.table.attached_to(ip) {
            _ if !interface::is_global(ip) => 3,
            Some(interface) if self.allows(interface) && interface.link_type == interface::INFINIBAND => 0,
            Some(interface) if self.allows(interface) => 1,
            _ => 2,
        }
    }

    /// What is to be said of an interface that should carry this node's address and cannot.
    pub(super) fn unusable(&self, ip: IpAddr, interface: &Interface) -> Option<String> {
        let why = interface.unusable()?;
        Some(format!("{} of node {}, which has {ip}, {why}", interface.name, self.identity.name))
    }

    /// The first of these addresses that proves to be this node's, with the interface that has it.
    pub(super) fn own(&self, addresses: &[IpAddr]) -> Option<(IpAddr, &'a Interface)> {
        let table: &'a interface::LazyTable = self.node.table;
        addresses.iter().find_map(|&ip| Some((ip, table.proof_of_self(ip)?)))
    }
}
