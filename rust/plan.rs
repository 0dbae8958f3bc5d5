//! The decision: who hosts the rendezvous, under which address, and why.
//!
//! [`plan`] is a pure function. Every node of a step computes it for itself, and all come to the same host node.

use std::net::IpAddr;

use crate::endpoint::Endpoint;
use crate::interface::{self, LazyTable};
use crate::resolve::Resolver;
use crate::slurm::Step;
use crate::{Error, Result};

mod address;
mod checks;
mod context;
mod derive;
mod fill;
mod gloo;
mod host;
mod identity;
mod names;
mod order;
mod port;
mod task;
mod template;

pub use identity::Identity;
pub use names::Form;
pub use order::RankOrder;
pub use task::{task, Given, Task};
pub use template::Template;

use context::Context;

/// The user's choices (`TORCHRUN_JSC_*` and the interface variables of gloo and NCCL).
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// `TORCHRUN_JSC_PREFER_ARG_PATCHING` is 0: node ranks are not used to find the host.
    pub ignore_node_ranks: bool,
    /// `TORCHRUN_JSC_NODE_RANK`.
    pub node_rank: Option<usize>,
    /// `TORCHRUN_JSC_HOST_NODE_RANK`.
    pub host_node_rank: Option<usize>,
    /// `TORCHRUN_JSC_HOST_TEMPLATE`, taken apart at its commas; empty for the site's rule.
    pub host_templates: Vec<String>,
    /// `TORCHRUN_JSC_INTERFACE`, in NCCL's syntax.
    pub interface: Option<String>,
    /// `TORCHRUN_JSC_PORT`.
    pub port: Option<u16>,
    /// `TORCHRUN_JSC_RANK_ORDER` is `torch`.
    pub keep_rank_order: bool,
    /// `TORCHRUN_JSC_SOCKET_IFNAME` is `off`: gloo's interface is left alone.
    pub keep_gloo: bool,
    /// `GLOO_SOCKET_IFNAME`.
    pub gloo_socket_ifname: Option<String>,
    /// `NCCL_SOCKET_IFNAME`.
    pub nccl_socket_ifname: Option<String>,
}

/// torchrun's options, as torch read them.
#[derive(Debug, Clone, Default)]
#[allow(clippy::struct_excessive_bools)] // torchrun's own flags
pub struct Options {
    /// `--standalone`.
    pub standalone: bool,
    /// `--rdzv_backend`.
    pub backend: String,
    /// `--rdzv_endpoint`, or master address and port under the static backend; empty where there is none.
    pub endpoint: String,
    /// `--rdzv_id`.
    pub run_id: String,
    /// `--node_rank`, where it was given.
    pub node_rank: Option<usize>,
    /// `--master_port`, where it was given.
    pub master_port: Option<u16>,
    /// The least number of nodes.
    pub min_nodes: usize,
    /// The greatest number of nodes.
    pub max_nodes: usize,
    /// `is_host` of `--rdzv_conf`.
    pub is_host: Option<bool>,
    /// `store_type=file` in `--rdzv_conf`: the endpoint is a path.
    pub file_store: bool,
    /// `--local_addr`.
    pub local_address: Option<String>,
    /// The options that the user gave, by their names in torch's namespace (`rdzv_backend` …).
    pub given: Vec<String>,
}

impl Options {
    fn is_given(&self, name: &str) -> bool {
        self.given.iter().any(|given| given == name)
    }
}

/// What the plan knows of the node it is made on.
#[derive(Clone, Copy)]
pub struct Node<'a> {
    /// What the node calls itself (`gethostname`).
    pub hostname: &'a str,
    /// Its interfaces, listed when they are first needed.
    pub table: &'a LazyTable,
    /// Its resolver and routes.
    pub resolver: &'a dyn Resolver,
    /// Its range of ephemeral ports, where known.
    pub ephemeral_ports: Option<(u16, u16)>,
}

/// A value and why it is that one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision<T> {
    /// What was decided.
    pub value: T,
    /// Why, in one clause.
    pub reason: String,
}

impl<T> Decision<T> {
    fn new(value: T, reason: impl Into<String>) -> Self {
        Self { value, reason: reason.into() }
    }
}

/// How torch is told whether this node hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostCheck {
    /// By `is_host` in `--rdzv_conf`.
    #[default]
    Argument,
    /// By the function with which torch recognises the host machine. Unlike the argument it keeps torch's retry as
    /// a client where another agent on this node already hosts.
    Function,
}

/// An option that is filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fill {
    /// Its name in torch's namespace, such as `rdzv_endpoint`.
    pub option: &'static str,
    /// Its value.
    pub value: String,
    /// Why, in one clause.
    pub reason: String,
}

/// What is to be told to torch on this node, with reasons.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Why torch is left alone, where it is.
    pub untouched: Option<String>,
    /// This node: name, rank and nodes of the step.
    pub identity: Identity,
    /// The node that hosts the store, where its name is known.
    pub host_node: Option<String>,
    /// How the endpoint's host is made of the host node's name.
    pub form: Option<Form>,
    /// Whether this agent hosts the store; `None` leaves it to torch.
    pub is_host: Option<Decision<bool>>,
    /// How torch is told of `is_host`.
    pub host_check: HostCheck,
    /// Where the store is.
    pub endpoint: Option<Decision<Endpoint>>,
    /// The address of the endpoint that this node prefers.
    pub endpoint_address: Option<IpAddr>,
    /// The port on which nodes try to reach one another beforehand.
    pub preflight_port: u16,
    /// What this node publishes to its peers.
    pub local_address: Option<Decision<String>>,
    /// The interface that carries it.
    pub interface: Option<Decision<String>>,
    /// The value for `GLOO_SOCKET_IFNAME`, where it is to be set.
    pub gloo_interface: Option<Decision<String>>,
    /// Who ranks the nodes of a round.
    pub rank_order: Option<Decision<RankOrder>>,
    /// The number of this agent on its node.
    pub local_id: usize,
    /// Options to fill in.
    pub fills: Vec<Fill>,
    /// What the user should know, a line each.
    pub warnings: Vec<String>,
}

/// Decide for this node.
///
/// # Errors
/// [`Error::Setting`] for a variable or option that cannot be used, [`Error::Resolve`] for an endpoint without an
/// address.
pub fn plan(settings: &Settings, options: &Options, step: &Step, node: Node<'_>) -> Result<Plan> {
    let mut plan = Plan::default();
    let options = &fill::options(settings, options, step, node, &mut plan)?;
    if let Some(reason) = stay_out(options, &plan.fills) {
        plan.untouched = Some(reason);
        return Ok(plan);
    }
    let endpoint = Endpoint::parse("--rdzv_endpoint", &options.endpoint)?;
    if options.max_nodes == 1 && endpoint.is_loopback() {
        plan.untouched = Some("the endpoint is on loopback".into());
        return Ok(plan);
    }
    if plan.identity.name.is_empty() {
        plan.identity = identity::identify(step, node.hostname, options.max_nodes)?;
    }
    if let Some(reason) = refuse_loopback(options, &endpoint, &plan)? {
        plan.untouched = Some(reason);
        return Ok(plan);
    }
    refuse_port_zero(options, &endpoint)?;
    let addresses = lookup("--rdzv_endpoint", &endpoint.host, node)?;
    let derived_from = fill::fills_host(&plan.fills).then(|| settings.host_node_rank.unwrap_or(0));
    let context = Context {
        settings,
        options,
        step,
        node,
        identity: &plan.identity,
        endpoint: &endpoint,
        derived_from,
        addresses: &addresses,
    };
    refuse_unreachable(&context)?;
    let host = if options.backend == "c10d" { host::decide(&context)? } else { host::Host::default() };
    let local = address::decide(&context, &host)?;
    let gloo = gloo::decide(&context, local.interface.as_ref(), local.address.is_some());

    plan.warnings.extend(checks::node_rank(&context));
    plan.warnings.extend(checks::user_rank(&context));
    plan.warnings.extend(checks::of_step(&context, &host)?);
    plan.warnings.extend(plan.identity.warning.clone());
    plan.warnings.extend(local.warnings);
    plan.warnings.extend(gloo.warning);
    let published = local.address.as_ref().map(|address| address.value.as_str());
    plan.rank_order = order::decide(&context, &host, published);
    plan.host_check = host.check;
    plan.local_id = if options.backend == "c10d" { step.local_id()?.unwrap_or(0) } else { 0 };
    plan.is_host = host.serves;
    plan.host_node = host.name;
    plan.form = host.form;
    plan.preflight_port = port::of_step(step) + 1;
    plan.local_address = local.address;
    plan.interface = local.interface;
    plan.gloo_interface = gloo.set;
    plan.endpoint_address = context.endpoint_address();
    let reason = fill::reason(&plan.fills, &["rdzv_endpoint", "master_addr"]);
    plan.endpoint = Some(Decision::new(endpoint, reason));
    Ok(plan)
}

/// Why this launch is none of our business, where it is not.
fn stay_out(options: &Options, fills: &[Fill]) -> Option<String> {
    if options.standalone {
        return Some("--standalone".into());
    }
    let several = options.max_nodes > 1;
    match options.backend.as_str() {
        "c10d" if options.file_store => Some("the rendezvous store is a file".into()),
        "c10d" if options.endpoint.trim().is_empty() => Some("no endpoint: torch takes its default".into()),
        "c10d" => None,
        "static" if !fills.is_empty() => None,
        "static" => Some("the static backend uses the master address as it is given".into()),
        "etcd" | "etcd-v2" if several => None,
        other => Some(format!("backend {other} is torch's own matter here")),
    }
}

/// Refuse an endpoint on loopback that other nodes are to reach; leave torch alone with any other one on loopback.
fn refuse_loopback(options: &Options, endpoint: &Endpoint, plan: &Plan) -> Result<Option<String>> {
    if options.backend.starts_with("etcd") || !endpoint.is_loopback() {
        return Ok(None);
    }
    let is_filled = !plan.fills.is_empty();
    let several = plan.identity.nnodes().is_some_and(|nodes| nodes > 1);
    if several && (options.min_nodes > 1 || is_filled) {
        return Err(Error::Setting {
            name: "--rdzv_endpoint".into(),
            value: options.endpoint.clone(),
            reason: "loopback cannot be reached from the other nodes of the step; give the host node's name or leave \
                     the option out"
                .into(),
        });
    }
    // torch alone would not know what was filled in.
    Ok((!is_filled).then(|| "the endpoint is on loopback".into()))
}

/// Refuse an endpoint whose every address is one that other nodes cannot reach, unless it is a node's own name: that
/// may be on loopback at home (127.0.1.1) and not elsewhere.
fn refuse_unreachable(context: &Context<'_>) -> Result<()> {
    let Context { options, identity, endpoint, addresses, .. } = *context;
    let several = options.min_nodes > 1 && identity.nnodes().is_some_and(|nodes| nodes > 1);
    let hidden = addresses.iter().all(|&ip| !interface::is_global(ip));
    if !several || !hidden || options.backend.starts_with("etcd") {
        return Ok(());
    }
    let nodes = identity.nodes.as_ref();
    if endpoint.ip().is_none() && nodes.is_some_and(|nodes| names::is_node(nodes, &endpoint.host, identity.domain())) {
        return Ok(());
    }
    let addresses: Vec<_> = addresses.iter().map(IpAddr::to_string).collect();
    Err(Error::Setting {
        name: "--rdzv_endpoint".into(),
        value: options.endpoint.clone(),
        reason: format!(
            "it is {} on node {}, which cannot be reached from the other nodes of the step",
            addresses.join(", "),
            identity.name
        ),
    })
}

fn refuse_port_zero(options: &Options, endpoint: &Endpoint) -> Result<()> {
    if endpoint.port != Some(0) || options.max_nodes == 1 {
        return Ok(());
    }
    Err(Error::Setting {
        name: "--rdzv_endpoint".into(),
        value: options.endpoint.clone(),
        reason: "port 0 is another one on every node; give one from 1 to 65535".into(),
    })
}

/// The addresses of `host`, which stands in the variable or option `name`.
fn lookup(name: &str, host: &str, node: Node<'_>) -> Result<Vec<IpAddr>> {
    let canonical = |addresses: Vec<IpAddr>| addresses.iter().map(IpAddr::to_canonical).collect();
    node.resolver.lookup(host).map(canonical).map_err(|answer| Error::Resolve {
        name: name.to_owned(),
        host: host.to_owned(),
        node: node.hostname.to_owned(),
        answer,
    })
}
