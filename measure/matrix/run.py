"""Runs one mode with one release of torch, and says how it went."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import measured
from matrix.modes import torchs_own_fault
from slurm.lab import HERE, Cluster
from surroundings import clean_environment

if TYPE_CHECKING:
    from matrix.environment import Installed
    from matrix.modes import Mode

WORKER = str(Path(__file__).with_name("worker.py"))
TIMEOUT = 100


class Row(NamedTuple):
    """What is told of one job."""

    torch: str
    python: str
    mode: str
    result: str
    master: str
    ranks: str
    day: str
    #: What went wrong, at length; not for the table.
    details: str = ""

    @property
    def is_good(self) -> bool:
        """Whether there is nothing to do about it."""
        return not self.result.startswith("FAIL")


def run(cluster: Cluster, installed: Installed, mode: Mode, number: int) -> Row:
    """Run the job on two nodes of which only the fast network is open."""
    torch, bin_directory = installed.torch, installed.bin
    row = Row(torch.version, installed.python, mode.name, "pass", "", "", measured.today())
    marker = cluster_directory(cluster) / f"died-{number}"
    marker.unlink(missing_ok=True)
    worker = [WORKER, str(marker)] if mode.dies else [WORKER]
    command = [str(bin_directory / "torchrun_jsc"), *mode.options(number), *worker]
    env = {"PATH": f"{bin_directory}:{os.environ['PATH']}", **mode.environment(torch)}
    own_fault = torchs_own_fault(torch, mode)
    try:
        job = cluster.srun(command, env=env, timeout=30 if own_fault else TIMEOUT)
    except TimeoutError as error:
        fault, details = "no end", str(error)
    else:
        workers = [json.loads(line[line.index("{") :]) for line in job.stdout.splitlines() if "{" in line]
        workers.sort(key=lambda worker: worker["rank"])
        masters = sorted({worker["master"] for worker in workers})
        row = row._replace(master=" ".join(masters), ranks=" ".join(f"{w['rank']}@{w['node']}" for w in workers))
        fault, details = _fault(cluster, job.code, workers, masters, mode), f"{mode.environment(torch)}\n{job}"
        if mode.dies and not marker.exists():
            fault = "no worker died"
    if not fault:
        return row
    if own_fault is None:
        return row._replace(result=f"FAIL: {fault}", details=details)
    if _plain_torchrun_works(bin_directory, worker, marker):
        return row._replace(result=f"FAIL: {fault}, where plain torchrun works on one node", details=details)
    return row._replace(result=f"fails in torch: {own_fault}", master="", ranks="")


def cluster_directory(cluster: Cluster) -> Path:
    """Return a directory that all nodes see."""
    return Path(cluster.env["LAB"])


def _fault(cluster: Cluster, code: int, workers: list[dict], masters: list[str], mode: Mode) -> str:
    """Return the first thing that is wrong, or nothing."""
    world = range(2 * mode.per_node)
    checks = (
        (code == 0, f"exit code {code}"),
        ([worker["rank"] for worker in workers] == list(world), "not all ranks"),
        (
            [worker["node"] for worker in workers] == [mode.nodes[rank // mode.per_node] for rank in world],
            "ranks do not follow the nodes",
        ),
        ({worker["sum"] for worker in workers} == {sum(world) + len(world)}, "sum"),
        (len(masters) == 1, "several MASTER_ADDR"),
        (all(cluster.is_fast(master) for master in masters), "MASTER_ADDR is on the slow network"),
        (False not in {worker["elastic"] for worker in workers}, "is_torchelastic_launched"),
    )
    return next((fault for good, fault in checks if not good), "")


def _plain_torchrun_works(bin_directory: Path, worker: list[str], marker: Path) -> bool:
    """Whether torch itself can do on one node what failed on two."""
    marker.unlink(missing_ok=True)
    options = [
        "--nnodes=1",
        "--nproc_per_node=2",
        "--rdzv_backend=c10d",
        "--rdzv_endpoint=localhost:29513",
        "--rdzv_id=1",
    ]
    # `timeout` ends it as a user would, so that it ends its workers.
    torchrun = ["timeout", str(TIMEOUT), str(bin_directory / "python"), "-m", "torch.distributed.run"]
    job = subprocess.run(
        [*torchrun, *options, "--max_restarts=1", *worker],
        env={**clean_environment(), "OMP_NUM_THREADS": "1"},
        cwd=HERE,
        capture_output=True,
        check=False,
    )
    return job.returncode == 0


def shown(row: Row) -> str:
    """Return the row as the command prints it."""
    return f"torch {row.torch:8} python {row.python:8} {row.mode:22} {row.result}  {row.master}  {row.ranks}"
