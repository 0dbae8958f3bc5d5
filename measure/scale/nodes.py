"""One launch on sixteen nodes of the cluster: launchers, workers, ranks and addresses are real."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from typing_extensions import Self

import measured
from slurm.jobs import succeeded
from slurm.lab import TORCHRUN_JSC, Lab

NODES = 16
WORKER = str(Path(__file__).with_name("worker.py"))


class Memory:
    """The memory that is taken while a block runs, in GiB."""

    def __enter__(self) -> Self:
        self._before = self._least = _available()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def _look(self) -> None:
        while not self._over.wait(0.2):
            self._least = min(self._least, _available())

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def taken(self) -> float:
        return (self._before - self._least) / 2**20


def _available() -> int:
    """Return the kibibytes that this machine could still give."""
    (line,) = (line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable:"))
    return int(line.split()[1])


def run(lab: Lab) -> tuple[str, list[str]]:
    """Return the table, and what is wrong."""
    names = [f"jwb{number:04}" for number in range(1, NODES + 1)]
    cluster = lab.cluster({"NODES": " ".join(names)})
    command = [TORCHRUN_JSC, "--nnodes=auto", "--nproc-per-node=1", WORKER]
    start = time.monotonic()
    with Memory() as memory:
        done = cluster.srun(command, nodes=NODES, timeout=580)
    seconds = time.monotonic() - start
    job = succeeded(cluster, done, NODES)
    checks = {
        "ranks do not follow the nodes": [rank["node"] for rank in job.ranks] == names,
        f"MASTER_ADDR is {job.master}": job.master == "jwb0001i",
    }
    columns = ("nodes", "ranks", "MASTER_ADDR", "seconds", "memory, GiB")
    row = (str(NODES), f"0@{names[0]} to {NODES - 1}@{names[-1]}", job.master, f"{seconds:.0f}", f"{memory.taken:.1f}")
    return measured.table(columns, [row]), [fault for fault, good in checks.items() if not good]
