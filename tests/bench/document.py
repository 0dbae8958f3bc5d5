"""``docs/performance.md``: the last table, written by the command."""

from __future__ import annotations

import datetime as dt
import os
import platform
from pathlib import Path
from typing import Sequence

from row import ROOT

from torchrun_jsc.torch_version import torch_version

DOCUMENT = ROOT / "docs" / "performance.md"

HEADER = """\
# What it costs

`make bench` measures this and writes this file. Numbers with a limit fail the command when they pass it.

- *process*, *call*, *checks*: the shortest of many runs that take turns, since what a machine does besides only makes
  runs longer. A process that only calls `resolve_endpoint` is set against `python -c pass`.
- *launcher, one node*: `torchrun_jsc --standalone --nproc-per-node=1` against `python -m torch.distributed.run` with
  the same arguments: pairs of runs, the median over the pairs. CPU time is that of the launcher and its worker.
- *launcher, two nodes*: from `srun` to the sum on the last rank, in the cluster of `tests/slurm` with both networks
  open, where torchrun works too: pairs of runs, the median over the pairs.
- File-system calls are counted by `strace -f -e trace=%file`. On a parallel file system each is a round trip.

"""


def write(table: Sequence[Sequence[str]]) -> None:
    """Write the document; the table's first row is its head."""
    head, *rows = table
    lines = [_line(head), _line(["---"] * len(head)), *map(_line, rows)]
    DOCUMENT.write_text(f"{HEADER}{_machine()}\n\n" + "\n".join(lines) + "\n")


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _machine() -> str:
    today = dt.datetime.now(dt.timezone.utc).date()
    return (
        f"Measured on {today}: {_processor()}, {os.cpu_count()} cores, Linux {platform.release()}, "
        f"Python {platform.python_version()}, torch {torch_version()}."
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())
