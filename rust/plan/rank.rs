//! The rank of a task, and what contradicts it.

use crate::allocation::Started;
use crate::environ::Variable;
use crate::launched::Launched;
use crate::slurm::TaskCounts;
use crate::{Error, Result};

use super::decision::Decision;
use super::here::Here;
use super::store::Store;

/// `RANK` as set; the MPI launcher's; `SLURM_PROCID` where that counts the tasks in the order of the nodes; else the tasks
/// counted node by node. Rank 0 is on the host node, or this is an error.
///
/// # Errors
/// [`Error::Setting`] where rank 0 is on another node, or may be.
pub(super) fn of_task(here: &Here<'_>, launched: &Launched, store: &Store) -> Result<Option<Decision<usize>>> {
    if let Some(rank) = launched.rank {
        return Ok(Some(Decision::new(rank, "RANK")));
    }
    match here.allocation.started() {
        Started::Mpi(process) => {
            check_first(here, store, process.rank, process.local_rank, process.launcher.rank)?;
            Ok(Some(Decision::new(process.rank, process.launcher.rank.name())))
        }
        Started::Srun => {
            let rank = of_srun(here, store)?;
            if let (Some(rank), Some(_)) = (&rank, store.derived_from) {
                check_first(here, store, rank.value, None, Variable::ProcId)?;
            }
            Ok(rank)
        }
        Started::Otherwise => Ok(None),
    }
}

/// Refuse a rank that is none of the tasks': where both come from the launcher, one of them is another launch's.
pub(super) fn check_size(here: &Here<'_>, rank: Option<usize>, size: Option<usize>) -> Result<()> {
    let [rank_name, size_name, _] = here.allocation.names();
    match (rank, size) {
        (Some(rank), Some(size)) if rank >= size => {
            let reason = format!("contradicts {}={size}, since ranks count from 0", size_name.name());
            Err(Error::setting(rank_name.name(), rank.to_string(), reason))
        }
        _ => Ok(()),
    }
}

/// Which variable that is set for this process shows that a program started it inside a task: then the task's rank is
/// not its own.
pub(super) fn started_inside(here: &Here<'_>, launched: &Launched) -> Result<Option<String>> {
    // A WORLD_SIZE by itself is that of a script that exports it.
    if launched.rank.is_some() || launched.local_rank.is_none() || launched.is_elastic {
        return Ok(None);
    }
    let [_, size_name, local_name] = here.allocation.names();
    let pairs = [
        ("LOCAL_RANK", launched.local_rank, local_name, here.allocation.local_id()?),
        ("WORLD_SIZE", launched.world_size, size_name, here.allocation.processes()?),
    ];
    let differs = |(name, set, other, number): (&str, Option<usize>, Variable, Option<usize>)| {
        let (set, number) = (set?, number?);
        (set != number).then(|| format!("{name}={set} contradicts {}={number}", other.name()))
    };
    Ok(pairs.into_iter().find_map(differs))
}

/// Rank 0 is on the host node; where the launcher fills one node after the other, it is the first process there.
fn check_first(here: &Here<'_>, store: &Store, rank: usize, local: Option<usize>, name: Variable) -> Result<()> {
    let (Some(host), Some(node)) = (store.host_rank(), here.identity.rank) else { return Ok(()) };
    if (local == Some(0) || rank == 0) && (node == host) != (rank == 0) {
        let reason = format!(
            "on node {}, number {node}, but the endpoint {} is on number {host}, where rank 0 should be; \
             TORCHRUN_JSC_HOST_NODE_RANK or MASTER_ADDR says where it is",
            here.identity.name, store.endpoint.value
        );
        return Err(Error::setting(name.name(), rank.to_string(), reason));
    }
    Ok(())
}

fn of_srun(here: &Here<'_>, store: &Store) -> Result<Option<Decision<usize>>> {
    let (allocation, identity) = (here.allocation, here.identity);
    let task = allocation.process_id()?.map(|(id, _)| id);
    let by_task = |reason: &str| Ok(task.map(|id| Decision::new(id, reason)));
    if let Some(contradiction) = &identity.contradiction {
        // Two components of one step have ids that do not follow the list, and each node its own name.
        let is_own = here.allocation.node_name().is_some_and(|name| {
            identity.nodes.as_ref().is_some_and(|nodes| nodes.place(name) == nodes.place(here.node.hostname))
        });
        if store.derived_from.is_none() && is_own {
            return by_task("SLURM_PROCID");
        }
        let id = allocation.node_id()?.unwrap_or_default();
        let reason = format!(
            "{}: rank 0 may be on another node than the endpoint; start one component with one srun, or set RANK and \
             MASTER_ADDR",
            contradiction.split_once(' ').map_or(contradiction.as_str(), |(_, rest)| rest)
        );
        return Err(Error::setting("SLURM_NODEID", id.to_string(), reason));
    }
    check_task(here, task)?;
    let host = here.settings.host_rank();
    let is_slurms = !allocation.has_given_nodes() || identity.listed.is_some();
    if !is_slurms {
        // Other nodes than the step's: Slurm's numbers are not theirs.
        return Ok(None);
    }
    // Task 0 is on the first node of Slurm's list, which may be another one than the first of the user's.
    let is_first = host == 0 && (!allocation.has_given_nodes() || identity.counted_place(host) == Some(0));
    // Each component of a heterogeneous step has a distribution of its own, and all tasks have to count alike.
    if is_first && !allocation.is_heterogeneous() && follows_nodes(allocation.get(Variable::Distribution)) {
        return by_task("SLURM_PROCID");
    }
    // The same question for all tasks: two ways of counting would give two of them one rank.
    match counts_of_step(here)? {
        Some(counts) => {
            let rank = counted(here, &counts, host)?;
            Ok(Some(Decision::new(rank, format!("the tasks counted node by node, from node {host}"))))
        }
        None if is_first => by_task("SLURM_PROCID"),
        None => Ok(None),
    }
}

/// Refuse numbers of a task that are not those of one: handed from another one.
///
/// `SLURM_GTIDS` lists the tasks of a node in the order of their local ids.
fn check_task(here: &Here<'_>, task: Option<usize>) -> Result<()> {
    let (Some(task), Some(local)) = (task, here.allocation.local_id()?) else { return Ok(()) };
    let bad = |reason: String| Err(Error::setting("SLURM_PROCID", task.to_string(), reason));
    if task < local {
        return bad(format!(
            "contradicts SLURM_LOCALID={local}, since a node counts from 0 too: one of them is another task's"
        ));
    }
    let Some(list) = here.allocation.get(Variable::Gtids) else { return Ok(()) };
    let listed = list.split(',').nth(local).and_then(|id| id.trim().parse::<usize>().ok());
    if listed.is_some_and(|listed| listed != task) {
        return bad(format!(
            "contradicts SLURM_GTIDS={list} with SLURM_LOCALID={local}: one of them is another task's"
        ));
    }
    Ok(())
}

/// Whether Slurm numbers the tasks in the order of the nodes' ids. With `block` they follow the switches of a topology
/// plugin (Slurm 26.05), with `arbitrary` a file of the user's.
///
/// <https://slurm.schedmd.com/srun.html#OPT_distribution>
fn follows_nodes(distribution: Option<&str>) -> bool {
    let first = distribution.and_then(|text| text.split(|c: char| !c.is_ascii_alphabetic()).next());
    first.is_some_and(|word| ["cyclic", "plane"].contains(&word.to_ascii_lowercase().as_str()))
}

/// The tasks of each node, where they are told and are those of this step.
fn counts_of_step(here: &Here<'_>) -> Result<Option<TaskCounts>> {
    let (Some(counts), Some(nodes)) = (here.allocation.processes_per_node()?, here.identity.nnodes()) else {
        return Ok(None);
    };
    let all = counts.before_node(nodes);
    // Counts of that many tasks are sums that have saturated.
    let is_of_step = all < usize::MAX
        && counts.on_node(nodes).is_none()
        && here.allocation.processes()?.is_none_or(|tasks| tasks == all);
    Ok(Some(counts).filter(|_| is_of_step))
}

/// The number of this task when tasks are counted node by node, beginning at node `first`.
fn counted(here: &Here<'_>, counts: &TaskCounts, first: usize) -> Result<usize> {
    let (identity, local) = (here.identity, here.allocation.local_id()?);
    let bad = |name: &str, value: String, reason: &str| Err(Error::setting(name, value, reason));
    let Some(local) = local else {
        return bad("SLURM_LOCALID", String::new(), "not set, so that the rank of this task is not known; set RANK");
    };
    let place = identity.rank.and_then(|rank| identity.counted_place(rank));
    let (Some(place), Some(first)) = (place, identity.counted_place(first)) else {
        return bad("SLURM_NODEID", String::new(), "not known, and so is the rank of this task; set RANK");
    };
    let (all, start) = (counts.before_node(identity.nnodes().unwrap_or(0)), counts.before_node(first));
    if counts.on_node(place).is_none_or(|tasks| local >= tasks) || start >= all {
        let reason = "contradicts the tasks of this node in SLURM_STEP_TASKS_PER_NODE; set RANK";
        return bad("SLURM_LOCALID", local.to_string(), reason);
    }
    let number = counts.before_node(place) + local;
    Ok(if number < start { number + (all - start) } else { number - start })
}

/// What the environment says and its launcher contradicts; `inside` is what [`started_inside`] found. What torchrun set is its
/// own matter.
pub(super) fn contradictions(
    here: &Here<'_>,
    launched: &Launched,
    store: &Store,
    inside: Option<&str>,
) -> Result<Vec<String>> {
    let allocation = here.allocation;
    if launched.is_elastic || !allocation.is_launched() {
        return Ok(Vec::new());
    }
    let [rank_name, size_name, local_name] = allocation.names();
    let node_rank = here.identity.rank.filter(|_| allocation.is_task());
    let pairs = [
        ("RANK", launched.rank, rank_name, allocation.process_id()?.map(|(id, _)| id)),
        ("WORLD_SIZE", launched.world_size, size_name, allocation.processes()?),
        ("LOCAL_RANK", launched.local_rank, local_name, allocation.local_id()?),
        ("NODE_RANK", launched.node_rank, Variable::NodeId, node_rank),
        ("TORCHRUN_JSC_NODE_RANK", here.settings.node_rank, Variable::NodeId, node_rank),
    ];
    let mut lines: Vec<String> = pairs
        .into_iter()
        // What a program has set for a process of its own is said below.
        .filter(|(name, ..)| inside.is_none() || !["LOCAL_RANK", "WORLD_SIZE"].contains(name))
        .filter_map(|(name, set, other, number)| {
            let (set, number) = (set?, number?);
            (set != number).then(|| format!("{name}={set} as set, although {}={number}", other.name()))
        })
        .collect();
    if let Some(sign) = inside {
        lines.push(format!("no RANK: {sign}, so that a program has started this process inside a task; set RANK too"));
    }
    let host = store.host();
    let is_on_loopback = store.addresses.iter().all(std::net::IpAddr::is_loopback);
    if here.identity.has_peers() && is_on_loopback && store.named.is_none() {
        lines.push(format!("{host} is on loopback, which the other nodes of the step cannot reach"));
    }
    let first = here.settings.host_rank();
    if let (Some(position), None) = (store.host_rank().filter(|&position| position != first), launched.rank) {
        lines.push(format!("{host} is node {position} of the step, but rank 0 is on node {first}"));
    }
    if !is_on_loopback && allocation.is_first_of_node() && here.identity.rank == Some(0) && store.is_outside(here) {
        lines.push(format!("{host} is none of the step's nodes by name or address: does rank 0 run there?"));
    }
    lines.extend(devices(here)?);
    Ok(lines)
}

/// Fewer devices to see than `LOCAL_RANK` counts to, as with `srun --gpus-per-task=1`: said once a node.
fn devices(here: &Here<'_>) -> Result<Option<String>> {
    let allocation = here.allocation;
    let lists = [Variable::CudaDevices, Variable::HipDevices, Variable::RocrDevices, Variable::ZeDevices];
    let Some((name, list)) = lists.iter().find_map(|&list| Some((list.name(), allocation.get(list)?))) else {
        return Ok(None);
    };
    let seen = list.split(',').filter(|device| !device.trim().is_empty()).count();
    let place = here.identity.rank.and_then(|rank| here.identity.counted_place(rank));
    let counts = allocation.processes_per_node()?;
    let counted = counts.and_then(|counts| counts.on_node(place?));
    let tasks = allocation.local_size().or(counted).unwrap_or(0);
    Ok((tasks > seen).then(|| {
        format!(
            "{name}={list} shows each of the {tasks} tasks of a node {seen} of its devices, but LOCAL_RANK goes to {}: use \
             device 0, or srun without --gpus-per-task",
            tasks - 1
        )
    }))
}
