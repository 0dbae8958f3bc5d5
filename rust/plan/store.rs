//! Where the rendezvous store is: one answer for a launch and for a script.

use std::net::IpAddr;

use crate::host_port::HostPort;
use crate::slurm::Nodes;
use crate::Result;

use super::decision::Decision;
use super::derive;
use super::here::Here;
use super::names::{self, Match};

/// The store's endpoint, with all that is known of it on this node.
#[derive(Debug, Clone)]
pub(super) struct Store {
    pub(super) endpoint: Decision<HostPort>,
    /// The addresses of the endpoint's host, best first.
    pub(super) addresses: Vec<IpAddr>,
    /// The node of the step that the endpoint names.
    pub(super) named: Option<Match>,
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
        let reason = format!("{}; port {}", host.reason, port.reason);
        let endpoint = HostPort { host: host.value, port: Some(port.value) };
        Self::at(here, &nodes.variable, Decision::new(endpoint, reason), Some(rank))
    }

    fn at(here: &Here<'_>, name: &str, endpoint: Decision<HostPort>, derived_from: Option<usize>) -> Result<Self> {
        let host = &endpoint.value.host;
        let addresses = here.addresses(name, host)?;
        let nodes = here.identity.nodes.as_ref();
        let named = nodes.and_then(|nodes| names::find(nodes, host, &here.templates, here.identity.domain()));
        Ok(Self { endpoint, addresses, named, derived_from })
    }

    /// The endpoint's host, letter for letter.
    pub(super) fn host(&self) -> &str {
        &self.endpoint.value.host
    }

    /// The rank of the host node, where it is known.
    pub(super) fn host_rank(&self) -> Option<usize> {
        self.derived_from.or(self.named.as_ref().map(|found| found.position))
    }
}
