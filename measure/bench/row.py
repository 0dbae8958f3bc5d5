"""One row of the table, and how times are measured."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Callable, Iterable, NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent


class Row(NamedTuple):
    """A measured number and the number it must not pass, if any; without a number, `note` says why."""

    what: str
    measured: float | None = None
    limit: float | None = None
    unit: str = ""
    at_least: bool = False
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.measured is None:
            return "skipped"
        if self.limit is None:
            return ""
        good = self.measured >= self.limit if self.at_least else self.measured <= self.limit
        return "pass" if good else "FAIL"

    def cells(self) -> tuple[str, ...]:
        sign = ">=" if self.at_least else "<="
        limit = "" if self.limit is None else f"{sign} {self._number(self.limit)}"
        return self.what, self._number(self.measured), limit, self.verdict, self.note

    def _number(self, value: float | None) -> str:
        if value is None:
            return ""
        return f"{value:.0f} {self.unit}".rstrip() if value >= 100 else f"{value:.3g} {self.unit}".rstrip()


def fastest(actions: Iterable[Callable[[], object]], times: int) -> list[float]:
    """Seconds of the shortest run of each action. What the machine does besides only makes runs longer.

    The actions take turns, so that a busy moment is no one's alone.
    """
    actions = list(actions)
    best = [float("inf")] * len(actions)
    for _ in range(times):
        for at, action in enumerate(actions):
            start = time.perf_counter()
            action()
            best[at] = min(best[at], time.perf_counter() - start)
    return best
