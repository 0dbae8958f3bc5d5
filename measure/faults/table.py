"""The table of faults in ``docs/reliability.md``: the last result of each, written by the command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterable, NamedTuple

import measured
import reliability

if TYPE_CHECKING:
    from faults.fault import Fault

SECTION = "faults"
_COLUMNS = ("fault", "what was done", "torchrun", "torchrun_jsc", "verdict", "run on")


class Row(NamedTuple):
    """What is told of one fault."""

    fault: str
    done: str
    plain: str
    ours: str
    verdict: str
    day: str


def write(faults: Iterable[Fault], new: Row) -> None:
    """Write the table with this row in the place of an older one of the same fault."""
    names = [fault.name for fault in faults]
    rows = {row.fault: row for row in _read() if row.fault in names}
    rows[new.fault] = new
    ordered = sorted(rows.values(), key=lambda row: names.index(row.fault))
    missing = [name for name in names if name not in rows]
    summary = f"{len(ordered)} of {len(names)} faults" + (f"; not run: {', '.join(missing)}" if missing else "")
    reliability.write(SECTION, f"{measured.machine()}. {summary}.\n\n{measured.table(_COLUMNS, ordered)}")


def _read() -> list[Row]:
    return [Row(*cells) for cells in reliability.rows(SECTION) if len(cells) == len(_COLUMNS)]
