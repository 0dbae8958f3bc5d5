//! The same decision for a program that initialises torch by itself, once in every task of a step.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::allocation::{Allocation, Started};
use crate::environ::Environ;
use crate::host_port::HostPort;
use crate::launched::Launched;
use crate::node::Node;
use crate::settings::Settings;
use crate::slurm::Nodes;
use crate::{Error, Result};

use super::decision::Decision;
use super::here::Here;
use super::identity::{self, Identity};
use super::local;
use super::port;
use super::rank;
use super::store::Store;

/// Where the store is, and the place of this task among the others. What nobody says is `None`.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "python", derive(serde::Serialize, serde::Deserialize))]
pub struct Endpoint {
    /// Where the store is. The port is always known.
    pub host_port: HostPort,
    /// The store's port.
    pub port: u16,
    /// The endpoint's address that suits this node best.
    pub address: Option<IpAddr>,
    /// The node that hosts the store, where its name is known.
    pub host_node: Option<String>,
    /// This node's name.
    pub node: String,
    /// This node's place in the step: torch's `GROUP_RANK`, `NODE_RANK` of other programs.
    pub node_rank: Option<usize>,
    /// The number of nodes.
    pub nnodes: Option<usize>,
    /// The number of this task among all: torch's `RANK`.
    pub rank: Option<usize>,
    /// The number of tasks.
    pub world_size: Option<usize>,
    /// The number of this task on its node.
    pub local_rank: Option<usize>,
    /// The number of tasks on this node.
    pub local_world_size: Option<usize>,
    /// What the user should know, a line each.
    pub warnings: Vec<String>,
    /// Why each part is what it is, by the names that Python knows it by.
    pub reasons: BTreeMap<String, String>,
    /// This node's own address, where it was found already.
    local: Option<OwnAddress>,
    /// What the own address is found by. It goes to no other process.
    #[cfg_attr(feature = "python", serde(skip))]
    origin: Option<Origin>,
}

/// A node's own name or address on the endpoint's network, and the interface that carries it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "python", derive(serde::Serialize, serde::Deserialize))]
pub struct OwnAddress {
    /// What peers reach this node by.
    pub address: Option<String>,
    /// The interface that carries it.
    pub interface: Option<String>,
}

impl OwnAddress {
    fn find(here: &Here<'_>, store: &Store) -> Self {
        let is_named = here.is_member() && store.host_rank() == here.identity.rank;
        let local = local::decide(here, store, is_named || here.own(&store.addresses).is_some());
        Self {
            address: local.address.map(|address| address.value),
            interface: local.interface.map(|interface| interface.value),
        }
    }
}

#[derive(Debug, Clone)]
struct Origin {
    settings: Settings,
    allocation: Allocation,
    identity: Identity,
    store: Store,
}

/// The caller's own choice.
#[derive(Debug, Clone, Copy, Default)]
pub struct Given<'a> {
    /// Host, or host and port.
    pub endpoint: Option<&'a str>,
    /// The port, for an endpoint without one.
    pub port: Option<u16>,
    /// Whether the caller was started inside a task, as by Python's `multiprocessing`: the task's ranks are not its own.
    pub is_child: bool,
}

/// Decide for this task.
///
/// # Errors
/// [`Error::Setting`] for a variable that cannot be used and for what cannot be known, [`Error::Resolve`] for a host
/// without an address.
pub fn endpoint(
    settings: Settings,
    given: Given<'_>,
    environ: Environ,
    launched: &Launched,
    node: Node<'_>,
) -> Result<Endpoint> {
    let allocation = Allocation::new(environ, settings.given_nodes(), node)?;
    let mut identity = identity::identify(&allocation, node.hostname, None)?;
    let told = settings.node_rank.or(launched.group_rank);
    identity.rank = identity.rank.or(told);
    check_step(&allocation, launched)?;
    let here = Here::new(&settings, &allocation, node, &identity)?;
    let (store, port) = store_of(&here, given, launched)?;
    let mut warnings = allocation.doubts.clone();
    warnings.extend(identity.warning.clone());
    warnings.extend(store.warnings.clone());
    let sign = rank::started_inside(&here, launched)?;
    warnings.extend(rank::contradictions(&here, launched, &store, sign.as_deref())?);
    let is_inside = given.is_child && launched.rank.is_none();
    if is_inside && !matches!(allocation.started(), Started::Otherwise) {
        warnings
            .push("no RANK: this process was started inside a task, by multiprocessing; its parent can tell it".into());
    }
    let is_own = !is_inside && sign.is_none();
    let rank = if is_own { rank::of_task(&here, launched, &store)? } else { None };
    let counts = allocation.processes_per_node()?;
    let place = identity.rank.and_then(|rank| identity.counted_place(rank));
    let local_size = allocation.local_size().or_else(|| counts.as_ref()?.on_node(place?)).filter(|_| is_own);
    let (world_size, local_rank) =
        if is_own { (allocation.processes()?, allocation.local_id()?) } else { (None, None) };
    if launched.rank.is_none() && launched.world_size.is_none() {
        rank::check_size(&here, rank.as_ref().map(|rank| rank.value), world_size)?;
    }
    let reasons = [
        ("endpoint", Some(&store.endpoint.reason)),
        ("rank", rank.as_ref().map(|rank| &rank.reason)),
        ("node_rank", identity.rank.map(|_| &identity.rank_source)),
    ];
    // A derived name was tried with this node's own. Another one may need a look-up that not all callers wait for.
    let local = store.derived_from.map(|_| OwnAddress::find(&here, &store));
    let own = |(name, reason): (&str, Option<&String>)| Some((name.to_owned(), reason?.clone()));
    Ok(Endpoint {
        host_port: store.endpoint.value.clone(),
        port,
        address: store.addresses.first().copied(),
        host_node: host_node(&store, &identity),
        node: identity.name.clone(),
        node_rank: told.or(launched.node_rank).or(identity.rank),
        nnodes: launched.group_world_size.or(identity.nnodes()),
        rank: rank.as_ref().map(|rank| rank.value),
        world_size: launched.world_size.or(world_size),
        local_rank: launched.local_rank.or(local_rank),
        local_world_size: launched.local_world_size.or(local_size),
        warnings,
        reasons: reasons.into_iter().filter_map(own).collect(),
        local,
        origin: Some(Origin { settings, allocation, identity, store }),
    })
}

/// Refuse the environment of a task that lacks the step's own variables: it has a rank, which nobody would know.
fn check_step(allocation: &Allocation, launched: &Launched) -> Result<()> {
    match allocation.signs_of_a_step()? {
        Some(sign) if launched.rank.is_none() => {
            let reason = format!(
                "not set, although {sign}; a container needs all of Slurm's variables, SLURM_STEP_NODELIST, SLURM_STEP_ID, \
                 SLURM_STEP_NUM_TASKS and SLURM_STEP_TASKS_PER_NODE too"
            );
            Err(Error::setting("SLURM_STEP_NODELIST", "", reason))
        }
        _ => Ok(()),
    }
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
        if here.allocation.is_launched() {
            let reason = "not set, and neither Slurm nor MASTER_ADDR tells the nodes; give a node list or @file";
            return Error::setting("TORCHRUN_JSC_NODELIST", "", reason);
        }
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
    if here.settings.port.is_none() && !here.allocation.is_allocated() {
        return Err(Error::setting("MASTER_PORT", "", "not set, and there is no job to derive it from"));
    }
    Ok(port::decide(here))
}

/// The node that the store was derived from, else the one that the endpoint names.
fn host_node(store: &Store, identity: &Identity) -> Option<String> {
    let derived = store.derived_from.and_then(|rank| identity.nodes.as_ref()?.hosts.nth(rank));
    derived.or_else(|| store.named.as_ref().map(|found| found.node.clone()))
}

impl Endpoint {
    /// Whether this task serves the store: under `env://` the one with rank 0 does.
    ///
    /// <https://github.com/pytorch/pytorch/blob/v2.6.0/torch/distributed/rendezvous.py>
    #[must_use]
    pub fn is_host(&self) -> Option<bool> {
        self.rank.map(|rank| rank == 0)
    }

    /// What peers reach this node by, and on which interface; `node` is the one where the endpoint was found.
    #[must_use]
    pub fn own_address(&self, node: Node<'_>) -> OwnAddress {
        let found = || {
            let Origin { settings, allocation, identity, store } = self.origin.as_ref()?;
            Some(OwnAddress::find(&Here::new(settings, allocation, node, identity).ok()?, store))
        };
        self.local.clone().or_else(found).unwrap_or_default()
    }

    /// The same endpoint for another process: what peers reach this node by is found now.
    #[must_use]
    pub fn settled(&self, node: Node<'_>) -> Self {
        Self { local: Some(self.own_address(node)), origin: None, ..self.clone() }
    }

    /// The variables of torch's `env://` initialisation, as far as they are known, and `NODE_RANK`.
    #[must_use]
    pub fn env(&self) -> BTreeMap<&'static str, String> {
        let text = |value: Option<usize>| value.map(|value| value.to_string());
        let pairs = [
            ("MASTER_ADDR", Some(self.host_port.host.clone())),
            ("MASTER_PORT", Some(self.port.to_string())),
            ("RANK", text(self.rank)),
            ("WORLD_SIZE", text(self.world_size)),
            ("LOCAL_RANK", text(self.local_rank)),
            ("LOCAL_WORLD_SIZE", text(self.local_world_size)),
            ("NODE_RANK", text(self.node_rank)),
        ];
        pairs.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}
