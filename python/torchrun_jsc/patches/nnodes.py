"""``--nnodes=auto``: the number of nodes of the step."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

from torchrun_jsc import _core
from torchrun_jsc.errors import SettingError
from torchrun_jsc.messages import warn_once_a_node
from torchrun_jsc.patch import Function, Patch
from torchrun_jsc.settings import Settings


@lru_cache(maxsize=None)
def _say_once(note: str | None) -> None:
    """Warn, but not each time that torch asks for the number of one launch."""
    warn_once_a_node([] if note is None else [note])


def _wrap(original: Function) -> Function:
    def parse_min_max_nnodes(nnodes: Any, *args: Any, **kwargs: Any) -> Any:
        least_and_most = [number.strip().lower() for number in str(nnodes).split(":")]
        if "auto" not in least_and_most:
            return original(nnodes, *args, **kwargs)
        count, note = _core.count_nodes(Settings(os.environ), os.environ)
        if count is None:
            raise SettingError(
                "--nnodes=auto: not in a Slurm step; start it with srun, or give a number or TORCHRUN_JSC_NODELIST"
            )
        _say_once(note)
        numbers = (str(count) if number == "auto" else number for number in least_and_most)
        return original(":".join(numbers), *args, **kwargs)

    return parse_min_max_nnodes


PATCHES = (
    Patch(
        name="nnodes=auto",
        target="torch.distributed.run:parse_min_max_nnodes",
        torch=">=1.9",
        expects=("nnodes",),
        wrap=_wrap,
        effect="--nnodes=auto is not understood: give a number",
    ),
)
