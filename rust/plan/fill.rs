//! Options that nobody gave and that plain torchrun could not do without, from Slurm.

use crate::allocation::Allocation;
use crate::environ::Variable;
use crate::options::Options;
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

/// What is missing, if something is: only in an allocation, only for a launch on several nodes.
pub(super) fn missing(given: &Options, allocation: &Allocation) -> Option<Missing> {
    let has = |name| given.is_given(name);
    if given.standalone || given.file_store || given.max_nodes == 1 || !allocation.is_allocated() {
        return None;
    }
    let is_c10d = given.backend == "c10d";
    let chose_static = has("rdzv_backend") || has("node_rank") || has("master_addr");
    if is_c10d || (given.backend == "static" && !chose_static) {
        let endpoint = given.endpoint.trim().is_empty() || !has("rdzv_endpoint");
        return (endpoint || !is_c10d || has_no_id(given)).then_some(Missing { backend: Backend::C10d, endpoint });
    }
    let endpoint = !has("master_addr") && !has("rdzv_endpoint");
    let is_complete = !endpoint && has("node_rank");
    (given.backend == "static" && !is_complete).then_some(Missing { backend: Backend::Static, endpoint })
}

/// Whether torch would make up an id, another one on every node: for `--rdzv_id=$UNSET`.
///
/// <https://github.com/pytorch/pytorch/blob/v2.6.0/torch/distributed/launcher/api.py>
pub(super) fn has_no_id(options: &Options) -> bool {
    options.backend == "c10d" && options.run_id.is_empty()
}

/// The store of a launch whose endpoint nobody gave.
///
/// # Errors
/// [`Error::Setting`] for what Slurm does not say, [`Error::Resolve`] for a host without an address.
pub(super) fn store(here: &Here<'_>, options: &Options, missing: Option<Missing>) -> Result<Store> {
    let allocation = here.allocation;
    let nodes = match &here.identity.nodes {
        Some(nodes) if allocation.is_launched() => nodes,
        None if allocation.is_launched() => {
            return Err(unknown(options, "the nodes are not known; TORCHRUN_JSC_NODELIST can tell them"));
        }
        _ => match allocation.signs_of_a_step()? {
            Some(sign) => {
                let lacks = format!(
                    "SLURM_STEP_NODELIST is not set, although {sign}: a container needs all of Slurm's variables"
                );
                return Err(unknown(options, &lacks));
            }
            None => return Err(unknown(options, "this is no srun step")),
        },
    };
    check_size(here, options)?;
    // The static store is served by the node with rank 0.
    let is_static = missing.is_some_and(|missing| missing.backend == Backend::Static);
    let rank = if is_static { 0 } else { here.settings.host_rank() };
    let given = options.master_port.map(|port| Decision::new(port, "as given by --master_port"));
    Store::derived(here, nodes, rank, &given.unwrap_or_else(|| port::decide(here)))
}

/// Refuse a launch on more nodes than the step has, where the others could not know the endpoint.
fn check_size(here: &Here<'_>, options: &Options) -> Result<()> {
    let nodes = here.identity.nnodes().unwrap_or(0);
    let agents = here.allocation.processes()?.unwrap_or(nodes).max(nodes);
    if options.min_nodes <= agents {
        return Ok(());
    }
    let of_job = match here.allocation.nodes_beyond_step()? {
        Some(all) => format!("{nodes} of the job's {all} nodes"),
        None => format!("{nodes} nodes"),
    };
    let reason = format!(
        "no endpoint was given, and this step has {of_job}; start all launchers with one srun, or give --rdzv_endpoint"
    );
    Err(Error::setting("--nnodes", options.min_nodes.to_string(), reason))
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
            if has_no_id(given) || (missing.endpoint && !given.is_given("rdzv_id")) {
                options.run_id = run_id(here.allocation);
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

/// One number for each job, step and restart. Only digits, since there are scripts that read it as a number: the id of the
/// job, then step and restart count, each with the number of its own digits behind it, which keeps 1 and 23 apart from 12
/// and 3.
fn run_id(allocation: &Allocation) -> String {
    let id = |text: Option<&str>| port::number(text.unwrap_or_default()).to_string();
    let (step, restart) = (id(allocation.step_id()), id(allocation.get(Variable::RestartCount)));
    let job = id(allocation.job_id());
    format!("{job}{step}{}{restart}{}", step.len() % 10, restart.len() % 10)
}

fn unknown(options: &Options, what: &str) -> Error {
    let reason = format!("no endpoint was given and {what}; start it with srun, or give --rdzv_endpoint");
    Error::setting("--nnodes", options.max_nodes.to_string(), reason)
}
