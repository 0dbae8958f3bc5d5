"""Nodes on which something is not as it should be."""

from __future__ import annotations

import subprocess
from typing import Callable

from faults.fault import Fault
from faults.outcome import Outcome, torch_cannot, works
from faults.scene import HERE, Scene

SKEW = 600


def _works(*around: str) -> Callable[[Scene], Outcome]:
    def run(scene: Scene) -> Outcome:
        job = scene.job(around=around)
        job.hurt()
        job.await_workers(2)
        job.stop()
        return job.ended()

    return run


def _skewed(scene: Scene) -> Outcome:
    library = scene.directory / "skew.so"
    scene.directory.mkdir(parents=True)
    # libfaketime would make sleeping fail: it takes every clock for the time of day.
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, HERE / "skew.c"], check=True)
    ahead = f'test "$SLURM_NODEID" = 0 || export SKEW={SKEW} LD_PRELOAD={library}; exec "$@"'
    return _works("sh", "-c", ahead, "-")(scene)


FAULTS = [
    Fault("/tmp is full", "no room for a byte or a file, on both nodes", _works(str(HERE / "full_tmp.sh")), works),
    Fault("home is read-only", "on both nodes", _works(str(HERE / "read_only_home.sh")), works),
    # torch takes a node for dead whose clock is 15 s behind, and removes it as often as it comes:
    # https://github.com/pytorch/pytorch/blob/v2.6.0/torch/distributed/elastic/rendezvous/dynamic_rendezvous.py#L456
    Fault("clock skew", f"the second node is {SKEW // 60} minutes ahead", _skewed, torch_cannot),
]
