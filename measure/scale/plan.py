"""Makes the plan of a launch to which nothing is given, and prints what that costs."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Callable

from torchrun_jsc import _core
from torchrun_jsc.settings import Settings

SETTINGS = Settings(os.environ)
NODES = os.environ["SLURM_STEP_NODELIST"]
SIZE = len(_core.Hostlist(NODES))
#: As torchrun_jsc.args reads them from `--nnodes=auto`.
OPTIONS = {
    "standalone": False,
    "backend": "static",
    "endpoint": "",
    "run_id": "none",
    "node_rank": None,
    "master_port": None,
    "min_nodes": SIZE,
    "max_nodes": SIZE,
    "is_host": None,
    "file_store": False,
    "local_address": None,
    "given": ["nnodes"],
}


def plan() -> object:
    return _core.plan(SETTINGS, OPTIONS, os.environ, SETTINGS.resolve_timeout)


def kibibytes(field: str) -> int:
    found = re.search(rf"{field}:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1])


def peak(action: Callable[[], object]) -> int:
    """Return the memory that the action takes at most beyond what the process has."""
    Path("/proc/self/clear_refs").write_text("5")
    before = kibibytes("VmRSS")
    action()
    return max(0, kibibytes("VmHWM") - before)


def microseconds(action: Callable[[], object]) -> float:
    """Return the processor time of the shortest of many calls: another thread, which may wait, looks up names."""
    best = float("inf")
    for _ in range(50):
        start = time.process_time_ns()
        action()
        best = min(best, time.process_time_ns() - start)
    return best / 1000


taken = peak(plan)
print(
    json.dumps(
        {
            "microseconds": microseconds(plan),
            "reading": microseconds(lambda: _core.expand_hostlist(NODES)),
            "kibibytes": taken,
        }
    )
)
