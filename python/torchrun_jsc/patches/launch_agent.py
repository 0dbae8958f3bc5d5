"""Every launch passes here: those of the command line have their plan already, others get it now."""

from __future__ import annotations

from typing import Any

from torchrun_jsc.args import given_in_config
from torchrun_jsc.launch import running
from torchrun_jsc.patch import Function, Patch


def _wrap(original: Function) -> Function:
    def launch_agent(config: Any, *args: Any, **kwargs: Any) -> Any:
        with running(config, given_in_config(config)):
            return original(config, *args, **kwargs)

    return launch_agent


PATCHES = (
    Patch(
        name="launch",
        target="torch.distributed.launcher.api:launch_agent",
        torch=">=1.9",
        expects=("config", "entrypoint", "args"),
        wrap=_wrap,
        effect="the rendezvous host and the workers' master address stay as torch finds them",
    ),
)
