"""``docs/performance.md``: the last table, written by the command."""

from __future__ import annotations

from typing import Iterable, Sequence

import measured
from bench.row import ROOT

DOCUMENT = ROOT / "docs" / "performance.md"

HEADER = """\
# What it costs

`make bench` measures this and writes this file. Numbers with a limit fail the command when they pass it.

- *process*, *call*, *checks*: the shortest of many runs that take turns, since what a machine does besides only makes
  runs longer. A process that only calls `resolve_endpoint` is set against `python -c pass`.
- *launcher, one node*: `python -m torchrun_jsc --standalone --nproc-per-node=1` against the same with `python -m
  torch.distributed.run`: pairs of runs, the median over the pairs. CPU time is that of the launcher and its worker.
- *fixes loaded*: the same with `--rdzv-backend=c10d --rdzv-endpoint=localhost:0`. With `--standalone` nothing is loaded
  but what sees that; here the fixes are loaded, and the plan sees that they have nothing to do.
- *launcher, two nodes*: from `srun` to the sum on the last rank, in the cluster of `tests/slurm` with both networks
  open, where torchrun works too: pairs of runs, the median over the pairs.
- File-system calls are counted by `strace -f -e trace=%file`. On a parallel file system each is a round trip.

"""


def write(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write the document."""
    made = f"{measured.machine()}, {measured.today()}."
    DOCUMENT.write_text(f"{HEADER}{made}\n\n{measured.table(head, rows)}", encoding="utf-8")
