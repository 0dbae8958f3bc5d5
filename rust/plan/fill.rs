//! Options that nobody gave and that plain torchrun could not do without, from Slurm.

use crate::endpoint::Endpoint;
use crate::slurm::Step;
use crate::{Error, Result};

use super::derive::{Derive, HostName};
use super::identity::{self, Identity};
use super::{Fill, Node, Options, Plan, Settings};

/// The options with what was filled in; the same is noted in `plan`.
///
/// Only under a step of more than one node, only for a launch on several nodes, never over what was given.
pub(super) fn options(
    settings: &Settings,
    given: &Options,
    step: &Step,
    node: Node<'_>,
    plan: &mut Plan,
) -> Result<Options> {
    let mut options = given.clone();
    let Some(backend) = wanted(given, step) else { return Ok(options) };
    plan.identity = identity::identify(step, node.hostname, given.max_nodes)?;
    let filler = Filler { settings, given, step, node, identity: &plan.identity };
    plan.fills = match backend {
        Backend::C10d => filler.c10d(&mut options)?,
        Backend::Static => filler.fixed(&mut options)?,
    };
    Ok(options)
}

/// Why the option called one of `names` has its value: the reason of its fill, or that it was given.
pub(super) fn reason(fills: &[Fill], names: &[&str]) -> String {
    let fill = fills.iter().find(|fill| names.contains(&fill.option));
    fill.map_or_else(|| "as given".to_owned(), |fill| fill.reason.clone())
}

/// Whether the endpoint's host is one of these fills.
pub(super) fn fills_host(fills: &[Fill]) -> bool {
    fills.iter().any(|fill| fill.option == "rdzv_endpoint")
}

#[derive(Clone, Copy)]
enum Backend {
    C10d,
    Static,
}

/// The backend for which something is missing, if something is.
fn wanted(given: &Options, step: &Step) -> Option<Backend> {
    let has = |name| given.is_given(name);
    if given.standalone || given.file_store || given.max_nodes == 1 || !step.is_allocated() {
        return None;
    }
    let fixed = has("rdzv_backend") || has("node_rank") || has("master_addr");
    match given.backend.as_str() {
        "c10d" => given.endpoint.trim().is_empty().then_some(Backend::C10d),
        "static" if !fixed => Some(Backend::C10d),
        "static" => {
            let complete = has("node_rank") && (has("master_addr") || has("rdzv_endpoint"));
            (!complete).then_some(Backend::Static)
        }
        _ => None,
    }
}

struct Filler<'a> {
    settings: &'a Settings,
    given: &'a Options,
    step: &'a Step,
    node: Node<'a>,
    identity: &'a Identity,
}

impl Filler<'_> {
    fn c10d(&self, options: &mut Options) -> Result<Vec<Fill>> {
        let mut fills = Vec::new();
        if options.backend != "c10d" {
            options.backend = "c10d".into();
            fills.push(fill("rdzv_backend", "c10d", "no backend was given for several nodes"));
        }
        if !self.given.is_given("rdzv_endpoint") || options.endpoint.trim().is_empty() {
            let host = self.host(self.settings.host_node_rank.unwrap_or(0))?;
            let (port, why) = self.port();
            let endpoint = Endpoint { host: host.name, port: Some(port) }.to_string();
            options.endpoint.clone_from(&endpoint);
            fills.push(fill("rdzv_endpoint", &endpoint, &format!("{}; port {why}", host.reason)));
        }
        if !self.given.is_given("rdzv_id") {
            options.run_id = self.run_id();
            fills.push(fill("rdzv_id", &options.run_id, "job, step and restart count"));
        }
        Ok(fills)
    }

    fn fixed(&self, options: &mut Options) -> Result<Vec<Fill>> {
        let mut fills = Vec::new();
        let rank = self.rank()?;
        if !self.given.is_given("node_rank") {
            fills.push(fill("node_rank", &rank.to_string(), &format!("by {}", self.identity.rank_source)));
        }
        if !self.given.is_given("master_addr") && !self.given.is_given("rdzv_endpoint") {
            // The static store is served by the node with rank 0.
            let host = self.host(0)?;
            let (port, why) = self.port();
            let endpoint = Endpoint { host: host.name, port: Some(port) }.to_string();
            options.endpoint.clone_from(&endpoint);
            fills.push(fill("master_addr", &endpoint, &format!("{}; port {why}", host.reason)));
        }
        Ok(fills)
    }

    /// This node's rank, without which nothing can be filled in for the static backend.
    fn rank(&self) -> Result<usize> {
        self.settings.node_rank.or(self.identity.rank).ok_or_else(|| self.unknown("the rank of this node is not known"))
    }

    /// The name of the node with this rank on the fast network: the first form that resolves.
    fn host(&self, rank: usize) -> Result<HostName> {
        let nodes = match &self.identity.nodes {
            Some(nodes) if self.step.is_inside() => nodes,
            Some(_) => return Err(self.unknown("this is no srun step")),
            None => return Err(self.unknown("SLURM_STEP_NODELIST is not set")),
        };
        self.derive().host(nodes, rank)
    }

    /// The port as given by `--master_port`, else the step's.
    fn port(&self) -> (u16, String) {
        self.given
            .master_port
            .map_or_else(|| self.derive().port(), |port| (port, "as given by --master_port".to_owned()))
    }

    fn derive(&self) -> Derive<'_> {
        Derive { settings: self.settings, step: self.step, node: self.node, identity: self.identity }
    }

    fn run_id(&self) -> String {
        let id = |name| self.step.get(name).unwrap_or("0");
        format!("{}.{}.{}", id("SLURM_JOB_ID"), id("SLURM_STEP_ID"), id("SLURM_RESTART_COUNT"))
    }

    fn unknown(&self, what: &str) -> Error {
        Error::Setting {
            name: "--nnodes".into(),
            value: self.given.max_nodes.to_string(),
            reason: format!("no endpoint was given and {what}; start it with srun, or give --rdzv_endpoint"),
        }
    }
}

fn fill(option: &'static str, value: &str, reason: &str) -> Fill {
    Fill { option, value: value.to_owned(), reason: reason.to_owned() }
}
