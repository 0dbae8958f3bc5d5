//! What an MPI launcher says of a process that it started.

use crate::environ::{Environ, Variable};
use crate::Result;

/// A launcher, by what it sets for each process.
#[derive(Debug)]
pub struct Launcher {
    /// What people call it.
    pub name: &'static str,
    /// The number of the process among all.
    pub rank: Variable,
    /// How many there are.
    pub size: Option<Variable>,
    /// Its number on its node.
    pub local_rank: Option<Variable>,
    /// How many there are on its node.
    pub local_size: Option<Variable>,
    /// What the names of the programs begin with that start its processes, as the system lists them (15 characters).
    daemons: &'static [&'static str],
}

impl Launcher {
    /// Whether a program of this name starts this launcher's processes.
    #[must_use]
    pub fn is_daemon(&self, name: &str) -> bool {
        self.daemons.iter().any(|start| name.starts_with(start))
    }
}

/// Open MPI's: `orted`, `orterun`, and in version 5 `prted`, `prterun`. They set those of `PMIx` too.
const OPEN_MPI: &[&str] = &["orte", "prte", "mpirun", "mpiexec"];

/// All that are known, the ones that say more before those that say less.
///
/// Open MPI: <https://docs.open-mpi.org/en/v5.0.x/tuning-apps/environment-var.html>. Hydra is the launcher of MPICH and Intel
/// MPI. PALS is HPE's, as on Aurora and Polaris. Flux: <https://github.com/flux-framework/flux-core>. `PMIx` alone
/// says the rank and nothing else.
pub const LAUNCHERS: [Launcher; 5] = [
    Launcher {
        name: "Open MPI",
        rank: Variable::OmpiRank,
        size: Some(Variable::OmpiSize),
        local_rank: Some(Variable::OmpiLocalRank),
        local_size: Some(Variable::OmpiLocalSize),
        daemons: OPEN_MPI,
    },
    Launcher {
        name: "PALS",
        rank: Variable::PalsRank,
        size: Some(Variable::PmiSize),
        local_rank: Some(Variable::PalsLocalRank),
        local_size: Some(Variable::PalsLocalSize),
        daemons: &["palsd"],
    },
    Launcher {
        name: "Hydra",
        rank: Variable::PmiRank,
        size: Some(Variable::PmiSize),
        local_rank: Some(Variable::HydraLocalRank),
        local_size: Some(Variable::HydraLocalSize),
        daemons: &["hydra_", "pmi_proxy"],
    },
    Launcher {
        name: "Flux",
        rank: Variable::FluxRank,
        size: Some(Variable::FluxSize),
        local_rank: Some(Variable::FluxLocalRank),
        local_size: None,
        daemons: &["flux-shell"],
    },
    Launcher {
        name: "PMIx",
        rank: Variable::PmixRank,
        size: None,
        local_rank: None,
        local_size: None,
        daemons: OPEN_MPI,
    },
];

/// A process of a launcher's, as far as its variables say.
#[derive(Debug, Clone, Copy)]
pub struct Process {
    /// Who started it.
    pub launcher: &'static Launcher,
    /// Its number among all.
    pub rank: usize,
    /// How many there are.
    pub size: Option<usize>,
    /// Its number on its node.
    pub local_rank: Option<usize>,
    /// How many there are on its node.
    pub local_size: Option<usize>,
}

impl Process {
    /// What each launcher says whose rank is set.
    ///
    /// # Errors
    /// [`crate::Error::Setting`] for a value that is no number.
    pub fn all(environ: &Environ) -> Result<Vec<Self>> {
        let number = |variable: Option<Variable>| variable.map_or(Ok(None), |variable| environ.number(variable));
        let mut found = Vec::new();
        for launcher in &LAUNCHERS {
            if let Some(rank) = environ.number(launcher.rank)? {
                found.push(Self {
                    launcher,
                    rank,
                    size: number(launcher.size)?,
                    local_rank: number(launcher.local_rank)?,
                    local_size: number(launcher.local_size)?,
                });
            }
        }
        Ok(found)
    }

    /// The same process with what `other`, which has the same rank, says besides.
    #[must_use]
    pub fn with(self, other: &Self) -> Self {
        Self {
            size: self.size.or(other.size),
            local_rank: self.local_rank.or(other.local_rank),
            local_size: self.local_size.or(other.local_size),
            ..self
        }
    }

    /// Its rank as in the environment, for messages.
    #[must_use]
    pub fn said(&self) -> String {
        format!("{}={}", self.launcher.rank.name(), self.rank)
    }
}
