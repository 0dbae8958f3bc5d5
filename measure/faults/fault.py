"""What is done to a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Mapping, NamedTuple

from faults.outcome import Outcome, Verdict, same
from faults.scene import OPEN

if TYPE_CHECKING:
    from faults.scene import Scene


class Fault(NamedTuple):
    """One fault."""

    name: str
    #: What is done, in a few words.
    done: str
    run: Callable[[Scene], Outcome]
    verdict: Verdict = same
    #: Those of the cluster.
    switches: Mapping[str, str] = OPEN
