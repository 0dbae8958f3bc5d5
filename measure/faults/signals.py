"""Signals and scancel, at every stage of a launch."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Callable

from faults.fault import Fault
from faults.processes import has_mapped, listens
from faults.scene import OPEN, PORT, TRACKED, Job, Scene

if TYPE_CHECKING:
    from faults.outcome import Outcome

FIRST, SECOND = "jwb0001", "jwb0002"


def _importing(scene: Scene) -> Job:
    job = scene.job(env={"FAULTS_ABSENT": SECOND})
    agent = job.await_agent(FIRST)
    job.until(lambda: has_mapped(agent, "libtorch_cpu"), "import of torch")
    return job


def _waiting(scene: Scene) -> Job:
    job = scene.job(env={"FAULTS_ABSENT": SECOND})
    agent = job.await_agent(FIRST)
    job.until(lambda: listens(agent, PORT), "store")
    return job


def _working(scene: Scene) -> Job:
    job = scene.job()
    job.await_workers(2)
    return job


STAGES = {
    "before the rendezvous": _importing,
    "while it waits for the other node": _waiting,
    "while workers run": _working,
}
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)


def _to_the_launcher(stage: Callable[[Scene], Job], number: signal.Signals) -> Callable[[Scene], Outcome]:
    def run(scene: Scene) -> Outcome:
        job = stage(scene)
        job.kill(job.await_agent(FIRST), number)
        return job.ended()

    return run


def _scancel(stage: Callable[[Scene], Job], *options: str) -> Callable[[Scene], Outcome]:
    def run(scene: Scene) -> Outcome:
        job = stage(scene)
        number = job.processes("agent", FIRST)[0].job
        job.hurt()
        scene.cluster.head(["scancel", *options, number])
        return job.ended()

    return run


FAULTS = [
    *(
        Fault(
            f"{number.name} {when}",
            f"{number.name} to the launcher of the first node",
            _to_the_launcher(stage, number),
            # SIGUSR1 ends a launcher that leaves its workers to Slurm.
            switches=TRACKED if stage is _working else OPEN,
        )
        for when, stage in STAGES.items()
        for number in SIGNALS
    ),
    *(Fault(f"scancel {when}", "`scancel JOB`", _scancel(stage)) for when, stage in STAGES.items()),
    Fault(
        "scancel --signal=USR1 while workers run",
        "`scancel --signal=USR1 JOB`: to launchers and workers at once",
        _scancel(_working, "--signal=USR1"),
    ),
]
