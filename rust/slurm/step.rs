//! What Slurm says about this process's step.

use crate::environ::{Environ, Variable};
use crate::Result;

use super::nodes::Nodes;
use super::tasks::TaskCounts;

/// Stands in messages for a node list that a caller gave.
const GIVEN_NODELIST: &str = "nodelist";

/// A step, read when asked: a variable that nobody needs cannot be an error.
#[derive(Debug, Clone, Default)]
pub struct Step {
    environ: Environ,
    /// The caller's node list instead of Slurm's.
    given_nodelist: Option<String>,
}

impl Step {
    /// The step of a process with this environment.
    #[must_use]
    pub fn new(environ: Environ) -> Self {
        Self { environ, given_nodelist: None }
    }

    /// The same step on the nodes of this list.
    #[must_use]
    pub fn on_nodes(self, expression: &str) -> Self {
        Self { given_nodelist: Some(expression.trim().to_owned()), ..self }
    }

    /// The value of a variable.
    #[must_use]
    pub fn get(&self, variable: Variable) -> Option<&str> {
        self.environ.get(variable)
    }

    /// The value of a variable as a number.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] where it is none.
    pub fn number(&self, variable: Variable) -> Result<Option<usize>> {
        self.environ.number(variable)
    }

    /// Whether this process was started by `srun`, and not by the batch script, ssh or mpirun inside an allocation.
    #[must_use]
    pub fn is_inside(&self) -> bool {
        self.get(Variable::StepId).is_some() || self.get(Variable::StepNodelist).is_some()
    }

    /// Whether there is an allocation at all.
    #[must_use]
    pub fn is_allocated(&self) -> bool {
        self.get(Variable::JobId).is_some() || self.is_inside()
    }

    /// Whether this process is the first task of its node, as far as Slurm says.
    #[must_use]
    pub fn is_first_of_node(&self) -> bool {
        self.number(Variable::LocalId).is_ok_and(|id| id.unwrap_or(0) == 0)
    }

    /// The nodes of the step, or of the allocation where no step is known.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] that names the variable where its value is not a node list.
    pub fn nodes(&self) -> Result<Option<Nodes>> {
        if let Some(given) = &self.given_nodelist {
            return Nodes::parse(GIVEN_NODELIST, given).map(Some);
        }
        let variables = [Variable::StepNodelist, Variable::JobNodelist, Variable::Nodelist];
        variables.into_iter().find_map(|variable| self.nodes_in(variable)).transpose()
    }

    /// The nodes that `--nnodes=auto` counts: those of [`Step::nodes`], where there is an allocation.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] as for [`Step::nodes`].
    pub fn allocated_nodes(&self) -> Result<Option<Nodes>> {
        if self.is_allocated() {
            self.nodes()
        } else {
            Ok(None)
        }
    }

    /// Whether the nodes are a caller's own, in the caller's order.
    #[must_use]
    pub fn has_given_nodes(&self) -> bool {
        self.given_nodelist.is_some()
    }

    fn nodes_in(&self, variable: Variable) -> Option<Result<Nodes>> {
        self.get(variable).map(|text| Nodes::parse(&variable.name(), text))
    }

    /// The groups of a heterogeneous job; empty for any other job, and where a group's list is missing.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] as for [`Step::nodes`].
    pub fn het_groups(&self) -> Result<Vec<Nodes>> {
        let size = self.number(Variable::HetSize)?.unwrap_or(0);
        let group = |group| {
            self.nodes_in(Variable::HetNodelist(group)).or_else(|| self.nodes_in(Variable::PackNodelist(group)))
        };
        let groups: Option<Vec<_>> = (0..size).map(group).collect();
        groups.unwrap_or_default().into_iter().collect()
    }

    /// How many nodes the step has.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] where it is not a number.
    pub fn num_nodes(&self) -> Result<Option<usize>> {
        self.number(Variable::StepNumNodes)
    }

    /// The number of tasks of the step, or of the allocation where no step is known.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] where it is not a number.
    pub fn tasks(&self) -> Result<Option<usize>> {
        match self.number(Variable::StepNumTasks)? {
            Some(tasks) => Ok(Some(tasks)),
            None => self.number(Variable::Ntasks),
        }
    }

    /// Tasks on each node, in node order.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] where it is not in Slurm's form (`4(x2),3`).
    pub fn tasks_per_node(&self) -> Result<Option<TaskCounts>> {
        [Variable::StepTasksPerNode, Variable::TasksPerNode]
            .into_iter()
            .find_map(|variable| self.get(variable).map(|text| TaskCounts::parse(&variable.name(), text)))
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn step(pairs: &[(&str, &str)]) -> Step {
        let map: BTreeMap<_, _> = pairs.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        Step::new(Environ::read(|name| map.get(name).cloned()))
    }

    fn names(nodes: &Nodes) -> Vec<String> {
        nodes.hosts.names().collect()
    }

    #[test]
    fn the_step_comes_before_the_job() {
        let step =
            step(&[("SLURM_JOB_NODELIST", "a[01-04]"), ("SLURM_STEP_NODELIST", "a[03-04]"), ("SLURM_NODELIST", "b1")]);
        let nodes = step.nodes().unwrap().unwrap();
        assert_eq!((nodes.variable.as_str(), names(&nodes)), ("SLURM_STEP_NODELIST", vec!["a03".into(), "a04".into()]));
        assert!(step.is_inside());
        let given = step.on_nodes(" c[1-2] ").nodes().unwrap().unwrap();
        assert_eq!((given.variable.as_str(), names(&given)), ("nodelist", vec!["c1".into(), "c2".into()]));
    }

    #[test]
    fn absent_empty_and_null_are_the_same() {
        for value in ["", " ", "(null)", " (null) "] {
            let step = step(&[("SLURM_STEP_NODELIST", value), ("SLURM_NODEID", value), ("SLURM_NODELIST", "c1")]);
            assert_eq!(step.nodes().unwrap().unwrap().variable, "SLURM_NODELIST");
            assert_eq!(step.number(Variable::NodeId), Ok(None));
            assert!(!step.is_inside());
        }
    }

    #[test]
    fn garbage_is_an_error_that_names_the_variable_only_when_asked() {
        let step =
            step(&[("SLURM_NODEID", "x"), ("SLURM_STEP_NODELIST", "n[1-"), ("SLURM_STEP_TASKS_PER_NODE", "4(x")]);
        let error = step.number(Variable::NodeId).unwrap_err().to_string();
        assert_eq!(error, "SLURM_NODEID=\"x\": not a number from 0 to 4294967295");
        assert!(step.nodes().unwrap_err().to_string().starts_with("SLURM_STEP_NODELIST=\"n[1-\": not a node list: "));
        assert!(step.tasks_per_node().unwrap_err().to_string().starts_with("SLURM_STEP_TASKS_PER_NODE=\"4(x\": "));
        let bomb = self::step(&[("SLURM_STEP_NODELIST", "n[0-65535][0-65535]")]);
        let message =
            "SLURM_STEP_NODELIST=\"n[0-65535][0-65535]\": stands for 4294967296 nodes, more than any cluster has";
        assert_eq!(bomb.nodes().unwrap_err().to_string(), message);
    }

    #[test]
    fn the_first_task_of_a_node_speaks_for_it() {
        for (id, first) in [("0", true), (" 00 ", true), ("", true), ("1", false), ("x", false)] {
            assert_eq!(step(&[("SLURM_LOCALID", id)]).is_first_of_node(), first, "{id:?}");
        }
    }

    #[test]
    fn the_groups_of_a_het_job_are_one_list() {
        for variable in ["SLURM_JOB_NODELIST_HET_GROUP_", "SLURM_JOB_NODELIST_PACK_GROUP_"] {
            let (first, second) = (format!("{variable}0"), format!("{variable}1"));
            let step = step(&[("SLURM_HET_SIZE", "2"), (&first, "g1"), (&second, "g[5-6]")]);
            let groups = step.het_groups().unwrap();
            assert_eq!(names(&Nodes::join(&groups.iter().collect::<Vec<_>>()).unwrap()), ["g1", "g5", "g6"]);
        }
    }
}
