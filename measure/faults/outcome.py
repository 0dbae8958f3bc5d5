"""How a job ended, and what is said of two such ends."""

from __future__ import annotations

import re
import signal
from typing import Callable, NamedTuple

#: Exit codes from here on are signals.
_SIGNALS = 128


class Outcome(NamedTuple):
    """How a job that was hurt ended."""

    #: By node; None where Slurm ended the launcher.
    codes: dict[str, int | None]
    #: From the fault to the end of the last launcher.
    seconds: float
    #: Which the workers got.
    signals: frozenset[str]
    #: Launchers and workers that outlived the job.
    left: int
    #: What the launchers wrote to stderr.
    stderr: str
    #: All that is known, for people.
    details: str
    #: Why there was no such end.
    none: str = ""

    @classmethod
    def lacking(cls, why: str) -> Outcome:
        """Return the outcome of a job that this launcher cannot have."""
        return cls({}, 0, frozenset(), 0, "", why, none=why)

    @classmethod
    def hanging(cls, details: str) -> Outcome:
        """Return the outcome of a job that did not come to what it was to come to."""
        return cls({}, 0, frozenset(), 0, "", details, none=_short(details.splitlines()[0].partition(": ")[0]))

    @property
    def worked(self) -> bool:
        """Whether all launchers ended well."""
        return set(self.codes.values()) == {0}

    def end(self) -> str:
        """Say how the launchers ended, in node order."""
        names = [_name(code) for code in self.codes.values()]
        return f"exit {names[0]}" if len(set(names)) == 1 else "exit " + ", ".join(names)

    def reason(self) -> str:
        """Return a line of this package that says what is wrong, else the last line of a traceback, else nothing."""
        found = re.search(r"(torchrun_jsc: (?:error|warning): .*)", self.stderr) or re.search(
            r"^(?:\d+: )?(?:[a-z_]\w*\.)*([A-Z]\w*(?:Error|Exception): .*)$", self.stderr, flags=re.MULTILINE
        )
        return found[1].rstrip(": ") if found else ""

    def text(self) -> str:
        """Say it in one line."""
        if self.none:
            return self.none
        parts = [f"{self.end()}, {self.seconds:.0f} s"]
        if self.signals:
            parts.append("workers got " + ", ".join(sorted(self.signals)))
        if self.left:
            parts.append(f"{self.left} processes left")
        if not self.worked and self.reason():
            parts.append(f"`{_short(self.reason())}`")
        return "; ".join(parts)


def _name(code: int | None) -> str:
    if code is None:
        return "SIGKILL by Slurm"
    return signal.Signals(code - _SIGNALS).name if code > _SIGNALS else str(code)


def _short(line: str) -> str:
    line = line.replace("|", "/").replace("`", "'")
    return line if len(line) <= 100 else line[:97] + "..."


def same(plain: Outcome, ours: Outcome) -> str:
    """It ends as under torchrun, and nothing is left."""
    if ours.none or ours.left:
        return f"FAIL: {ours.text()}"
    if ours.codes != plain.codes:
        return f"FAIL: {ours.end()} instead of {plain.end()}"
    if ours.signals != plain.signals:
        return f"FAIL: workers got {set(ours.signals)} instead of {set(plain.signals)}"
    return "same"


def torch_cannot(plain: Outcome, ours: Outcome) -> str:
    """Neither launcher works: it is torch that cannot."""
    return "torch cannot" if plain.none and ours.none else works(plain, ours)


def works(plain: Outcome, ours: Outcome) -> str:
    """It works, whatever torchrun does."""
    if not ours.worked or ours.left:
        return f"FAIL: {ours.text()}"
    return "works" if plain.worked else "works where torchrun does not"


def fails_within(seconds: float) -> Verdict:
    """Every launcher fails with an error, in this time, and nothing is left."""

    def verdict(plain: Outcome, ours: Outcome) -> str:
        if ours.none or ours.left:
            return f"FAIL: {ours.text()}"
        if 0 in ours.codes.values() or None in ours.codes.values() or not ours.reason():
            return f"FAIL: {ours.text()}"
        if ours.seconds > seconds:
            return f"FAIL: {ours.seconds:.0f} s, more than {seconds:.0f} s"
        return "same" if ours.codes == plain.codes else "clear error"

    return verdict


def clear_error(plain: Outcome, ours: Outcome) -> str:
    """It works, or it says why not; nothing is left."""
    if ours.worked:
        return works(plain, ours)
    if ours.none or ours.left or not ours.reason():
        return f"FAIL: {ours.text()}"
    return "says why"


#: Looks at torchrun's end and ours: what is said of them, with FAIL first where ours is not as it should be.
Verdict = Callable[[Outcome, Outcome], str]
