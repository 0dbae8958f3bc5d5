"""A reason instead of minutes of silence: checks around torch's own waiting."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, ContextManager, Iterator

from torchrun_jsc.messages import is_first_of_node
from torchrun_jsc.preflight.lost import telling_of_loss
from torchrun_jsc.preflight.missing import awaiting_nodes as _awaiting_nodes
from torchrun_jsc.preflight.only_one import only_one
from torchrun_jsc.preflight.open_files import make_room
from torchrun_jsc.preflight.watch import watching

if TYPE_CHECKING:
    from torchrun_jsc.current import Launch

__all__ = ["awaiting_nodes", "before_workers", "during_launch", "make_room", "only_one"]


@contextmanager
def during_launch(launch: Launch) -> Iterator[None]:
    """Watch over a launch, unless ``TORCHRUN_JSC_PREFLIGHT`` is ``off``."""
    if launch.settings.preflight == "off":
        yield
        return
    # The inner one asks whether the store was reached, before the outer one ends its watch.
    with watching(launch), telling_of_loss(launch):
        yield


def before_workers(launch: Launch, store: Any, run_id: str) -> None:
    """With ``TORCHRUN_JSC_PREFLIGHT=strict``, let every node connect to every other one.

    :raises TorchrunJscError: where that fails.
    """
    if launch.settings.preflight == "strict" and is_first_of_node():
        from torchrun_jsc.preflight.strict import check

        check(launch, store, run_id)


def awaiting_nodes(launch: Launch, handler: Any) -> ContextManager[None]:
    """Say who has not come while torch's ``handler`` waits, unless ``TORCHRUN_JSC_PREFLIGHT`` is ``off``."""
    return nullcontext() if launch.settings.preflight == "off" else _awaiting_nodes(launch, handler)
