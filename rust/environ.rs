//! What the plan reads from the environment: one table of variables.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::{number, Result};

macro_rules! variables {
    ($($(#[$doc:meta])* $variable:ident = $name:literal,)*) => {
        /// A variable of the scheduler, the MPI launcher, the site or the devices.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Variable {
            $(#[doc = concat!("`", $name, "`.")] $(#[$doc])* $variable,)*
            /// The nodes of the group with this number of a heterogeneous job.
            HetNodelist(usize),
            /// The same under the older name that `srun` by itself, outside `salloc` and `sbatch`, still sets
            /// (Slurm 22.05).
            PackNodelist(usize),
        }

        impl Variable {
            const SINGLE: &'static [Self] = &[$(Self::$variable),*];

            /// Its name.
            #[must_use]
            pub fn name(self) -> Cow<'static, str> {
                match self {
                    $(Self::$variable => $name.into(),)*
                    Self::HetNodelist(group) => format!("SLURM_JOB_NODELIST_HET_GROUP_{group}").into(),
                    Self::PackNodelist(group) => format!("SLURM_JOB_NODELIST_PACK_GROUP_{group}").into(),
                }
            }
        }
    };
}

variables! {
    StepNodelist = "SLURM_STEP_NODELIST",
    JobNodelist = "SLURM_JOB_NODELIST",
    /// The older name of the same.
    Nodelist = "SLURM_NODELIST",
    NodeId = "SLURM_NODEID",
    ProcId = "SLURM_PROCID",
    LocalId = "SLURM_LOCALID",
    /// The numbers of all tasks of this node.
    Gtids = "SLURM_GTIDS",
    Ntasks = "SLURM_NTASKS",
    StepNumNodes = "SLURM_STEP_NUM_NODES",
    StepNumTasks = "SLURM_STEP_NUM_TASKS",
    StepTasksPerNode = "SLURM_STEP_TASKS_PER_NODE",
    TasksPerNode = "SLURM_TASKS_PER_NODE",
    JobId = "SLURM_JOB_ID",
    StepId = "SLURM_STEP_ID",
    ClusterName = "SLURM_CLUSTER_NAME",
    Distribution = "SLURM_DISTRIBUTION",
    RestartCount = "SLURM_RESTART_COUNT",
    HetSize = "SLURM_HET_SIZE",
    /// Ports that Slurm keeps free for the step on all its nodes.
    StepResvPorts = "SLURM_STEP_RESV_PORTS",
    NodeName = "SLURMD_NODENAME",
    OmpiRank = "OMPI_COMM_WORLD_RANK",
    OmpiSize = "OMPI_COMM_WORLD_SIZE",
    OmpiLocalRank = "OMPI_COMM_WORLD_LOCAL_RANK",
    OmpiLocalSize = "OMPI_COMM_WORLD_LOCAL_SIZE",
    PalsRank = "PALS_RANKID",
    PalsLocalRank = "PALS_LOCAL_RANKID",
    PalsLocalSize = "PALS_LOCAL_SIZE",
    PmiRank = "PMI_RANK",
    PmiSize = "PMI_SIZE",
    HydraLocalRank = "MPI_LOCALRANKID",
    HydraLocalSize = "MPI_LOCALNRANKS",
    PmixRank = "PMIX_RANK",
    FluxRank = "FLUX_TASK_RANK",
    FluxSize = "FLUX_JOB_SIZE",
    FluxLocalRank = "FLUX_TASK_LOCAL_ID",
    FluxJobId = "FLUX_JOB_ID",
    PbsJobId = "PBS_JOBID",
    CudaDevices = "CUDA_VISIBLE_DEVICES",
    HipDevices = "HIP_VISIBLE_DEVICES",
    RocrDevices = "ROCR_VISIBLE_DEVICES",
    ZeDevices = "ZE_AFFINITY_MASK",
    /// Which system this is, at some sites.
    SystemName = "SYSTEMNAME",
}

/// More groups than any heterogeneous job has (Slurm's `MAX_HET_JOB_COMPS` is 128).
const MAX_HET_GROUPS: usize = 128;

/// The values of those variables that are set. Absent, empty and `(null)` are the same.
#[derive(Debug, Clone, Default)]
pub struct Environ {
    values: BTreeMap<Variable, String>,
}

impl Environ {
    /// Read the variables that `get` knows.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Self {
        let mut environ = Self::default();
        for &variable in Variable::SINGLE {
            environ.take(variable, &get);
        }
        if let Ok(Some(groups)) = environ.number(Variable::HetSize) {
            for group in 0..groups.min(MAX_HET_GROUPS) {
                environ.take(Variable::HetNodelist(group), &get);
                environ.take(Variable::PackNodelist(group), &get);
            }
        }
        environ
    }

    fn take(&mut self, variable: Variable, get: &impl Fn(&str) -> Option<String>) {
        let Some(value) = get(&variable.name()) else { return };
        let value = value.trim();
        if !value.is_empty() && value != "(null)" {
            self.values.insert(variable, value.to_owned());
        }
    }

    /// The value, without blanks around it.
    #[must_use]
    pub fn get(&self, variable: Variable) -> Option<&str> {
        self.values.get(&variable).map(String::as_str)
    }

    /// The value as a number.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] where it is none.
    pub fn number(&self, variable: Variable) -> Result<Option<usize>> {
        self.get(variable).map(|text| number::parse(&variable.name(), text)).transpose()
    }
}
