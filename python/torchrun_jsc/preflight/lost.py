"""Where a launcher ends because another one has: say so before torch's traceback."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Iterator

from torchrun_jsc.messages import is_first_of_node, warn

if TYPE_CHECKING:
    from torchrun_jsc.current import Launch


@contextmanager
def telling_of_loss(launch: Launch) -> Iterator[None]:
    """Say that the store is gone, where this agent had reached it; torch's error goes on its way."""
    try:
        yield
    except Exception as error:
        plan = launch.plan
        # By its name: torch is not imported for a message.
        is_lost = type(error).__name__ == "RendezvousConnectionError" and launch.reached.is_set()
        if is_lost and plan.is_host is False and is_first_of_node():
            host = plan.host_node or "another node"
            warn(f"the store at {plan.endpoint} is gone: its launcher on {host} has ended; what it said comes first")
        raise
