"""Every launch passes here: those of the command line have their plan already, others get it now."""

from __future__ import annotations

from typing import Any

from torchrun_jsc.args import given_in_config
from torchrun_jsc.launch import prepare, running
from torchrun_jsc.patches.patch import Function, Patch


def _wrap(original: Function) -> Function:
    def launch_agent(config: Any, *args: Any, **kwargs: Any) -> Any:
        plan = prepare(config, given_in_config(config))
        with running(plan):
            return original(config, *args, **kwargs)

    return launch_agent


def _patch(torch: str, *more: str) -> Patch:
    return Patch(
        name=f"launch ({torch})",
        target="torch.distributed.launcher.api:launch_agent",
        torch=torch,
        expects=("config", "entrypoint", "args", *more),
        wrap=_wrap,
        effect="the rendezvous host and the workers' master address stay as torch finds them",
    )


PATCHES = (
    _patch(">=1.9,<2.13"),
    # https://github.com/pytorch/pytorch/blob/v2.13.0/torch/distributed/launcher/api.py
    _patch(">=2.13", "health_check_server"),
)
