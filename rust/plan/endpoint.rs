//! The same decision for a program that initialises torch by itself, once in every task of a step.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::environ::Variable;
use crate::host_port::HostPort;
use crate::launched::Launched;
use crate::node::Node;
use crate::settings::Settings;
use crate::slurm::{Nodes, Step};
use crate::{Error, Result};

use super::decision::Decision;
use super::here::Here;
use super::identity::{self, Identity};
use super::local;
use super::names::Form;
use super::port;
use super::rank;
use super::store::Store;

/// Where the store is, and the place of this task among the others. What Slurm does not say is `None`.
#[derive(Debug, Clone)]
pub struct Endpoint {
    settings: Settings,
    step: Step,
    store: Store,
    /// The store's port.
    pub port: u16,
    /// The node that hosts the store, where its name is known.
    pub host_node: Option<String>,
    /// This node.
    pub identity: Identity,
    /// The number of nodes.
    pub nnodes: Option<usize>,
    /// The number of this task among all: torch's `RANK`.
    pub rank: Option<Decision<usize>>,
    /// The number of tasks.
    pub world_size: Option<usize>,
    /// The number of this task on its node.
    pub local_rank: Option<usize>,
    /// The number of tasks on this node.
    pub local_world_size: Option<usize>,
    /// What the user should know, a line each.
    pub warnings: Vec<String>,
}

/// The caller's own choice.
#[derive(Debug, Clone, Copy, Default)]
pub struct Given<'a> {
    /// Host, or host and port.
    pub endpoint: Option<&'a str>,
    /// The port, for an endpoint without one.
    pub port: Option<u16>,
}

/// Decide for this task.
///
/// # Errors
/// [`Error::Setting`] for a variable that cannot be used and for what cannot be known, [`Error::Resolve`] for a host
/// without an address.
pub fn endpoint(
    settings: Settings,
    given: Given<'_>,
    step: Step,
    launched: &Launched,
    node: Node<'_>,
) -> Result<Endpoint> {
    let mut identity = identity::identify(&step, node.hostname, None)?;
    if let Some(rank) = settings.node_rank.or(launched.group_rank) {
        identity.rank = Some(rank);
    }
    let here = Here::new(&settings, &step, node, &identity)?;
    let (store, port) = store_of(&here, given, launched)?;
    let rank = rank::of_task(&here, launched)?;
    let mut warnings: Vec<String> = identity.warning.clone().into_iter().collect();
    warnings.extend(rank::contradictions(&here, launched, &store)?);
    let inside = step.is_inside();
    let counts = if inside { step.tasks_per_node()? } else { None };
    let local_size = counts.as_ref().and_then(|counts| counts.on_node(identity.counted_place(identity.rank?)?));
    let (world_size, local_rank) = if inside { (step.tasks()?, step.number(Variable::LocalId)?) } else { (None, None) };
    Ok(Endpoint {
        port,
        host_node: host_node(&store, &identity),
        nnodes: launched.group_world_size.or(identity.nnodes()),
        world_size: launched.world_size.or(world_size),
        local_rank: launched.local_rank.or(local_rank),
        local_world_size: launched.local_world_size.or(local_size),
        rank,
        warnings,
        store,
        identity,
        settings,
        step,
    })
}

/// The caller's endpoint, else `MASTER_ADDR`, else the host node of the step; with its port.
fn store_of(here: &Here<'_>, given: Given<'_>, launched: &Launched) -> Result<(Store, u16)> {
    let (name, text) = match (given.endpoint, launched.master_addr.as_deref()) {
        (Some(text), _) => ("endpoint", text),
        (None, Some(text)) => ("MASTER_ADDR", text),
        (None, None) => {
            let nodes = nodes(here)?;
            let port = port_of(here, given, launched)?;
            let store = Store::derived(here, nodes, here.settings.host_rank(), &port)?;
            return Ok((store, port.value));
        }
    };
    let written = HostPort::parse(name, text)?;
    let port = match written.port {
        Some(0) => return Err(Error::setting(name, text, "port 0 is another one on every node")),
        Some(port) => match given.port.filter(|&other| other != port) {
            Some(other) => {
                return Err(Error::setting("port", other.to_string(), format!("{name} has another one, {port}")));
            }
            None => Decision::new(port, "as given"),
        },
        None => port_of(here, given, launched)?,
    };
    let endpoint = HostPort { port: Some(port.value), ..written };
    let decision = Decision::new(endpoint, format!("{name} as given; port {}", port.reason));
    Ok((Store::given(here, name, decision)?, port.value))
}

fn nodes<'a>(here: &Here<'a>) -> Result<&'a Nodes> {
    here.identity.nodes.as_ref().ok_or_else(|| {
        let reason = "not set, and there is no MASTER_ADDR; start it with srun, or give an endpoint";
        Error::setting("SLURM_STEP_NODELIST", "", reason)
    })
}

fn port_of(here: &Here<'_>, given: Given<'_>, launched: &Launched) -> Result<Decision<u16>> {
    if let Some(port) = given.port {
        return Ok(Decision::new(port, "as given"));
    }
    if let Some(port) = launched.master_port {
        return Ok(Decision::new(port, "of MASTER_PORT"));
    }
    if here.settings.port.is_none() && !here.step.is_allocated() {
        return Err(Error::setting("MASTER_PORT", "", "not set, and there is no Slurm job to derive it from"));
    }
    Ok(port::decide(here))
}

/// The node that the store was derived from, else the one that the endpoint names.
fn host_node(store: &Store, identity: &Identity) -> Option<String> {
    let derived = store.derived_from.and_then(|rank| identity.nodes.as_ref()?.hosts.nth(rank));
    derived.or_else(|| store.named.as_ref().map(|found| found.node.clone()))
}

impl Endpoint {
    /// Where the store is, and why it is there. The port is always known.
    #[must_use]
    pub fn host_port(&self) -> &Decision<HostPort> {
        &self.store.endpoint
    }

    /// The endpoint's address that suits this node best.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        self.store.addresses.first().copied()
    }

    /// How the endpoint's host is made of the host node's name.
    #[must_use]
    pub fn form(&self) -> Option<&Form> {
        self.store.named.as_ref().map(|found| &found.form)
    }

    /// Whether this task serves the store: under `env://` the one with rank 0 does.
    ///
    /// <https://github.com/pytorch/pytorch/blob/v2.6.0/torch/distributed/rendezvous.py>
    #[must_use]
    pub fn is_host(&self) -> Option<bool> {
        self.rank.as_ref().map(|rank| rank.value == 0)
    }

    /// The interface that carries this node's address on the endpoint's network.
    #[must_use]
    pub fn interface(&self, node: Node<'_>) -> Option<String> {
        let here = Here::new(&self.settings, &self.step, node, &self.identity).ok()?;
        let is_named = self.identity.rank.is_some() && self.store.host_rank() == self.identity.rank;
        let is_host_node = is_named || here.own(&self.store.addresses).is_some();
        local::decide(&here, &self.store, is_host_node).interface.map(|interface| interface.value)
    }

    /// The variables of torch's `env://` initialisation, as far as they are known, and `NODE_RANK`.
    #[must_use]
    pub fn env(&self) -> BTreeMap<&'static str, String> {
        let text = |value: Option<usize>| value.map(|value| value.to_string());
        let pairs = [
            ("MASTER_ADDR", Some(self.store.host().to_owned())),
            ("MASTER_PORT", Some(self.port.to_string())),
            ("RANK", text(self.rank.as_ref().map(|rank| rank.value))),
            ("WORLD_SIZE", text(self.world_size)),
            ("LOCAL_RANK", text(self.local_rank)),
            ("LOCAL_WORLD_SIZE", text(self.local_world_size)),
            ("NODE_RANK", text(self.identity.rank)),
        ];
        pairs.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// Why each part is what it is, by the names that Python knows it by.
    #[must_use]
    pub fn reasons(&self) -> BTreeMap<&'static str, &str> {
        let pairs = [
            ("endpoint", Some(&self.store.endpoint.reason)),
            ("rank", self.rank.as_ref().map(|rank| &rank.reason)),
            ("node_rank", self.identity.rank.map(|_| &self.identity.rank_source)),
        ];
        pairs.into_iter().filter_map(|(name, reason)| Some((name, reason?.as_str()))).collect()
    }
}
