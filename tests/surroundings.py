"""What surrounds a test: the variables that it must not inherit, and those of a Slurm step that it is put into."""

from __future__ import annotations

import os

#: How the names of variables begin that a shell, a job or a launcher around the tests may have set, and that decide
#: something here, in torch or in Slurm. ``TORCH`` is also how those of torchrun and of this package begin.
FOREIGN = (
    "SLURM", "PET_", "TORCH", "MASTER_", "GLOO_", "NCCL_", "RANK", "WORLD_SIZE", "LOCAL_", "GROUP_", "ROLE_",
    "SYSTEMNAME", "OMPI_", "PMI_", "PMIX_", "PALS_", "MPI_LOCAL", "FLUX_", "PBS_", "NODE_RANK", "CUDA_VISIBLE_DEVICES",
)  # fmt: skip


def foreign() -> list[str]:
    """Return the foreign variables that are set."""
    return [name for name in os.environ if name.startswith(FOREIGN)]


def clean_environment() -> dict[str, str]:
    """Return the environment of this process without foreign variables."""
    unwanted = set(foreign())
    return {name: value for name, value in os.environ.items() if name not in unwanted}


def step(nodelist: str, *, nodes: int, node: int, name: str, per_node: int = 1, local: int = 0) -> dict[str, str]:
    """Return the variables of one task of a step, as Slurm sets them.

    :param nodelist: the nodes of the step, of which there are `nodes`.
    :param node: the number of the task's node, which is called `name`.
    :param per_node: how many tasks each node has; the task is number `local` of them.
    """
    tasks = str(nodes * per_node)
    return {
        "SLURM_CLUSTER_NAME": "lab",
        "SLURM_JOB_ID": "4711",
        "SLURM_STEP_ID": "0",
        "SLURM_JOB_NODELIST": nodelist,
        "SLURM_STEP_NODELIST": nodelist,
        "SLURM_STEP_NUM_NODES": str(nodes),
        "SLURM_STEP_NUM_TASKS": tasks,
        "SLURM_STEP_TASKS_PER_NODE": f"{per_node}(x{nodes})",
        "SLURM_NODEID": str(node),
        "SLURM_PROCID": str(node * per_node + local),
        "SLURM_LOCALID": str(local),
        "SLURM_NTASKS": tasks,
        "SLURMD_NODENAME": name,
    }


#: The second node of a step of two, with one task on each.
STEP = step("a[01-02]", nodes=2, node=1, name="a02")


def runs_all() -> bool:
    """Whether all tests are to run, as in `.ci/run`: those that take long, too."""
    return os.environ.get("REQUIRE_SLURM") == "all"


def is_required(*, newer: bool = False) -> bool:
    """Whether a test that cannot run here has to fail.

    With ``REQUIRE_SLURM=1`` those that need this machine's Slurm do, with ``all`` also those with newer Slurms and MPI
    launchers, which `.ci/run` installs.
    """
    return runs_all() or (os.environ.get("REQUIRE_SLURM") == "1" and not newer)
