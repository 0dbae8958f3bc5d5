"""A reason instead of minutes of silence: checks around torch's own waiting."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator

from torchrun_jsc.messages import is_first_of_node
from torchrun_jsc.preflight.watch import store_is_reached, watching
from torchrun_jsc.settings import PREFLIGHT

if TYPE_CHECKING:
    from torchrun_jsc._core import Plan

__all__ = ["before_workers", "during_launch", "store_is_reached"]


@contextmanager
def during_launch(plan: Plan) -> Iterator[None]:
    """Watch over a launch, unless ``TORCHRUN_JSC_PREFLIGHT`` is ``off``."""
    if PREFLIGHT.read(os.environ) == "off":
        yield
        return
    with watching(plan):
        yield


def before_workers(plan: Plan, store: Any, run_id: str) -> None:
    """With ``TORCHRUN_JSC_PREFLIGHT=strict``, let every node connect to every other one.

    :raises TorchrunJscError: where that fails.
    """
    if PREFLIGHT.read(os.environ) == "strict" and is_first_of_node():
        from torchrun_jsc.preflight.strict import check

        check(plan, store, run_id)
