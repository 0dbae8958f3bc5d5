"""What the network does: it goes away for a while, or somebody else has the port."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from faults.fault import Fault
from faults.outcome import Outcome, fails_within, works
from faults.processes import has_mapped
from faults.scene import READ_TIMEOUT, TRAIN, Scene

if TYPE_CHECKING:
    from slurm.lab import Cluster

THIEF = str(Path(__file__).with_name("thief.py"))
SECONDS = 5


def cut(cluster: Cluster, number: int) -> None:
    """Take a node off its switches; what it sends is lost, and it does not notice."""
    for network in ("eth", "ib"):
        _ip(cluster, f"{network}-{number}", "nomaster")


def restore(cluster: Cluster, number: int) -> None:
    """Put it back."""
    for network in ("eth", "ib"):
        _ip(cluster, f"{network}-{number}", "master", network)


def _ip(cluster: Cluster, *words: str) -> None:
    run = cluster.head(["ip", "link", "set", *words])
    if run.code:
        raise RuntimeError(str(run))


def _cut_for_a_while(scene: Scene) -> None:
    cut(scene.cluster, 2)
    time.sleep(SECONDS)
    restore(scene.cluster, 2)


def _cut_while_training(scene: Scene) -> Outcome:
    job = scene.job(TRAIN)
    job.await_workers(2)
    job.hurt()
    _cut_for_a_while(scene)
    before = job.steps()
    job.until(lambda: job.steps() > before + 5, "further steps")
    job.stop()
    return job.ended()


def _cut_before(scene: Scene) -> Outcome:
    job = scene.job(TRAIN)
    agent = job.await_agent("jwb0002")
    job.until(lambda: has_mapped(agent, "libtorch_cpu"), "import of torch")
    job.hurt()
    _cut_for_a_while(scene)
    job.await_workers(2)
    job.stop()
    return job.ended()


def _port_taken(scene: Scene) -> Outcome:
    job = scene.job(around=[sys.executable, THIEF])
    job.hurt()
    return job.ended()


FAULTS = [
    Fault(
        "network cut while training",
        f"the second node is off the network for {SECONDS} s; training must go on",
        _cut_while_training,
        works,
    ),
    Fault(
        "network cut before the rendezvous",
        f"the second node is off the network for {SECONDS} s, from the import of torch on",
        _cut_before,
        works,
    ),
    Fault(
        "port taken",
        "another program takes the port after the launcher has looked, before torch binds it",
        _port_taken,
        # From the start of the job on; the attempt that is under way when torch's time is over goes on.
        fails_within(READ_TIMEOUT + 60),
    ),
]
