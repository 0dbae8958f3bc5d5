"""A reason instead of minutes of silence: checks around torch's own waiting."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator

from torchrun_jsc.messages import is_first_of_node
from torchrun_jsc.preflight.watch import watching

if TYPE_CHECKING:
    from torchrun_jsc.current import Launch

__all__ = ["before_workers", "during_launch"]


@contextmanager
def during_launch(launch: Launch) -> Iterator[None]:
    """Watch over a launch, unless ``TORCHRUN_JSC_PREFLIGHT`` is ``off``."""
    if launch.settings.preflight == "off":
        yield
        return
    with watching(launch):
        yield


def before_workers(launch: Launch, store: Any, run_id: str) -> None:
    """With ``TORCHRUN_JSC_PREFLIGHT=strict``, let every node connect to every other one.

    :raises TorchrunJscError: where that fails.
    """
    if launch.settings.preflight == "strict" and is_first_of_node():
        from torchrun_jsc.preflight.strict import check

        check(launch, store, run_id)
