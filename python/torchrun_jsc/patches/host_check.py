"""The function by which torch recognises the host machine."""

from __future__ import annotations

import socket
from typing import Any

from torchrun_jsc.launch import CURRENT
from torchrun_jsc.patches.patch import Function, Patch

#: Where torch calls it. It is made in ``rendezvous.utils`` and imported by value, so that a patch there comes too late
#: for a program that has used a rendezvous before:
#: https://github.com/pytorch/pytorch/blob/v2.6.0/torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py#L26
TARGET = "torch.distributed.elastic.rendezvous.c10d_rendezvous_backend:_matches_machine_hostname"


def _wrap(original: Function) -> Function:
    def _matches_machine_hostname(host: Any) -> Any:
        plan = CURRENT.get()
        if plan is None or plan.untouched is not None or host != plan.host:
            return original(host)
        if plan.is_host is not None:
            return plan.is_host
        try:
            return original(host)
        except socket.gaierror:
            # torch looks up this machine's own name, which may be unknown here. The interfaces do not have the host's
            # address.
            return False

    return _matches_machine_hostname


PATCHES = (
    Patch(
        name="host check",
        target=TARGET,
        torch=">=1.9",
        expects=("host",),
        wrap=_wrap,
        effect="the rendezvous host is told by is_host in --rdzv_conf",
    ),
)
