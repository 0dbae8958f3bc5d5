"""Processes and nodes that die, and a node that comes late."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import Callable

from faults.fault import Fault
from faults.network import cut
from faults.outcome import Outcome, fails_within, works
from faults.processes import of_node
from faults.scene import READ_TIMEOUT, TRACKED, TRAIN, Scene

FIRST, SECOND = "jwb0001", "jwb0002"
LATE = 30


def _agent_killed(node: str) -> Callable[[Scene], Outcome]:
    def run(scene: Scene) -> Outcome:
        job = scene.job(TRAIN)
        job.await_workers(2)
        job.kill(job.await_agent(node), signal.SIGKILL)
        return job.ended()

    return run


def _worker_killed(scene: Scene) -> Outcome:
    job = scene.job(TRAIN, more=["--max-restarts=1"])
    job.await_workers(2)
    (worker,) = job.processes("worker", SECOND)
    job.kill(worker.pid, signal.SIGKILL)
    job.await_workers(4)
    job.stop()
    return job.ended()


def _host_killed(scene: Scene) -> Outcome:
    job = scene.job(nodes=3)
    job.await_workers(3)
    agent = job.await_agent(FIRST)
    # First the network, so that no packet tells the others.
    cut(scene.cluster, 1)
    job.hurt()
    for pid in of_node(agent):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return job.ended(without=FIRST)


def _late(number: int) -> Callable[[Scene], Outcome]:
    def run(scene: Scene) -> Outcome:
        wait = f'test "$SLURM_NODEID" != {number} || sleep {LATE}; exec "$@"'
        job = scene.job(around=["sh", "-c", wait, "-"])
        job.hurt()
        job.await_workers(2)
        job.stop()
        return job.ended()

    return run


FAULTS = [
    Fault("agent killed", "SIGKILL to the launcher of the second node", _agent_killed(SECOND), switches=TRACKED),
    Fault("host agent killed", "SIGKILL to the launcher that serves the store", _agent_killed(FIRST), switches=TRACKED),
    Fault(
        "worker killed",
        "SIGKILL to a worker, `--max-restarts=1`; training must go on",
        _worker_killed,
        works,
    ),
    Fault(
        "host node killed",
        "three nodes; the first loses its network, then all its processes die",
        _host_killed,
        # Linux looks when it sends again, which it does at growing intervals. Workers have 30 s to end by themselves.
        fails_within(2 * READ_TIMEOUT + 30),
    ),
    Fault("a node comes late", f"the launcher of the second node starts after {LATE} s", _late(1), works),
    Fault("the host comes late", f"the launcher of the first node starts after {LATE} s", _late(0), works),
]
