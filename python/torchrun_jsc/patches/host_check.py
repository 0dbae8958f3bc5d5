"""The function by which torch recognises the host machine."""

from __future__ import annotations

from typing import Any

from torchrun_jsc.launch import CURRENT
from torchrun_jsc.patches.patch import Function, Patch


def _wrap(original: Function) -> Function:
    def _matches_machine_hostname(host: Any) -> Any:
        plan = CURRENT.get()
        if plan is None or plan.is_host is None or plan.host_check != "function" or host != plan.host:
            return original(host)
        return plan.is_host

    return _matches_machine_hostname


PATCHES = (
    Patch(
        name="host check",
        target="torch.distributed.elastic.rendezvous.utils:_matches_machine_hostname",
        torch=">=1.9",
        expects=("host",),
        wrap=_wrap,
        effect="torch recognises the rendezvous host by its own name only",
    ),
)
