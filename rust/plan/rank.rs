//! The rank of a task, and what contradicts it.

use crate::environ::Variable;
use crate::launched::Launched;
use crate::slurm::TaskCounts;
use crate::Result;

use super::decision::Decision;
use super::here::Here;
use super::store::Store;

/// `SLURM_PROCID`, or, where task 0 may not be on the host node, the tasks counted node by node from there.
pub(super) fn of_task(here: &Here<'_>, launched: &Launched) -> Result<Option<Decision<usize>>> {
    if let Some(rank) = launched.rank {
        return Ok(Some(Decision::new(rank, "RANK")));
    }
    let (step, identity) = (here.step, here.identity);
    if !step.is_inside() {
        return Ok(None);
    }
    let host = here.settings.host_rank();
    let arbitrary = step.get(Variable::Distribution).is_some_and(|name| name.contains("arbitrary"));
    if host == 0 && !arbitrary {
        return Ok(step.number(Variable::ProcId)?.map(|id| Decision::new(id, "SLURM_PROCID")));
    }
    let (Some(counts), Some(node), Some(local)) =
        (step.tasks_per_node()?, identity.rank, step.number(Variable::LocalId)?)
    else {
        return Ok(None);
    };
    let (Some(place), Some(first)) = (identity.counted_place(node), identity.counted_place(host)) else {
        return Ok(None);
    };
    Ok(counted(&counts, place, local, first, identity.nnodes())
        .map(|rank| Decision::new(rank, format!("the tasks counted node by node, from node {host}"))))
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

/// What the environment says and Slurm contradicts. What torchrun set is its own matter.
pub(super) fn contradictions(here: &Here<'_>, launched: &Launched, store: &Store) -> Result<Vec<String>> {
    if launched.is_elastic || !here.step.is_inside() {
        return Ok(Vec::new());
    }
    let pairs = [
        ("RANK", launched.rank, "SLURM_PROCID", here.step.number(Variable::ProcId)?),
        ("WORLD_SIZE", launched.world_size, "SLURM_NTASKS", here.step.tasks()?),
        ("LOCAL_RANK", launched.local_rank, "SLURM_LOCALID", here.step.number(Variable::LocalId)?),
    ];
    let mut lines: Vec<String> = pairs
        .into_iter()
        .filter_map(|(name, set, slurm_name, slurm)| {
            let (set, slurm) = (set?, slurm?);
            (set != slurm).then(|| format!("{name}={set} as set, although {slurm_name}={slurm}"))
        })
        .collect();
    let host = store.host();
    if here.identity.has_peers() && store.endpoint.value.is_loopback() {
        lines.push(format!("{host} is on loopback, which the other nodes of the step cannot reach"));
    }
    let first = here.settings.host_rank();
    if let (Some(position), None) = (store.host_rank().filter(|&position| position != first), launched.rank) {
        lines.push(format!("{host} is node {position} of the step, but rank 0 is on node {first}"));
    }
    Ok(lines)
}
