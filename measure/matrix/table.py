"""``docs/compatibility.md``: the last result of each row, written by the command."""

from __future__ import annotations

from typing import Iterable

import measured
from matrix.environment import TOP
from matrix.modes import MODES
from matrix.run import Row
from matrix.versions import TORCHES, number_of

DOCUMENT = TOP / "docs" / "compatibility.md"

HEADER = """\
# PyTorch releases that were run

`make matrix` writes this file; `make matrix TORCH=2.4.1` renews the rows of one release. Each row is one job on two
nodes of the Slurm cluster in `tests/slurm`, on which the network of the nodes' own names is closed between them:

    srun -N2 torchrun_jsc --nnodes=2 --nproc_per_node=1 --rdzv_backend=c10d --rdzv_endpoint=jwb0001i:29500 worker.py

The workers (`measure/matrix/worker.py`) join a gloo group and add up their ranks. A row passes if both launchers end
with exit code 0, all ranks are there, in the order of the nodes and with the right sum, and all have one `MASTER_ADDR`,
which is on the fast network.

| mode | what differs |
| --- | --- |
| default | no `--rdzv_conf`; the others have shorter timeouts there |
| old solution | `TORCHRUN_JSC_PREFER_OLD_SOLUTION=1` |
| no argument patching | `TORCHRUN_JSC_PREFER_ARG_PATCHING=0` |
| both | both variables |
| host on node 1 | the endpoint is `jwb0002i:29500` |
| host on node 1, both | that, with both variables |
| names that don't sort | the nodes are `n9` and `n10`, the endpoint is `n9i:29500` |
| static backend | `--master_addr=jwb0001i --master_port=29500`, no rendezvous options; node ranks from Slurm |
| 2 workers a node | `--nproc_per_node=2` |
| shared store off | `TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1`, from 2.5 on |
| a worker dies once | `--max_restarts=1`, and the last rank ends with an error in the first round |

With torch 2.5 the last one has the store not shared, too: in the shared one restarted workers
[do not find one another](https://github.com/pytorch/pytorch/issues/135712), whoever launches them.

"""

_COLUMNS = ("torch", "Python", "mode", "result", "MASTER_ADDR", "ranks", "run on")


def read() -> list[Row]:
    """Return the rows of the document as it is."""
    if not DOCUMENT.exists():
        return []
    lines = [line.strip("| \n").split(" | ") for line in DOCUMENT.read_text().splitlines() if line.startswith("| ")]
    return [
        Row(*(cell.strip("` ") for cell in cells))
        for cells in lines
        if len(cells) == len(_COLUMNS) and cells[0][:1].isdigit()
    ]


def write(rows: Iterable[Row]) -> None:
    """Write the document with these rows in the place of older ones of the same release and mode."""
    by_job = {(row.torch, row.mode): row for row in [*read(), *rows]}
    every = sorted(by_job.values(), key=_place)
    DOCUMENT.parent.mkdir(exist_ok=True)
    DOCUMENT.write_text(HEADER + _summary(every) + "\n" + _table(every))


def _place(row: Row) -> tuple[tuple[int, ...], int]:
    names = [mode.name for mode in MODES]
    return number_of(row.torch), names.index(row.mode) if row.mode in names else len(names)


def _summary(rows: list[Row]) -> str:
    good = sum(row.is_good for row in rows)
    releases = sorted({row.torch for row in rows}, key=number_of)
    missing = [torch.version for torch in TORCHES if torch.version not in releases]
    text = f"{good} of {len(rows)} rows as they should be, with {len(releases)} releases"
    return text + (f"; not run: {', '.join(missing)}.\n" if missing else ".\n")


def _table(rows: list[Row]) -> str:
    return measured.table(
        _COLUMNS,
        ((row.torch, row.python, row.mode, row.result, row.master or "-", row.ranks or "-", row.day) for row in rows),
    )
