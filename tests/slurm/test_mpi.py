"""Processes that an MPI launcher starts: Debian's Open MPI and MPICH, in a job of Slurm's and without one."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from slurm.lab import HERE, TORCHRUN_JSC, WORKER, Cluster, Run
from slurm.test_resolve import DIRECT
from surroundings import is_required

if TYPE_CHECKING:
    from pathlib import Path

OPEN_MPI, HYDRA = "mpirun.openmpi", "mpiexec.hydra"
NODES = ["jwb0001", "jwb0002"]

#: Without it Open MPI refuses root.
AS_ROOT = "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
#: Hydra's own connections would go over the closed network.
FAST = "-iface ib0"

ALL = {
    OPEN_MPI: f"{OPEN_MPI} -np 8",
    HYDRA: f"{HYDRA} {FAST} -n 8",
}
ONE_A_NODE = {
    OPEN_MPI: f"{OPEN_MPI} -map-by ppr:1:node",
    HYDRA: f"{HYDRA} {FAST} -ppn 1 -n 2",
}
each_launcher = pytest.mark.parametrize("launcher", [OPEN_MPI, HYDRA])


@pytest.fixture(autouse=True)
def there(request: pytest.FixtureRequest) -> None:
    """Skip, or fail where all tests have to run, without the launcher of a test."""
    launcher = request.getfixturevalue("launcher")
    if shutil.which(launcher) is None:
        reason = f"no {launcher}: apt-get install openmpi-bin mpich"
        if is_required(newer=True):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)


def job(cluster: Cluster, directory: Path, line: str) -> Run:
    """Run a line in the batch script of a job on two nodes with four tasks each."""
    script = directory / "job.sh"
    script.write_text(f"#!/bin/sh\n#SBATCH --nodes=2 --ntasks-per-node=4\n{AS_ROOT}\n{line}\n")
    return cluster.sbatch(script)


def check(run: Run, world: int) -> None:
    """All ranks are there, in the order of the nodes, and have met."""
    assert run.code == 0, str(run)
    ranks = run.ranks()
    assert [int(rank["RANK"]) for rank in ranks] == list(range(world)), str(run)
    assert [rank["node"] for rank in ranks] == [node for node in NODES for _ in range(world // 2)], str(run)
    assert {rank["MASTER_ADDR"] for rank in ranks} == {"jwb0001i"}, str(run)
    assert {rank["sum"] for rank in ranks} == {world * (world + 1) // 2}, str(run)
    assert "torchrun_jsc: " not in run.stderr, str(run)


@each_launcher
def test_scripts(cluster: Cluster, launcher: str, tmp_path: Path) -> None:
    run = job(cluster, tmp_path, f"{ALL[launcher]} {sys.executable} {DIRECT} train")
    check(run, 8)
    assert [int(rank["LOCAL_RANK"]) for rank in run.ranks()] == [0, 1, 2, 3] * 2


@each_launcher
def test_one_torchrun_a_node(cluster: Cluster, launcher: str, tmp_path: Path) -> None:
    line = f"{ONE_A_NODE[launcher]} {TORCHRUN_JSC} --nnodes=auto --nproc-per-node=4 {WORKER}"
    check(job(cluster, tmp_path, line), 8)


@each_launcher
def test_rank_0_on_another_node_than_the_endpoint(cluster: Cluster, launcher: str, tmp_path: Path) -> None:
    if launcher == HYDRA:
        pytest.skip("Hydra takes its hosts in Slurm's order")
    run = job(cluster, tmp_path, f"{launcher} -np 2 --host jwb0002:2 {sys.executable} {DIRECT}")
    assert run.code != 0, str(run)
    (line,) = {line for line in run.stderr.splitlines() if "OMPI_COMM_WORLD_RANK=" in line}
    assert "where rank 0 should be" in line, str(run)


@each_launcher
def test_without_slurm(cluster: Cluster, launcher: str, tmp_path: Path) -> None:
    """As under PBS: a file with a line for each slot tells the nodes."""
    hosts = tmp_path / "nodes"
    hosts.write_text("".join(f"{node}\n" * 4 for node in NODES))
    remote = str(HERE / "rsh")
    start = {
        OPEN_MPI: f"{OPEN_MPI} --mca plm rsh --mca plm_rsh_agent {remote} --host jwb0001:4,jwb0002:4 "
        "-map-by ppr:1:node -x TORCHRUN_JSC_NODELIST -x PBS_JOBID",
        HYDRA: f"{HYDRA} {FAST} -bootstrap rsh -bootstrap-exec {remote} -hosts jwb0001,jwb0002 -ppn 1 -n 2",
    }[launcher]
    script = tmp_path / "job.sh"
    script.write_text(
        f"{AS_ROOT} TORCHRUN_JSC_NODELIST=@{hosts} PBS_JOBID=4711.pbs\n"
        f"{start} {TORCHRUN_JSC} --nnodes=auto --nproc-per-node=4 {WORKER}\n"
    )
    check(cluster.node(NODES[0], ["env", "-u", "SLURM_CONF", "sh", str(script)]), 8)
