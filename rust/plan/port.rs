//! The port of an endpoint that nobody gave.

use std::hash::Hasher;

use fnv::FnvHasher;

use crate::allocation::Allocation;
use crate::environ::Variable;

use super::decision::Decision;
use super::here::Here;

/// Derived ports lie here: above the registered services that clusters use, below Linux' usual ephemeral range.
const FIRST: u16 = 20_000;
/// How many there are: 20000 to 29399.
const COUNT: u16 = 9_400;

/// Neighbouring jobs are this far apart. Prime to [`COUNT`], so that all ports are used before one comes again.
const JOB_STRIDE: u64 = 193;
/// Array tasks count like jobs, but not like the next jobs.
const TASK_STRIDE: u64 = 1_061;
/// Neighbouring steps are two apart: the port in between is the same step's, for its preflight.
const STEP_STRIDE: u64 = 2;

/// The two ports of a launch, the same on all nodes: for its store, and for its preflight.
///
/// Those that Slurm keeps free for the step, where it does; the last of them, since the process manager of an MPI takes
/// the first. Else a function of cluster, job and step id. Not a plain hash: the job id and the step id move it by fixed
/// strides, so that jobs and steps with neighbouring ids, which may share a node, never meet on one port.
fn of_allocation(allocation: &Allocation) -> (u16, u16, &'static str) {
    if let Some((first, last)) = allocation.reserved_ports().and_then(last_reserved) {
        return (last, first, "kept free for the step (SLURM_STEP_RESV_PORTS)");
    }
    // Without any id the nodes tell one launch from another.
    let nodes = || allocation.nodes().ok().flatten().map(|nodes| nodes.hosts.text().to_owned());
    let id = allocation.job_id().map(str::to_owned).or_else(nodes);
    let port = of_ids(allocation.get(Variable::ClusterName), id.as_deref(), allocation.step_id());
    (port, port + 1, "from cluster, job and step id")
}

/// The last two of reserved ports such as `23001-23003,23010`; `None` for fewer than three.
fn last_reserved(text: &str) -> Option<(u16, u16)> {
    let mut ports = Vec::new();
    for part in text.split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (low, high): (u16, u16) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
        ports.extend((low..=high).rev().take(3).collect::<Vec<_>>().into_iter().rev());
    }
    match ports[..] {
        [_, .., first, last] if first > 0 => Some((first, last)),
        _ => None,
    }
}

/// The port of a launch's preflight.
pub(super) fn of_preflight(allocation: &Allocation) -> u16 {
    of_allocation(allocation).1
}

/// The port of a derived endpoint: the user's, else the launch's.
pub(super) fn decide(here: &Here<'_>) -> Decision<u16> {
    if let Some(port) = here.settings.port {
        return Decision::new(port, "of TORCHRUN_JSC_PORT");
    }
    let (port, _, source) = of_allocation(here.allocation);
    let note = match here.node.ephemeral_ports {
        Some((low, high)) if (low..=high).contains(&port) => {
            format!(" (inside this system's ephemeral range {low}-{high}; TORCHRUN_JSC_PORT chooses another)")
        }
        _ => String::new(),
    };
    Decision::new(port, format!("{source}{note}"))
}

fn of_ids(cluster: Option<&str>, job: Option<&str>, step: Option<&str>) -> u16 {
    let (job, task) = job.map_or(("", ""), |job| job.split_once('_').unwrap_or((job, "")));
    let count = u64::from(COUNT);
    let offset = hash(cluster.unwrap_or_default()) % count
        + number(job) % count * JOB_STRIDE
        + number(task) % count * TASK_STRIDE
        + number(step.unwrap_or_default()) % count * STEP_STRIDE;
    FIRST + u16::try_from(offset % count).expect("smaller than COUNT")
}

/// The number that `id` is, the hash of anything else, 0 for nothing.
pub(super) fn number(id: &str) -> u64 {
    if id.is_empty() {
        return 0;
    }
    id.parse().unwrap_or_else(|_| hash(id))
}

fn hash(text: &str) -> u64 {
    let mut hasher = FnvHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn port(job: &str, step: &str) -> u16 {
        of_ids(Some("lab"), Some(job), Some(step))
    }

    #[test]
    fn ten_thousand_jobs_use_all_ports() {
        let ports: HashSet<u16> = (4_000_000..4_010_000).map(|job| port(&job.to_string(), "0")).collect();
        assert_eq!(ports.len(), usize::from(COUNT));
        assert!(ports.iter().all(|port| (FIRST..FIRST + COUNT).contains(port)));
    }

    #[test]
    fn neighbours_never_meet() {
        let mut seen = HashSet::new();
        for job in 0..20 {
            for step in 0..40 {
                let port = port(&(77_000 + job).to_string(), &step.to_string());
                assert!(seen.insert(port) && seen.insert(port + 1), "job {job} step {step}");
            }
        }
        let tasks: HashSet<u16> = (0..1000).map(|task| port(&format!("1234_{task}"), "0")).collect();
        assert_eq!(tasks.len(), 1000);
        assert!(!tasks.contains(&port("1235", "0")) && !tasks.contains(&port("1236", "0")));
    }

    #[test]
    fn unusual_ids_have_a_port() {
        for (job, step) in [("1234_7", "0"), ("88", "batch"), ("4294967295", "4294967291"), ("", ""), ("x", "extern")] {
            assert!((FIRST..FIRST + COUNT).contains(&port(job, step)), "{job} {step}");
        }
    }

    #[test]
    fn reserved_ports() {
        assert_eq!(last_reserved("23001-23003"), Some((23_002, 23_003)));
        assert_eq!(last_reserved("23001-23002,23010"), Some((23_002, 23_010)));
        assert_eq!(last_reserved("1-65535"), Some((65_534, 65_535)));
        for text in ["", "23001", "23001-23002", "x-y", "5-", "70000-70009", "9-3"] {
            assert_eq!(last_reserved(text), None, "{text}");
        }
    }

    #[test]
    fn is_the_same_in_every_release() {
        assert_eq!(of_ids(Some("juwels"), Some("4711"), Some("0")), 21_724);
    }
}
