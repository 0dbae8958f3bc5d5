"""The releases of PyTorch in ``docs/compatibility.md``: the last result of each row."""

from __future__ import annotations

from typing import Iterable

import measured
import sections
from matrix.environment import TOP
from matrix.modes import MODES
from matrix.run import Row
from matrix.versions import TORCHES, number_of

DOCUMENT = TOP / "docs" / "compatibility.md"

SECTION = "torch"

_COLUMNS = ("torch", "Python", "mode", "result", "MASTER_ADDR", "ranks", "run on")


def read() -> list[Row]:
    """Return the rows of the document as it is."""
    return [Row(*(cell.strip("` ") for cell in cells)) for cells in sections.rows(DOCUMENT, SECTION)]


def write(rows: Iterable[Row]) -> None:
    """Write the document with these rows in the place of older ones of the same release and mode."""
    by_job = {(row.torch, row.mode): row for row in [*read(), *rows]}
    every = sorted(by_job.values(), key=_place)
    sections.write(DOCUMENT, SECTION, _summary(every) + "\n" + _table(every))


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
