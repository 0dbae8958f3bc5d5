//! An allocation and a step, out of an environment map.

use std::collections::BTreeMap;

use crate::hostlist::{Hostlist, MAX_EXPANDED};
use crate::{Error, Result};

pub use tasks::TaskCounts;

mod tasks;

/// The variables a [`Step`] is read from, apart from those of heterogeneous groups.
pub const VARIABLES: [&str; 19] = [
    "SLURM_STEP_NODELIST",
    "SLURM_JOB_NODELIST",
    "SLURM_NODELIST",
    "SLURM_NODEID",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NTASKS",
    "SLURM_STEP_NUM_NODES",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_STEP_TASKS_PER_NODE",
    "SLURM_TASKS_PER_NODE",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "SLURM_CLUSTER_NAME",
    "SLURM_DISTRIBUTION",
    "SLURM_RESTART_COUNT",
    "SLURM_HET_SIZE",
    "SLURMD_NODENAME",
    "SYSTEMNAME",
];

/// Stands in messages for a node list that a caller gave.
const GIVEN_NODELIST: &str = "nodelist";

/// Beginnings of the variables with the node lists of a heterogeneous job's groups. `srun` by itself, outside `salloc`
/// and `sbatch`, still sets the older ones only (Slurm 22.05).
const HET_NODELISTS: [&str; 2] = ["SLURM_JOB_NODELIST_HET_GROUP_", "SLURM_JOB_NODELIST_PACK_GROUP_"];

/// More groups than any heterogeneous job has (Slurm's `MAX_HET_JOB_COMPS` is 128).
const MAX_HET_GROUPS: usize = 128;

/// A node list and the variable it was read from.
#[derive(Debug, Clone)]
pub struct Nodes {
    /// Name of the environment variable.
    pub variable: String,
    /// The list, in node order.
    pub hosts: Hostlist,
}

impl Nodes {
    /// One list of the nodes of several groups, in group order, which is how `SLURM_NODEID` counts them under slurmd;
    /// `None` for no groups.
    #[must_use]
    pub fn join(groups: &[&Self]) -> Option<Self> {
        let texts: Vec<_> = groups.iter().map(|group| group.hosts.text()).collect();
        let hosts = Hostlist::parse(&texts.join(",")).ok()?;
        if hosts.is_empty() || hosts.len() > MAX_EXPANDED {
            return None;
        }
        Some(Self { variable: "SLURM_JOB_NODELIST_HET_GROUP_*".into(), hosts })
    }
}

/// What Slurm says about this process's step, read when asked: a variable that nobody needs cannot be an error.
#[derive(Debug, Clone, Default)]
pub struct Step {
    variables: BTreeMap<String, String>,
}

impl Step {
    /// Read the variables that `get` knows. Absent, empty and `(null)` are the same.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Self {
        let mut step = Self::default();
        for name in VARIABLES {
            step.take(name, &get);
        }
        if let Ok(Some(size)) = step.number("SLURM_HET_SIZE") {
            for group in 0..size.min(MAX_HET_GROUPS) {
                for start in HET_NODELISTS {
                    step.take(&format!("{start}{group}"), &get);
                }
            }
        }
        step
    }

    fn take(&mut self, name: &str, get: &impl Fn(&str) -> Option<String>) {
        let Some(value) = get(name) else { return };
        let value = value.trim();
        if !value.is_empty() && value != "(null)" {
            self.variables.insert(name.to_owned(), value.to_owned());
        }
    }

    /// The value of one of [`VARIABLES`].
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// Use this node list instead of Slurm's.
    pub fn set_nodelist(&mut self, expression: &str) {
        self.variables.insert(GIVEN_NODELIST.into(), expression.trim().into());
    }

    /// Whether this process was started by `srun`, and not by the batch script, ssh or mpirun inside an allocation.
    #[must_use]
    pub fn is_inside(&self) -> bool {
        self.get("SLURM_STEP_ID").is_some() || self.get("SLURM_STEP_NODELIST").is_some()
    }

    /// Whether there is an allocation at all.
    #[must_use]
    pub fn is_allocated(&self) -> bool {
        self.get("SLURM_JOB_ID").is_some() || self.is_inside()
    }

    /// The nodes of the step, or of the allocation where no step is known.
    ///
    /// # Errors
    /// [`Error::Setting`] that names the variable where its value is not a node list.
    pub fn nodes(&self) -> Result<Option<Nodes>> {
        [GIVEN_NODELIST, "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"]
            .into_iter()
            .find_map(|variable| self.get(variable).map(|text| parse_nodes(variable, text)))
            .transpose()
    }

    /// The groups of a heterogeneous job; empty for any other job, and where a group's list is missing.
    ///
    /// # Errors
    /// [`Error::Setting`] as for [`Step::nodes`].
    pub fn het_groups(&self) -> Result<Vec<Nodes>> {
        let size = self.number("SLURM_HET_SIZE")?.unwrap_or(0);
        let lists: Option<Vec<_>> = (0..size).map(|group| self.het_nodelist(group)).collect();
        lists.unwrap_or_default().into_iter().map(|(variable, text)| parse_nodes(&variable, text)).collect()
    }

    fn het_nodelist(&self, group: usize) -> Option<(String, &str)> {
        HET_NODELISTS.iter().map(|start| format!("{start}{group}")).find_map(|name| {
            let text = self.get(&name)?;
            Some((name, text))
        })
    }

    /// `SLURM_STEP_NUM_NODES`: how many nodes the step has.
    ///
    /// # Errors
    /// [`Error::Setting`] where it is not a number.
    pub fn num_nodes(&self) -> Result<Option<usize>> {
        self.number("SLURM_STEP_NUM_NODES")
    }

    /// `SLURM_NODEID`: the number of this node in the step.
    ///
    /// # Errors
    /// [`Error::Setting`] where it is not a number.
    pub fn node_id(&self) -> Result<Option<usize>> {
        self.number("SLURM_NODEID")
    }

    /// `SLURM_LOCALID`: the number of this task on its node.
    ///
    /// # Errors
    /// [`Error::Setting`] where it is not a number.
    pub fn local_id(&self) -> Result<Option<usize>> {
        self.number("SLURM_LOCALID")
    }

    /// `SLURM_PROCID`: the number of this task in the step.
    ///
    /// # Errors
    /// [`Error::Setting`] where it is not a number.
    pub fn task_id(&self) -> Result<Option<usize>> {
        self.number("SLURM_PROCID")
    }

    /// The number of tasks of the step, or of the allocation where no step is known.
    ///
    /// # Errors
    /// [`Error::Setting`] where it is not a number.
    pub fn tasks(&self) -> Result<Option<usize>> {
        match self.number("SLURM_STEP_NUM_TASKS")? {
            Some(tasks) => Ok(Some(tasks)),
            None => self.number("SLURM_NTASKS"),
        }
    }

    /// Tasks on each node, in node order.
    ///
    /// # Errors
    /// [`Error::Setting`] where it is not in Slurm's form (`4(x2),3`).
    pub fn tasks_per_node(&self) -> Result<Option<TaskCounts>> {
        ["SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"]
            .into_iter()
            .find_map(|variable| self.get(variable).map(|text| TaskCounts::parse(variable, text)))
            .transpose()
    }

    fn number(&self, name: &str) -> Result<Option<usize>> {
        self.get(name).map(|text| number(name, text)).transpose()
    }
}

fn parse_nodes(variable: &str, text: &str) -> Result<Nodes> {
    let bad = |reason: String| Error::Setting { name: variable.to_owned(), value: text.to_owned(), reason };
    match Hostlist::parse(text) {
        Ok(hosts) if hosts.is_empty() => Err(bad("names no node".into())),
        // Some rules look at every node.
        Ok(hosts) if hosts.len() > MAX_EXPANDED => {
            Err(bad(format!("stands for {} nodes, more than any cluster has", hosts.len())))
        }
        Ok(hosts) => Ok(Nodes { variable: variable.to_owned(), hosts }),
        Err(Error::Hostlist { offset, reason, .. }) => Err(bad(format!("not a node list: {reason} at byte {offset}"))),
        Err(other) => Err(bad(other.to_string())),
    }
}

/// Slurm's numbers have 32 bits.
pub(crate) fn number(name: &str, text: &str) -> Result<usize> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    let number: Option<u32> = digits.then(|| text.parse().ok()).flatten();
    number.and_then(|number| usize::try_from(number).ok()).ok_or_else(|| Error::Setting {
        name: name.to_owned(),
        value: text.to_owned(),
        reason: format!("not a number from 0 to {}", u32::MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(pairs: &[(&str, &str)]) -> Step {
        let map: BTreeMap<_, _> = pairs.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect();
        Step::read(|name| map.get(name).cloned())
    }

    fn names(nodes: &Nodes) -> Vec<String> {
        nodes.hosts.iter().collect()
    }

    #[test]
    fn the_step_comes_before_the_job() {
        let step =
            step(&[("SLURM_JOB_NODELIST", "a[01-04]"), ("SLURM_STEP_NODELIST", "a[03-04]"), ("SLURM_NODELIST", "b1")]);
        let nodes = step.nodes().unwrap().unwrap();
        assert_eq!((nodes.variable.as_str(), names(&nodes)), ("SLURM_STEP_NODELIST", vec!["a03".into(), "a04".into()]));
        assert!(step.is_inside());
    }

    #[test]
    fn absent_empty_and_null_are_the_same() {
        for value in ["", " ", "(null)", " (null) "] {
            let step = step(&[("SLURM_STEP_NODELIST", value), ("SLURM_NODEID", value), ("SLURM_NODELIST", "c1")]);
            assert_eq!(step.nodes().unwrap().unwrap().variable, "SLURM_NODELIST");
            assert_eq!(step.node_id(), Ok(None));
            assert!(!step.is_inside());
        }
    }

    #[test]
    fn garbage_is_an_error_that_names_the_variable_only_when_asked() {
        let step =
            step(&[("SLURM_NODEID", "x"), ("SLURM_STEP_NODELIST", "n[1-"), ("SLURM_STEP_TASKS_PER_NODE", "4(x")]);
        assert_eq!(step.node_id().unwrap_err().to_string(), "SLURM_NODEID=\"x\": not a number from 0 to 4294967295");
        assert!(step.nodes().unwrap_err().to_string().starts_with("SLURM_STEP_NODELIST=\"n[1-\": not a node list: "));
        assert!(step.tasks_per_node().unwrap_err().to_string().starts_with("SLURM_STEP_TASKS_PER_NODE=\"4(x\": "));
        for bad in ["", "-1", "+1", "1.0", "0x1", "4294967296", "99999999999999999999999", "١"] {
            assert!(number("SLURM_NODEID", bad).is_err(), "{bad}");
        }
        assert_eq!(number("SLURM_NODEID", "007"), Ok(7));
        let bomb = self::step(&[("SLURM_STEP_NODELIST", "n[0-65535][0-65535]")]);
        let message =
            "SLURM_STEP_NODELIST=\"n[0-65535][0-65535]\": stands for 4294967296 nodes, more than any cluster has";
        assert_eq!(bomb.nodes().unwrap_err().to_string(), message);
    }

    #[test]
    fn the_groups_of_a_het_job_are_one_list() {
        let step = step(&[
            ("SLURM_HET_SIZE", "2"),
            ("SLURM_JOB_NODELIST_HET_GROUP_0", "g1"),
            ("SLURM_JOB_NODELIST_HET_GROUP_1", "g[5-6]"),
        ]);
        let groups = step.het_groups().unwrap();
        assert_eq!(names(&Nodes::join(&groups.iter().collect::<Vec<_>>()).unwrap()), ["g1", "g5", "g6"]);
    }
}
