"""What is done to a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, NamedTuple

from faults.outcome import Outcome, Verdict, same

if TYPE_CHECKING:
    from faults.scene import Scene


class Unavailable(Exception):  # noqa: N818 (no error of the program)
    """This machine lacks something; says what."""


class Fault(NamedTuple):
    """One fault."""

    name: str
    #: What is done, in a few words.
    done: str
    run: Callable[[Scene], Outcome]
    verdict: Verdict = same
