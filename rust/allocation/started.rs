//! Who started this process: each source is believed as far as no other one proves it wrong.

use crate::environ::{Environ, Variable};
use crate::mpi::{Process, LAUNCHERS};
use crate::node::Node;
use crate::slurm::Nodes;
use crate::{Error, Result};

use super::step_ids::{is_interactive, is_special};

/// Who started this process.
#[derive(Debug, Clone, Copy)]
pub enum Started {
    /// `srun`: it is a task of a step.
    Srun,
    /// An MPI launcher, inside an allocation or without one.
    Mpi(Process),
    /// Neither: a batch script, a shell, ssh.
    Otherwise,
}

/// Who started this process, and what is not believed: a line each.
///
/// # Errors
/// [`Error::Setting`] for numbers that are none, and for two MPI launchers that contradict each other.
pub(super) fn find(environ: &Environ, node: Node<'_>) -> Result<(Started, Vec<String>)> {
    let mut doubts = Vec::new();
    let in_step = is_in_step(environ, node.hostname, &mut doubts);
    let otherwise = if in_step { Started::Srun } else { Started::Otherwise };
    let said = Process::all(environ)?;
    if said.is_empty() {
        return Ok((otherwise, doubts));
    }
    let step = StepNumbers::read(environ, in_step)?;
    let starter = Starter::find(node);
    let (believed, left): (Vec<_>, Vec<_>) = match &starter {
        Starter::Daemon(name) if said.iter().any(|process| process.launcher.is_daemon(name)) => {
            said.into_iter().partition(|process| process.launcher.is_daemon(name))
        }
        Starter::Slurm => (Vec::new(), said),
        // What agrees with Slurm is Slurm's: `srun --mpi=pmi2` sets PMI_RANK too.
        _ => said.into_iter().partition(|process| !step.agrees(process)),
    };
    let strangers = left.iter().filter(|process| !step.agrees(process));
    doubts.extend(
        strangers.map(|process| ignored(process, &format!("{} has not started this process", process.launcher.name))),
    );
    let Some((first, rest)) = believed.split_first() else { return Ok((otherwise, doubts)) };
    if let Some(other) = rest.iter().find(|other| other.rank != first.rank) {
        let reason =
            format!("contradicts {}: this process was started by two launchers; unset the outer one's", first.said());
        return Err(Error::setting(other.launcher.rank.name(), other.rank.to_string(), reason));
    }
    if let Some(doubt) = step.doubt(first).filter(|_| matches!(starter, Starter::Unknown)) {
        doubts.push(ignored(first, &doubt));
        return Ok((otherwise, doubts));
    }
    Ok((Started::Mpi(rest.iter().fold(*first, Process::with)), doubts))
}

fn ignored(process: &Process, why: &str) -> String {
    format!("{} is ignored: {why}", process.said())
}

/// What the parents of this process tell of its launcher.
enum Starter {
    /// The nearest of them is this daemon of an MPI launcher.
    Daemon(String),
    /// They are known up to Slurm's own, and no daemon is among them: an MPI launcher's variables are left from the
    /// process that submitted the job.
    Slurm,
    /// Nothing.
    Unknown,
}

impl Starter {
    fn find(node: Node<'_>) -> Self {
        for name in node.processes.parents() {
            if name.starts_with("slurmstepd") {
                return Self::Slurm;
            }
            if LAUNCHERS.iter().any(|launcher| launcher.is_daemon(&name)) {
                return Self::Daemon(name);
            }
        }
        Self::Unknown
    }
}

/// Whether Slurm's variables are those of a step that `srun` made and that this process is in: there is a list of its
/// nodes, its id is none of Slurm's own, and the job's list and this node do not prove the list wrong.
fn is_in_step(environ: &Environ, hostname: &str, doubts: &mut Vec<String>) -> bool {
    let id = environ.get(Variable::StepId);
    let Some(text) = environ.get(Variable::StepNodelist) else { return false };
    if let Some(id) = id.filter(|id| is_special(id)) {
        if !is_interactive(id) {
            doubts.push(format!("SLURM_STEP_NODELIST={text} is ignored: step {id} is none that srun made"));
        }
        return false;
    }
    let (Ok(step), Some(Ok(job))) = (
        Nodes::parse("SLURM_STEP_NODELIST", text),
        environ.get(Variable::JobNodelist).map(|text| Nodes::parse("SLURM_JOB_NODELIST", text)),
    ) else {
        // A list that cannot be read is said where it is needed.
        return true;
    };
    let is_shared = step.hosts.names().any(|name| job.hosts.position(&name).is_some());
    if !is_shared {
        doubts.push(format!("the step's variables are ignored: {text} has no node of this job, {}", job.hosts.text()));
        return false;
    }
    let names = [Some(hostname), environ.get(Variable::NodeName)];
    let here = names.into_iter().flatten().find(|name| job.place(name).is_some());
    if let Some(name) = here.filter(|name| step.place(name).is_none()) {
        doubts.push(format!("the step's variables are ignored: {text} lacks this node, {name}"));
        return false;
    }
    true
}

/// The numbers of a process in its step.
struct StepNumbers {
    task: Option<usize>,
    tasks: Option<usize>,
    nodes: Option<usize>,
    local: usize,
    in_step: bool,
}

impl StepNumbers {
    fn read(environ: &Environ, in_step: bool) -> Result<Self> {
        let number = |variable| if in_step { environ.number(variable) } else { Ok(None) };
        Ok(Self {
            task: number(Variable::ProcId)?,
            tasks: number(Variable::StepNumTasks)?,
            nodes: number(Variable::StepNumNodes)?.or_else(|| listed_nodes(environ, in_step)),
            local: number(Variable::LocalId)?.unwrap_or(0),
            in_step,
        })
    }

    fn agrees(&self, process: &Process) -> bool {
        let is_size = process.size.is_none() || self.tasks.is_none() || process.size == self.tasks;
        let is_local = process.local_rank.is_none_or(|local| local == self.local);
        self.task == Some(process.rank) && is_size && is_local
    }

    /// Why the step is not one of a launcher's daemons, of which each node has one.
    fn doubt(&self, process: &Process) -> Option<String> {
        let is_of_daemons = self.local == 0 && (self.tasks.is_none() || self.tasks == self.nodes);
        (self.in_step && !is_of_daemons).then(|| {
            let task = self.task.map_or_else(|| "none".to_owned(), |task| task.to_string());
            let name = process.launcher.name;
            format!(
                "the step has several tasks a node, so that none of them is a daemon of {name}; SLURM_PROCID is {task}"
            )
        })
    }
}

fn listed_nodes(environ: &Environ, in_step: bool) -> Option<usize> {
    let text = environ.get(Variable::StepNodelist).filter(|_| in_step)?;
    Nodes::parse("SLURM_STEP_NODELIST", text).ok().map(|nodes| nodes.hosts.len())
}
