//! Where the rendezvous store is: one answer for a launch and for a script.

use std::net::IpAddr;

use crate::host_port::HostPort;
use crate::interface;
use crate::slurm::Nodes;
use crate::Result;

use super::decision::Decision;
use super::derive;
use super::here::Here;
use super::names::{self, Match};

/// More nodes than this are not looked up one by one to see whether the endpoint is one of them.
const MAX_LOOKUPS: usize = 32;

/// The store's endpoint, with all that is known of it on this node.
#[derive(Debug, Clone)]
pub(super) struct Store {
    pub(super) endpoint: Decision<HostPort>,
    /// The addresses of the endpoint's host, best first.
    pub(super) addresses: Vec<IpAddr>,
    /// The node of the step that the endpoint names.
    pub(super) named: Option<Match>,
    /// What was found on the way to it, a line each.
    pub(super) warnings: Vec<String>,
    /// The rank of the node that the endpoint was made of, where nobody gave one.
    pub(super) derived_from: Option<usize>,
}

impl Store {
    /// A store at an endpoint that stands in the variable or option `name`.
    ///
    /// # Errors
    /// [`crate::Error::Resolve`] for a host without an address.
    pub(super) fn given(here: &Here<'_>, name: &str, endpoint: Decision<HostPort>) -> Result<Self> {
        Self::at(here, name, endpoint, None)
    }

    /// The store of the node with this rank among `nodes`.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] where there is no such node, [`crate::Error::Resolve`] where none of its names has an
    /// address.
    pub(super) fn derived(here: &Here<'_>, nodes: &Nodes, rank: usize, port: &Decision<u16>) -> Result<Self> {
        let host = derive::host_name(here, nodes, rank)?;
        let reason = format!("{}; port {}", host.name.reason, port.reason);
        let endpoint = HostPort { host: host.name.value, port: Some(port.value) };
        let store = Self::at(here, &nodes.variable, Decision::new(endpoint, reason), Some(rank))?;
        Ok(Self { warnings: host.warnings, ..store })
    }

    fn at(here: &Here<'_>, name: &str, endpoint: Decision<HostPort>, derived_from: Option<usize>) -> Result<Self> {
        let host = &endpoint.value.host;
        let addresses = here.addresses(name, host)?;
        let nodes = here.identity.nodes.as_ref();
        let named = nodes.and_then(|nodes| names::find(nodes, host, &here.templates, here.identity.domain()));
        Ok(Self { endpoint, addresses, named, warnings: Vec::new(), derived_from })
    }

    /// The endpoint's host, letter for letter.
    pub(super) fn host(&self) -> &str {
        &self.endpoint.value.host
    }

    /// The rank of the host node, where it is known.
    pub(super) fn host_rank(&self) -> Option<usize> {
        self.derived_from.or(self.named.as_ref().map(|found| found.position))
    }

    /// Whether the endpoint is none of the nodes, by name or by address, as far as that can be told.
    pub(super) fn is_outside(&self, here: &Here<'_>) -> bool {
        let Some(nodes) = here.identity.nodes.as_ref() else { return false };
        let is_one = self.derived_from.is_some() || self.named.is_some();
        if is_one || nodes.hosts.len() > MAX_LOOKUPS || here.node.table.is_unknown() {
            return false;
        }
        let is_endpoint = |name: &str| {
            let addresses = here.node.resolver.ask(name).unwrap_or_default();
            addresses.iter().any(|ip| interface::is_global(*ip) && self.addresses.contains(ip))
        };
        let mut names = nodes.hosts.names().flat_map(|node| here.templates.iter().map(move |form| form.apply(&node)));
        let is_found = here.own(&self.addresses).is_some() || names.any(|name| is_endpoint(&name));
        // A node whose look-up timed out may still be the endpoint.
        !is_found && !here.node.resolver.is_late()
    }
}
