"""Several jobs where there was one: at once on the same nodes, and one that Slurm starts again."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Sequence

from faults.fault import Fault
from faults.outcome import Outcome, clear_error, works
from faults.scene import LIMIT, TRAIN, Job, Scene, until
from slurm.lab import TORCHRUN, Run

if TYPE_CHECKING:
    from concurrent.futures import Future


def _both(first: Outcome, second: Outcome) -> Outcome:
    return second._replace(
        codes={
            **{f"first job, {node}": code for node, code in first.codes.items()},
            **{f"second job, {node}": code for node, code in second.codes.items()},
        },
        left=first.left + second.left,
        stderr=first.stderr + second.stderr,
        details=f"{first.details}\n{second.details}",
    )


def _one_endpoint(scene: Scene) -> Outcome:
    first = scene.job(TRAIN, name="first")
    first.await_workers(2)
    # The node that finds nobody to train with waits for so long.
    second = scene.job(TRAIN, name="second", more=[f"--rdzv-conf=join_timeout={JOIN_TIMEOUT}"])
    second.hurt()
    until(lambda: second.trains() or second.is_over(), "second job")
    first.stop()
    end = first.ended()
    if second.trains():
        before = second.steps()
        until(lambda: second.steps() > before + 20 or second.is_over(), "further steps")
    second.stop()
    return _both(end, second.ended())


def _nothing_given(scene: Scene) -> Outcome:
    if scene.launcher == TORCHRUN:
        return Outcome.lacking("has no `--nnodes=auto`")
    jobs = [scene.bare_job(name=name) for name in ("first", "second")]
    for job in jobs:
        job.hurt()
    for job in jobs:
        job.await_workers(2)
    for job in jobs:
        job.stop()
    return _both(*(job.ended() for job in jobs))


#: Seconds, instead of 600.
JOIN_TIMEOUT = 60


class Batch(Job):
    """A job that runs by a batch script, which Slurm may start again."""

    def _start(self, command: Sequence[str], nodes: int) -> Future[Run]:
        script = self.directory / "script"
        exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in self.env.items())
        script.write_text(
            f"#!/bin/bash\n#SBATCH --nodelist=jwb[0001-{nodes:04}] --nodes={nodes} --ntasks-per-node=1\n"
            f"#SBATCH --requeue --open-mode=append\n{exports}srun --label {shlex.join(command)}\n"
        )
        return self._pool.submit(self._cluster.sbatch, script, timeout=LIMIT)


def _requeued(scene: Scene) -> Outcome:
    job = scene.job(kind=Batch)
    job.await_workers(2)
    number = job.processes("agent")[0].job
    job.hurt()
    head = scene.cluster.head
    requeued = head(["scontrol", "requeue", number])
    if requeued.code:
        raise RuntimeError(str(requeued))
    # Slurm would wait two minutes, in which the first run's credentials end.

    def runs_again() -> bool:
        head(["scontrol", "update", f"jobid={number}", "starttime=now"])
        shown = head(["scontrol", "show", "job", "--oneliner", number]).stdout
        return "JobState=RUNNING" in shown and "Restarts=1" in shown

    job.until(runs_again, "requeued job")
    job.await_workers(4)
    job.stop()
    return job.ended()


FAULTS = [
    Fault(
        "two jobs, one endpoint",
        f"a second job with the same endpoint on these nodes, `join_timeout={JOIN_TIMEOUT}`; the first ends before it",
        _one_endpoint,
        clear_error,
    ),
    Fault("two jobs, nothing given", "at once on the same nodes, with `--nnodes=auto` alone", _nothing_given, works),
    Fault("requeue", "`scontrol requeue` while workers train; the second run has the same job id", _requeued, works),
]
