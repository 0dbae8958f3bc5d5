"""Which options the user gave, noted whenever torch's parser reads a command line.

The parser and not ``parse_args``: ``torch.distributed.launch`` has one of its own, and programs call the parser's.
"""

from __future__ import annotations

import argparse
from typing import Any, Sequence

from torchrun_jsc.args import TRACKED, note_given
from torchrun_jsc.patch import Function, Patch


class _Noting(argparse.ArgumentParser):
    """A parser that reads everything twice: the second time without defaults, so that only what was given is left."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        made, rest = super().parse_known_args(args, namespace)
        defaults = {name: self.get_default(name) for name in TRACKED}
        self.set_defaults(**dict.fromkeys(TRACKED))
        try:
            again, _ = super().parse_known_args(args)
        finally:
            self.set_defaults(**defaults)
        note_given(made, again)
        return made, rest


def _wrap(original: Function) -> Function:
    def get_args_parser(*args: Any, **kwargs: Any) -> Any:
        parser = original(*args, **kwargs)
        kind = type(parser)
        # Its class and not its method, which copies of the parser would share with it.
        parser.__class__ = type(kind.__name__, (_Noting, kind), {})
        return parser

    return get_args_parser


PATCHES = (
    Patch(
        name="given options",
        target="torch.distributed.run:get_args_parser",
        torch=">=1.9",
        expects=(),
        wrap=_wrap,
        effect="options that equal torch's defaults count as not given",
    ),
)
