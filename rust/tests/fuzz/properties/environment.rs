use std::collections::{BTreeMap, BTreeSet};

use torchrun_jsc::environ::Environ;
use torchrun_jsc::launched::Launched;
use torchrun_jsc::node::Node;
use torchrun_jsc::plan::{endpoint, Endpoint, Given};
use torchrun_jsc::settings::Settings;
use torchrun_jsc::Result;

use super::assert_harmless;
use super::node::Made;

/// The nodes of the step, each with so many tasks.
const NODES: [&str; 3] = ["a01", "a02", "a03"];
const TASKS: usize = 2;

/// What slurmstepd sets for each task, and nobody else may make the same for all: then they are one task.
const OF_TASK: [&str; 5] = ["SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_GTIDS", "SLURMD_NODENAME"];

/// Lines such as `SLURM_STEP_ID=-5`: what all tasks of a step have inherited, been handed, or, with nothing behind the sign,
/// not been given. Tasks that have a rank have the same endpoint and different ranks, and rank 0 is on the host.
pub fn environment(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines: BTreeMap<_, _> = text.lines().filter_map(|line| line.split_once('=')).collect();
    // The user's own word, which is kept.
    lines.retain(|name, _| !["RANK", "MASTER_ADDR", "GROUP_RANK", "TORCHELASTIC_RUN_ID"].contains(name));
    // One of them at a time can be told from the others.
    let handed: Vec<_> = OF_TASK.into_iter().filter(|name| lines.contains_key(name)).skip(1).collect();
    lines.retain(|name, _| !handed.contains(name));
    // A launcher that has started these tasks would have told each of them another rank.
    lines.retain(|name, _| !name.ends_with("_RANK") && !name.ends_with("RANKID"));

    let names: Vec<_> = NODES.map(String::from).to_vec();
    let places = (0..NODES.len()).flat_map(|node| (0..TASKS).map(move |local| (node, local)));
    let found: Vec<_> = places.filter_map(|(node, local)| answer(&lines, &names, node, local)).collect();
    // One that is told no rank is in no step: what it is told besides is of the job.
    let found: Vec<_> = found.into_iter().filter(|task| task.rank.is_some()).collect();
    // What a node cannot prove it is told in a line.
    let silent = found.iter().filter(|task| task.warnings.is_empty());
    let endpoints: BTreeSet<_> = silent.map(|task| task.host_port.to_string()).collect();
    assert!(endpoints.len() <= 1, "{found:#?}");
    let ranks: Vec<_> = found.iter().filter_map(|task| task.rank).collect();
    assert_eq!(ranks.iter().collect::<BTreeSet<_>>().len(), ranks.len(), "{found:#?}");
    for task in found.iter().filter(|task| task.rank == Some(0) && task.warnings.is_empty()) {
        assert!(task.host_node.is_none() || task.host_node.as_ref() == Some(&task.node), "{task:#?}");
    }
}

/// What a task is told, if it is no error.
fn answer(lines: &BTreeMap<&str, &str>, names: &[String], node: usize, local: usize) -> Option<Endpoint> {
    let made = Made { number: u8::try_from(node).unwrap(), names };
    let table = made.table();
    let here = Node { hostname: &names[node], table: &table, resolver: &made, ephemeral_ports: None, processes: &made };
    let environ = environ(lines, node, local);
    let get = |name: &str| environ.get(name).cloned();
    let decide = || -> Result<Endpoint> {
        let settings = Settings { host_node_rank: None, ..Settings::default() };
        endpoint(settings, Given::default(), Environ::read(get), &Launched::read(get)?, here)
    };
    match decide() {
        Ok(found) => Some(found),
        Err(error) => {
            assert_harmless(&error);
            None
        }
    }
}

/// The environment of a task, with what is the same for all tasks laid over it.
fn environ(lines: &BTreeMap<&str, &str>, node: usize, local: usize) -> BTreeMap<String, String> {
    let all = NODES.len() * TASKS;
    let is_cyclic = lines.get("SLURM_DISTRIBUTION").is_some_and(|value| value.starts_with(['c', 'C', 'p', 'P']));
    let number = |local: usize| if is_cyclic { node + NODES.len() * local } else { node * TASKS + local };
    let gtids: Vec<_> = (0..TASKS).map(|local| number(local).to_string()).collect();
    let mut environ: BTreeMap<String, String> = [
        ("SLURM_JOB_ID", "4711".to_owned()),
        ("SLURM_STEP_ID", "0".to_owned()),
        ("SLURM_CLUSTER_NAME", "lab".to_owned()),
        ("SLURM_JOB_NODELIST", "a[01-03]".to_owned()),
        ("SLURM_STEP_NODELIST", "a[01-03]".to_owned()),
        ("SLURM_STEP_NUM_NODES", NODES.len().to_string()),
        ("SLURM_STEP_NUM_TASKS", all.to_string()),
        ("SLURM_NTASKS", all.to_string()),
        ("SLURM_STEP_TASKS_PER_NODE", format!("{TASKS}(x{})", NODES.len())),
        ("SLURM_DISTRIBUTION", "block".to_owned()),
        ("SLURM_NODEID", node.to_string()),
        ("SLURM_PROCID", number(local).to_string()),
        ("SLURM_LOCALID", local.to_string()),
        ("SLURM_GTIDS", gtids.join(",")),
        ("SLURMD_NODENAME", NODES[node].to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    for (name, value) in lines {
        if value.is_empty() {
            environ.remove(*name);
        } else {
            environ.insert((*name).to_owned(), (*value).to_owned());
        }
    }
    environ
}
