"""Which options the user gave, noted beside what torch made of them."""

from __future__ import annotations

from typing import Any

from torchrun_jsc.args import note_given
from torchrun_jsc.patch import Function, Patch


def _wrap(original: Function) -> Function:
    def parse_args(args: Any, *more: Any, **options: Any) -> Any:
        namespace = original(args, *more, **options)
        note_given(namespace, args)
        return namespace

    return parse_args


PATCHES = (
    Patch(
        name="given options",
        target="torch.distributed.run:parse_args",
        torch=">=1.9",
        expects=("args",),
        wrap=_wrap,
        effect="options that equal torch's defaults count as not given",
    ),
)
