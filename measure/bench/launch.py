"""What `torchrun_jsc` costs more than torchrun: a job on this machine, and the way to the first sum of two nodes."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from typing import NamedTuple, Sequence

from bench.filecalls import NO_STRACE, file_calls_of
from bench.row import Row
from slurm.jobs import command
from slurm.lab import BUILD, REPORT, TORCHRUN, TORCHRUN_JSC, WORKER, CannotRun, Cluster
from surroundings import clean_environment

CLEAN = clean_environment()
PLAIN, OURS = "torch.distributed.run", "torchrun_jsc"
#: Pairs of runs, one after the other; the first pair, which fills the caches, is not counted.
PAIRS = 10


class Cost(NamedTuple):
    """What a process and all that it waited for took."""

    cpu: float
    memory: float


def rows() -> list[Row]:
    return [*standalone(), *with_fixes(), *two_nodes()]


def standalone() -> list[Row]:
    """A job on one machine, as its manual starts it."""
    cpu, memory, calls = one_machine("launcher, one node", "--standalone")
    return [cpu._replace(limit=1.02), memory._replace(limit=2), calls._replace(limit=60)]


def with_fixes() -> list[Row]:
    """A job on one machine of which only the plan says that it is none of our business."""
    return one_machine("launcher, one node, fixes loaded", "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0")


def one_machine(what: str, *options: str) -> list[Row]:
    """CPU time, memory and file-system calls against torchrun's, with a worker that needs no torch."""
    plain, ours = ([sys.executable, "-m", module, *options, "--nproc-per-node=1", REPORT] for module in (PLAIN, OURS))
    pairs = [(cost(plain), cost(ours)) for _ in range(PAIRS + 1)][1:]
    cpu = statistics.median(ours.cpu / plain.cpu for plain, ours in pairs)
    memory = statistics.median(ours.memory - plain.memory for plain, ours in pairs)
    seconds = " against ".join(f"{statistics.median(pair[side].cpu for pair in pairs):.3g} s" for side in (1, 0))
    mebibytes = f"torchrun: {statistics.median(plain.memory for plain, _ in pairs):.4g} MiB"
    return [
        Row(f"{what}: CPU time / torchrun's", cpu, note=seconds),
        Row(f"{what}: memory more than torchrun", memory, unit="MiB", note=mebibytes),
        calls(f"{what}: file-system calls more than torchrun", plain, ours),
    ]


def cost(command: Sequence[str]) -> Cost:
    process = subprocess.Popen(command, env=CLEAN, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    process.returncode = 0  # reaped here
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def calls(what: str, plain: Sequence[str], ours: Sequence[str]) -> Row:
    """The median of a few: threads of torch make it vary."""
    try:
        counted = [(file_calls_of(plain, CLEAN), file_calls_of(ours, CLEAN)) for _ in range(3)]
    except (FileNotFoundError, subprocess.CalledProcessError):
        return Row(what, note=NO_STRACE)
    more = statistics.median(ours - plain for plain, ours in counted)
    return Row(what, more, note=f"torchrun: {statistics.median(plain for plain, _ in counted):.0f}")


def two_nodes() -> list[Row]:
    """On a network where torchrun works too."""
    what = "launcher, two nodes: time to the first all-reduce / torchrun's"
    try:
        cluster = Cluster({"OPEN_ETH": "1"}, BUILD / "bench-lab")
    except CannotRun as reason:
        return [Row(what, note=str(reason))]
    try:
        pairs = [(reduced(cluster, TORCHRUN), reduced(cluster, TORCHRUN_JSC)) for _ in range(PAIRS + 1)][1:]
    finally:
        cluster.down()
    ratio = statistics.median(ours / plain for plain, ours in pairs)
    seconds = " against ".join(f"{statistics.median(pair[side] for pair in pairs):.3g} s" for side in (1, 0))
    return [Row(what, ratio, 1.02, note=seconds)]


def reduced(cluster: Cluster, launcher: str) -> float:
    """Seconds from `srun` until the last rank has its sum."""
    run = cluster.srun(command("jwb0001:29500", worker=WORKER, launcher=launcher))
    assert run.code == 0, str(run)
    return max(after for after, line in run.seen if '"sum": 3' in line)
