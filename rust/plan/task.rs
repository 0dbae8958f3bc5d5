//! The same decision for a program that initialises torch by itself, once in every task of a step.

use std::net::IpAddr;

use crate::endpoint::Endpoint;
use crate::interface::{self, Table};
use crate::launched::Launched;
use crate::resolve::Resolver;
use crate::slurm::{Nodes, Step, TaskCounts};
use crate::{Error, Result};

use super::derive::Derive;
use super::identity::{self, Identity};
use super::template::Template;
use super::{address, names, Decision, Form, Node, Settings};

/// Where the store is, and the place of this task among the others. What Slurm does not say is `None`.
#[derive(Debug, Clone)]
pub struct Task {
    /// The store's host and port; the port is always known.
    pub endpoint: Decision<Endpoint>,
    /// The store's port.
    pub port: u16,
    /// The endpoint's addresses, best first.
    pub addresses: Vec<IpAddr>,
    /// The node that hosts the store, where its name is known.
    pub host_node: Option<String>,
    /// How the endpoint's host is made of that name.
    pub form: Option<Form>,
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
pub fn task(settings: &Settings, given: Given<'_>, step: &Step, launched: &Launched, node: Node<'_>) -> Result<Task> {
    let mut identity = identity::identify(step, node.hostname, 0)?;
    if let Some(rank) = settings.node_rank.or(launched.group_rank) {
        identity.rank = Some(rank);
    }
    address::check_interface_setting(settings, node.table, &identity.name)?;
    let place = Place { settings, given, step, launched, node, identity: &identity };
    let found = place.endpoint()?;
    let rank = place.rank()?;
    let mut warnings: Vec<String> = identity.warning.clone().into_iter().collect();
    warnings.extend(place.contradictions(&found)?);
    let inside = step.is_inside();
    let in_step = |value: Result<Option<usize>>| if inside { value } else { Ok(None) };
    let counts = if inside { step.tasks_per_node()? } else { None };
    let local_size = counts.as_ref().and_then(|counts| counts.on_node(identity.counted_place(identity.rank?)?));
    Ok(Task {
        port: found.port,
        addresses: found.addresses,
        host_node: found.node,
        form: found.form,
        nnodes: launched.group_world_size.or(identity.nnodes()),
        world_size: launched.world_size.map_or_else(|| in_step(step.tasks()), |size| Ok(Some(size)))?,
        local_rank: launched.local_rank.map_or_else(|| in_step(step.local_id()), |rank| Ok(Some(rank)))?,
        local_world_size: launched.local_world_size.or(local_size),
        endpoint: found.endpoint,
        rank,
        identity,
        warnings,
    })
}

impl Task {
    /// The endpoint's address that suits this node best.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        self.addresses.iter().copied().find(|&ip| interface::is_global(ip)).or(self.addresses.first().copied())
    }

    /// The interface of this node that has the endpoint's address or is on the route to it. Where the endpoint's host is
    /// on loopback here (`127.0.1.1`), the one on the way to another node of the step.
    #[must_use]
    pub fn interface(&self, table: &Table, resolver: &dyn Resolver) -> Option<String> {
        let own = self.addresses.iter().find_map(|&ip| table.proof_of_self(ip));
        let on_route = |ip| table.proof_of_self(resolver.source_to(ip)?);
        let route = || on_route(self.address()?);
        let way_out = || self.addresses_of_a_peer(resolver)?.into_iter().find_map(on_route);
        own.or_else(route).or_else(way_out).map(|interface| interface.name.clone())
    }

    fn addresses_of_a_peer(&self, resolver: &dyn Resolver) -> Option<Vec<IpAddr>> {
        resolver.lookup(&self.form.as_ref()?.apply(&self.identity.peer()?)).ok()
    }
}

/// The endpoint with all that is known of it.
struct Found {
    endpoint: Decision<Endpoint>,
    port: u16,
    addresses: Vec<IpAddr>,
    node: Option<String>,
    form: Option<Form>,
    /// The host node's place in the step.
    position: Option<usize>,
}

#[derive(Clone, Copy)]
struct Place<'a> {
    settings: &'a Settings,
    given: Given<'a>,
    step: &'a Step,
    launched: &'a Launched,
    node: Node<'a>,
    identity: &'a Identity,
}

impl Place<'_> {
    fn derive(&self) -> Derive<'_> {
        Derive { settings: self.settings, step: self.step, node: self.node, identity: self.identity }
    }

    /// The caller's endpoint, else `MASTER_ADDR`, else the host node of the step.
    fn endpoint(&self) -> Result<Found> {
        let master = self.launched.master_addr.as_deref();
        let (name, text) = match (self.given.endpoint, master) {
            (Some(text), _) => ("endpoint", text),
            (None, Some(text)) => ("MASTER_ADDR", text),
            (None, None) => return self.derived(),
        };
        let mut endpoint = Endpoint::parse(name, text)?;
        let (port, source) = match endpoint.port {
            Some(port) if port > 0 => {
                if let Some(other) = self.given.port.filter(|&other| other != port) {
                    return Err(setting("port", &other.to_string(), &format!("{name} has another one, {port}")));
                }
                (port, "as given".to_owned())
            }
            Some(_) => return Err(setting(name, text, "port 0 is another one on every node")),
            None => self.port()?,
        };
        endpoint.port = Some(port);
        let addresses = self.addresses(name, &endpoint)?;
        let named = self.named(&endpoint)?;
        Ok(Found {
            endpoint: Decision::new(endpoint, format!("{name} as given; port {source}")),
            port,
            addresses,
            position: named.as_ref().map(|found| found.position),
            form: named.as_ref().map(|found| found.form.clone()),
            node: named.map(|found| found.node),
        })
    }

    fn derived(&self) -> Result<Found> {
        let nodes = self.nodes()?;
        let rank = self.settings.host_node_rank.unwrap_or(0);
        let host = self.derive().host(nodes, rank)?;
        let (port, source) = self.port()?;
        let endpoint = Endpoint { host: host.name, port: Some(port) };
        let addresses = self.addresses(&nodes.variable, &endpoint)?;
        let reason = format!("{}; port {source}", host.reason);
        let node = nodes.hosts.nth(rank);
        let form = self.named(&endpoint)?.map(|found| found.form);
        Ok(Found { endpoint: Decision::new(endpoint, reason), port, addresses, node, form, position: Some(rank) })
    }

    fn nodes(&self) -> Result<&Nodes> {
        self.identity.nodes.as_ref().ok_or_else(|| {
            setting(
                "SLURM_STEP_NODELIST",
                "",
                "not set, and there is no MASTER_ADDR; start it with srun, or give an endpoint",
            )
        })
    }

    fn port(&self) -> Result<(u16, String)> {
        if let Some(port) = self.given.port {
            return Ok((port, "as given".into()));
        }
        if let Some(port) = self.launched.master_port {
            return Ok((port, "of MASTER_PORT".into()));
        }
        if self.settings.port.is_none() && !self.step.is_allocated() {
            return Err(setting("MASTER_PORT", "", "not set, and there is no Slurm job to derive it from"));
        }
        Ok(self.derive().port())
    }

    fn addresses(&self, name: &str, endpoint: &Endpoint) -> Result<Vec<IpAddr>> {
        if let Some(ip) = endpoint.ip() {
            return Ok(vec![ip]);
        }
        let mut addresses = super::lookup(name, &endpoint.host, self.node)?;
        super::context::prefer(&mut addresses, self.node.table, self.settings.filter().as_ref());
        Ok(addresses)
    }

    /// The node of the step that the endpoint names.
    fn named(&self, endpoint: &Endpoint) -> Result<Option<names::Match>> {
        let Some(nodes) = &self.identity.nodes else { return Ok(None) };
        let templates = Template::of_site(&self.settings.host_templates, self.step.get("SYSTEMNAME"))?;
        Ok(names::find(nodes, &endpoint.host, &templates, self.identity.domain()))
    }

    /// `SLURM_PROCID`, or, where task 0 may not be on the host node, the tasks counted node by node from there.
    fn rank(&self) -> Result<Option<Decision<usize>>> {
        if let Some(rank) = self.launched.rank {
            return Ok(Some(Decision::new(rank, "RANK")));
        }
        if !self.step.is_inside() {
            return Ok(None);
        }
        let host = self.settings.host_node_rank.unwrap_or(0);
        let arbitrary = self.step.get("SLURM_DISTRIBUTION").is_some_and(|name| name.contains("arbitrary"));
        if host == 0 && !arbitrary {
            return Ok(self.step.task_id()?.map(|id| Decision::new(id, "SLURM_PROCID")));
        }
        let (Some(counts), Some(node), Some(local)) =
            (self.step.tasks_per_node()?, self.identity.rank, self.step.local_id()?)
        else {
            return Ok(None);
        };
        let (Some(place), Some(first)) = (self.identity.counted_place(node), self.identity.counted_place(host)) else {
            return Ok(None);
        };
        Ok(counted(&counts, place, local, first, self.identity.nnodes())
            .map(|rank| Decision::new(rank, format!("the tasks counted node by node, from node {host}"))))
    }

    /// What the environment says and Slurm contradicts. What torchrun set is its own matter.
    fn contradictions(&self, found: &Found) -> Result<Vec<String>> {
        if self.launched.is_elastic || !self.step.is_inside() {
            return Ok(Vec::new());
        }
        let pairs = [
            ("RANK", self.launched.rank, "SLURM_PROCID", self.step.task_id()?),
            ("WORLD_SIZE", self.launched.world_size, "SLURM_NTASKS", self.step.tasks()?),
            ("LOCAL_RANK", self.launched.local_rank, "SLURM_LOCALID", self.step.local_id()?),
        ];
        let mut lines: Vec<String> = pairs
            .into_iter()
            .filter_map(|(name, set, slurm_name, slurm)| {
                let (set, slurm) = (set?, slurm?);
                (set != slurm).then(|| format!("{name}={set} as set, although {slurm_name}={slurm}"))
            })
            .collect();
        let several = self.identity.nnodes().is_some_and(|nodes| nodes > 1);
        let endpoint = &found.endpoint.value;
        if several && endpoint.is_loopback() {
            lines.push(format!("{} is on loopback, which the other nodes of the step cannot reach", endpoint.host));
        }
        let host = self.settings.host_node_rank.unwrap_or(0);
        if let (Some(position), None) = (found.position.filter(|position| *position != host), self.launched.rank) {
            lines.push(format!("{} is node {position} of the step, but rank 0 is on node {host}", endpoint.host));
        }
        Ok(lines)
    }
}

/// The number of a task when tasks are counted node by node, beginning at node `first`.
fn counted(counts: &TaskCounts, node: usize, local: usize, first: usize, nodes: Option<usize>) -> Option<usize> {
    let all = counts.before_node(nodes?);
    let number = counts.before_node(node).checked_add(local)?;
    let start = counts.before_node(first);
    // Counts of that many tasks are sums that have saturated.
    let is_known = all < usize::MAX && start < all && number < all;
    is_known.then(|| if number < start { number + (all - start) } else { number - start })
}

fn setting(name: &str, value: &str, reason: &str) -> Error {
    Error::Setting { name: name.to_owned(), value: value.to_owned(), reason: reason.to_owned() }
}
