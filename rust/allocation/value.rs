//! An allocation as the rules ask for it.

use crate::environ::{Environ, Variable};
use crate::mpi::LAUNCHERS;
use crate::node::Node;
use crate::slurm::{ordered, Nodes, Ordered, TaskCounts};
use crate::Result;

use super::started::{self, Started};
use super::step_ids::is_special;

/// The allocation of this process, read when asked: a variable that nobody needs cannot be an error.
#[derive(Debug, Clone)]
pub struct Allocation {
    environ: Environ,
    given: Option<GivenNodes>,
    started: Started,
    /// What of the environment is not believed, a line each.
    pub doubts: Vec<String>,
}

/// The user's own list of nodes.
#[derive(Debug, Clone)]
pub struct GivenNodes {
    /// The variable or argument it was given by.
    pub name: &'static str,
    /// The list.
    pub expression: String,
}

impl Allocation {
    /// The allocation of a process with this environment on this node.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] where the sources contradict each other and none is proven wrong.
    pub fn new(environ: Environ, given: Option<GivenNodes>, node: Node<'_>) -> Result<Self> {
        let (started, doubts) = started::find(&environ, node)?;
        Ok(Self { environ, given, started, doubts })
    }

    /// Whether an environment is that of an allocation at all, whoever started the process.
    #[must_use]
    pub fn is_one(environ: &Environ) -> bool {
        [Variable::JobId, Variable::StepId, Variable::StepNodelist, Variable::PbsJobId, Variable::FluxJobId]
            .into_iter()
            .any(|variable| environ.get(variable).is_some())
    }

    /// Who started this process.
    #[must_use]
    pub fn started(&self) -> Started {
        self.started
    }

    /// The variables that it was read from.
    #[must_use]
    pub fn environ(&self) -> &Environ {
        &self.environ
    }

    /// The value of a variable.
    #[must_use]
    pub fn get(&self, variable: Variable) -> Option<&str> {
        self.environ.get(variable)
    }

    /// Whether this process is a task of a step that `srun` made.
    #[must_use]
    pub fn is_task(&self) -> bool {
        matches!(self.started, Started::Srun)
    }

    /// Whether this process is one of several, started together: by `srun`, by an MPI launcher, or on each node of a list
    /// that the user gave.
    #[must_use]
    pub fn is_launched(&self) -> bool {
        !matches!(self.started, Started::Otherwise) || self.given.is_some()
    }

    /// Whether there is an allocation at all.
    #[must_use]
    pub fn is_allocated(&self) -> bool {
        self.is_launched() || Self::is_one(&self.environ)
    }

    /// Whether this process is the first of its node.
    #[must_use]
    pub fn is_first_of_node(&self) -> bool {
        self.local_id().is_ok_and(|id| id.unwrap_or(0) == 0)
    }

    /// Whether the user says which the nodes are.
    #[must_use]
    pub fn has_given_nodes(&self) -> bool {
        self.given.is_some()
    }

    /// The nodes: the user's, those of the step, else those of the job.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] that names the variable where its value is not a node list.
    pub fn nodes(&self) -> Result<Option<Nodes>> {
        if let Some(given) = &self.given {
            return Nodes::parse(given.name, &given.expression).map(Some);
        }
        let step = self.is_task().then_some(Variable::StepNodelist);
        let variables = step.into_iter().chain([Variable::JobNodelist, Variable::Nodelist]);
        variables.into_iter().find_map(|variable| self.nodes_in(variable)).transpose()
    }

    /// The nodes of the job, where this process is in a step of fewer.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] as for [`Allocation::nodes`].
    pub fn nodes_beyond_step(&self) -> Result<Option<usize>> {
        let (true, None) = (self.is_task(), &self.given) else { return Ok(None) };
        let (Some(step), Some(job)) = (self.nodes()?, self.nodes_in(Variable::JobNodelist).transpose()?) else {
            return Ok(None);
        };
        Ok((step.hosts.len() < job.hosts.len()).then(|| job.hosts.len()))
    }

    fn nodes_in(&self, variable: Variable) -> Option<Result<Nodes>> {
        self.get(variable).map(|text| Nodes::parse(&variable.name(), text))
    }

    /// The nodes in the order of their ids, where the node called `name` looks for itself among them.
    ///
    /// `wanted` is the number of nodes of the launch, where there is one. A launch on one node needs no groups.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] for a list or a number that cannot be read.
    pub fn ordered_nodes(&self, name: &str, wanted: Option<usize>) -> Result<Option<Ordered>> {
        let Some(nodes) = self.nodes()? else { return Ok(None) };
        // A list that the user gave has the user's order; Slurm's counts have that of its own list.
        if self.has_given_nodes() {
            let listed = if self.is_task() { self.nodes_in(Variable::StepNodelist).transpose()? } else { None };
            let is_same = |listed: &Nodes| {
                listed.hosts.len() == nodes.hosts.len() && nodes.hosts.names().all(|node| listed.place(&node).is_some())
            };
            return Ok(Some(Ordered { listed: listed.filter(is_same), nodes, groups: Vec::new() }));
        }
        // mpirun counts nodes by the job's list.
        let is_grouped = wanted != Some(1) && self.is_task();
        let groups = if is_grouped { self.het_groups()? } else { Vec::new() };
        let expected = self.environ.number(Variable::StepNumNodes)?.or(wanted);
        Ok(Some(ordered(nodes, groups, expected, name)))
    }

    /// The groups of a heterogeneous job; empty for any other job, and where a group's list is missing.
    fn het_groups(&self) -> Result<Vec<Nodes>> {
        let size = self.environ.number(Variable::HetSize)?.unwrap_or(0);
        let group = |group| {
            self.nodes_in(Variable::HetNodelist(group)).or_else(|| self.nodes_in(Variable::PackNodelist(group)))
        };
        let groups: Option<Vec<_>> = (0..size).map(group).collect();
        groups.unwrap_or_default().into_iter().collect()
    }

    /// What the scheduler calls this node. An MPI launcher hands the name of its own node to all of them.
    #[must_use]
    pub fn node_name(&self) -> Option<&str> {
        match self.started {
            Started::Mpi(_) => None,
            _ => self.get(Variable::NodeName),
        }
    }

    /// Whether an MPI launcher has been at work, which hands the environment of its own node to all of them.
    #[must_use]
    pub fn is_handed_on(&self) -> bool {
        LAUNCHERS.iter().any(|launcher| self.get(launcher.rank).is_some())
    }

    /// The number of this node in its step. In a batch script `SLURM_NODEID` is the script's own; under ssh and mpirun it
    /// may be another node's.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] where it is not a number.
    pub fn node_id(&self) -> Result<Option<usize>> {
        self.of_task(Variable::NodeId)
    }

    /// The number of this process on its node.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] where it is not a number.
    pub fn local_id(&self) -> Result<Option<usize>> {
        match self.started {
            Started::Mpi(process) => Ok(process.local_rank),
            _ => self.of_task(Variable::LocalId),
        }
    }

    /// The number of this process among all, with the variable that says it.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] where it is not a number.
    pub fn process_id(&self) -> Result<Option<(usize, Variable)>> {
        match self.started {
            Started::Mpi(process) => Ok(Some((process.rank, process.launcher.rank))),
            _ => Ok(self.of_task(Variable::ProcId)?.map(|id| (id, Variable::ProcId))),
        }
    }

    fn of_task(&self, variable: Variable) -> Result<Option<usize>> {
        if self.is_task() {
            self.environ.number(variable)
        } else {
            Ok(None)
        }
    }

    /// The number of processes that were started together.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] where it is not a number.
    pub fn processes(&self) -> Result<Option<usize>> {
        match self.started {
            Started::Mpi(process) => Ok(process.size),
            Started::Srun => match self.environ.number(Variable::StepNumTasks)? {
                Some(tasks) => Ok(Some(tasks)),
                // The job's number is not that of a smaller step.
                None if self.nodes_beyond_step()?.is_some() => Ok(None),
                None => self.environ.number(Variable::Ntasks),
            },
            Started::Otherwise => Ok(None),
        }
    }

    /// Processes on each node, in node order, where they are told.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] where it is not in Slurm's form (`4(x2),3`).
    pub fn processes_per_node(&self) -> Result<Option<TaskCounts>> {
        if !self.is_task() {
            return Ok(None);
        }
        let of_job = if self.nodes_beyond_step()?.is_some() { None } else { Some(Variable::TasksPerNode) };
        let variables = [Some(Variable::StepTasksPerNode), of_job];
        let parse = |variable: Variable| self.get(variable).map(|text| TaskCounts::parse(&variable.name(), text));
        variables.into_iter().flatten().find_map(parse).transpose()
    }

    /// The variables of the rank, the number of processes and the number on the node, for messages.
    #[must_use]
    pub fn names(&self) -> [Variable; 3] {
        if let Started::Mpi(process) = self.started {
            let launcher = process.launcher;
            let rank = launcher.rank;
            return [rank, launcher.size.unwrap_or(rank), launcher.local_rank.unwrap_or(rank)];
        }
        let is_of_step = self.get(Variable::StepNumTasks).is_some();
        let size = if is_of_step { Variable::StepNumTasks } else { Variable::Ntasks };
        [Variable::ProcId, size, Variable::LocalId]
    }

    /// The number of processes on this node, where the launcher says it of each.
    #[must_use]
    pub fn local_size(&self) -> Option<usize> {
        match self.started {
            Started::Mpi(process) => process.local_size,
            _ => None,
        }
    }

    /// The id of the job.
    #[must_use]
    pub fn job_id(&self) -> Option<&str> {
        [Variable::JobId, Variable::PbsJobId, Variable::FluxJobId].into_iter().find_map(|variable| self.get(variable))
    }

    /// The id of the step; a batch script has none.
    #[must_use]
    pub fn step_id(&self) -> Option<&str> {
        self.get(Variable::StepId).filter(|id| self.is_task() && !is_special(id))
    }

    /// The ports that Slurm keeps free for the step. The components of a heterogeneous job have each their own, and so has the
    /// step of an MPI launcher's daemons, which has not all of the launch's nodes: these are not taken.
    #[must_use]
    pub fn reserved_ports(&self) -> Option<&str> {
        self.get(Variable::StepResvPorts).filter(|_| self.is_task() && !self.is_heterogeneous())
    }

    /// Whether the job has components.
    #[must_use]
    pub fn is_heterogeneous(&self) -> bool {
        self.environ.number(Variable::HetSize).is_ok_and(|size| size.is_some_and(|size| size > 1))
    }

    /// What tells a task of a step from a batch script, and contradicts that there is no step: for messages.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] where it is not a number.
    pub fn signs_of_a_step(&self) -> Result<Option<String>> {
        // A list of a step that is there and not believed says that all of the step's variables are not.
        if self.is_launched() || self.get(Variable::StepNodelist).is_some() {
            return Ok(None);
        }
        if let Some(id) = self.get(Variable::StepId).filter(|id| !is_special(id)) {
            return Ok(Some(format!("SLURM_STEP_ID={id}")));
        }
        for variable in [Variable::ProcId, Variable::NodeId, Variable::LocalId] {
            if let Some(number) = self.environ.number(variable)?.filter(|&number| number > 0) {
                return Ok(Some(format!("{}={number}", variable.name())));
            }
        }
        Ok(None)
    }
}
