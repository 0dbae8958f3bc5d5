"""The launch that runs in this thread: all that the patched functions of torch share."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchrun_jsc._core import Plan
    from torchrun_jsc.places import Places
    from torchrun_jsc.settings import Settings


@dataclass
class Launch:
    """A launch: what was decided before it, and what has come of it."""

    plan: Plan
    #: As they were when the plan was made.
    settings: Settings
    #: Set when torch has reached the rendezvous store.
    reached: threading.Event = field(init=False, default_factory=threading.Event)
    #: Whether the strict preflight is over: nodes that join later have nobody to connect to.
    preflight_is_over: bool = field(init=False, default=False)
    #: The places of the nodes, where they may count for their ranks.
    places: Places | None = field(init=False, default=None)


#: Threads of one process may launch side by side.
LAUNCH: ContextVar[Launch | None] = ContextVar("torchrun_jsc_launch", default=None)


def own_address() -> str | None:
    """Return what this node publishes in the launch that runs in this thread; None leaves it to torch."""
    launch = LAUNCH.get()
    return None if launch is None else launch.plan.local_address
