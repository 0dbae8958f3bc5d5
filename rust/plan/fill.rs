//! Options that nobody gave and that plain torchrun could not do without, from Slurm.

use crate::environ::Variable;
use crate::options::Options;
use crate::slurm::Step;
use crate::{Error, Result};

use super::decision::Decision;
use super::here::Here;
use super::outcome::Fill;
use super::port;
use super::store::Store;

/// What is missing of a launch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Missing {
    /// The backend that it is filled in for.
    backend: Backend,
    /// Whether the endpoint is missing.
    pub(super) endpoint: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Backend {
    C10d,
    Static,
}

/// What is missing, if something is: only under a step, only for a launch on several nodes.
pub(super) fn missing(given: &Options, step: &Step) -> Option<Missing> {
    let has = |name| given.is_given(name);
    if given.standalone || given.file_store || given.max_nodes == 1 || !step.is_allocated() {
        return None;
    }
    let is_c10d = given.backend == "c10d";
    let chose_static = has("rdzv_backend") || has("node_rank") || has("master_addr");
    if is_c10d || (given.backend == "static" && !chose_static) {
        let endpoint = given.endpoint.trim().is_empty() || !has("rdzv_endpoint");
        return (endpoint || !is_c10d).then_some(Missing { backend: Backend::C10d, endpoint });
    }
    let endpoint = !has("master_addr") && !has("rdzv_endpoint");
    let is_complete = !endpoint && has("node_rank");
    (given.backend == "static" && !is_complete).then_some(Missing { backend: Backend::Static, endpoint })
}

/// The store of a launch whose endpoint nobody gave.
///
/// # Errors
/// [`Error::Setting`] for what Slurm does not say, [`Error::Resolve`] for a host without an address.
pub(super) fn store(here: &Here<'_>, options: &Options, missing: Option<Missing>) -> Result<Store> {
    let nodes = match &here.identity.nodes {
        Some(nodes) if here.step.is_inside() => nodes,
        Some(_) => return Err(unknown(options, "this is no srun step")),
        None => return Err(unknown(options, "SLURM_STEP_NODELIST is not set")),
    };
    // The static store is served by the node with rank 0.
    let is_static = missing.is_some_and(|missing| missing.backend == Backend::Static);
    let rank = if is_static { 0 } else { here.settings.host_rank() };
    let given = options.master_port.map(|port| Decision::new(port, "as given by --master_port"));
    Store::derived(here, nodes, rank, &given.unwrap_or_else(|| port::decide(here)))
}

/// The options with what was missing, and what that is: never over what was given.
///
/// # Errors
/// [`Error::Setting`] for what Slurm does not say.
pub(super) fn fill(here: &Here<'_>, given: &Options, missing: Missing, store: &Store) -> Result<(Options, Vec<Fill>)> {
    let mut options = given.clone();
    let mut fills = Vec::new();
    let mut add = |option: &'static str, value: &str, reason: &str| {
        fills.push(Fill { option, value: value.to_owned(), reason: reason.to_owned() });
    };
    let endpoint = &store.endpoint;
    match missing.backend {
        Backend::C10d => {
            if given.backend != "c10d" {
                options.backend = "c10d".into();
                add("rdzv_backend", "c10d", "no backend was given for several nodes");
            }
            if missing.endpoint {
                add("rdzv_endpoint", &endpoint.value.to_string(), &endpoint.reason);
            }
            if !given.is_given("rdzv_id") {
                options.run_id = run_id(here.step);
                add("rdzv_id", &options.run_id, "job, step and restart count");
            }
        }
        Backend::Static => {
            let rank = here.settings.node_rank.or(here.identity.rank);
            let rank = rank.ok_or_else(|| unknown(given, "the rank of this node is not known"))?;
            if !given.is_given("node_rank") {
                add("node_rank", &rank.to_string(), &format!("by {}", here.identity.rank_source));
            }
            if missing.endpoint {
                add("master_addr", &endpoint.value.to_string(), &endpoint.reason);
            }
        }
    }
    Ok((options, fills))
}

fn run_id(step: &Step) -> String {
    let id = |variable| step.get(variable).unwrap_or("0");
    format!("{}.{}.{}", id(Variable::JobId), id(Variable::StepId), id(Variable::RestartCount))
}

fn unknown(options: &Options, what: &str) -> Error {
    let reason = format!("no endpoint was given and {what}; start it with srun, or give --rdzv_endpoint");
    Error::setting("--nnodes", options.max_nodes.to_string(), reason)
}
