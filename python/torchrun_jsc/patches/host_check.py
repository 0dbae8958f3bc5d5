"""The function by which torch recognises the host machine."""

from __future__ import annotations

import socket
from typing import Any

from torchrun_jsc.current import LAUNCH
from torchrun_jsc.patch import Function, Patch


def _wrap(original: Function) -> Function:
    def _matches_machine_hostname(host: Any, *args: Any, **kwargs: Any) -> Any:
        launch = LAUNCH.get()
        plan = None if launch is None else launch.plan
        if plan is None or plan.untouched is not None or host != plan.host:
            return original(host, *args, **kwargs)
        if plan.is_host is not None:
            return plan.is_host
        try:
            return original(host, *args, **kwargs)
        except socket.gaierror:
            # torch looks up this machine's own name, which may be unknown here. The interfaces do not have the host's
            # address.
            return False

    return _matches_machine_hostname


PATCHES = (
    Patch(
        name="host check",
        # Where torch calls it. It is made in ``rendezvous.utils`` and imported by value, so that a patch there comes
        # too late for a program that has used a rendezvous before:
        # https://github.com/pytorch/pytorch/blob/v2.6.0/torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py#L26
        target="torch.distributed.elastic.rendezvous.c10d_rendezvous_backend:_matches_machine_hostname",
        torch=">=1.9",
        expects=("host",),
        wrap=_wrap,
        effect="the rendezvous host is told by is_host in --rdzv_conf",
    ),
)
