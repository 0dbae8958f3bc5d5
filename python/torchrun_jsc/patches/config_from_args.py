"""The plan is applied to the ``LaunchConfig`` that torch built from the command line."""

from __future__ import annotations

from typing import Any

from torchrun_jsc.args import given_of
from torchrun_jsc.launch import prepare
from torchrun_jsc.patch import Function, Patch


def _wrap(original: Function) -> Function:
    def config_from_args(args: Any, *more: Any, **options: Any) -> Any:
        made = original(args, *more, **options)
        prepare(
            made[0],
            given_of(args),
            standalone=bool(args.standalone),
            node_rank=args.node_rank,
            master_port=args.master_port,
        )
        return made

    return config_from_args


PATCHES = (
    Patch(
        name="command line",
        target="torch.distributed.run:config_from_args",
        torch=">=1.9",
        expects=("args",),
        wrap=_wrap,
        effect="nothing is filled in from Slurm",
    ),
)
