"""The name under which rank 0 publishes ``MASTER_ADDR``; since 2.4 it is only told to event handlers.

https://github.com/pytorch/pytorch/blob/v2.3.1/torch/distributed/elastic/agent/server/api.py
"""

from __future__ import annotations

from typing import Any

from torchrun_jsc.current import own_address
from torchrun_jsc.patch import Function, Patch

TARGET = "torch.distributed.elastic.agent.server.api:_get_fq_hostname"


def _wrap(original: Function) -> Function:
    def _get_fq_hostname(*args: Any, **kwargs: Any) -> Any:
        return own_address() or original(*args, **kwargs)

    return _get_fq_hostname


def _patch(torch: str, effect: str, *, old_solution: bool = False) -> Patch:
    return Patch(
        name="host name",
        target=TARGET,
        torch=torch,
        expects=(),
        wrap=_wrap,
        effect=effect,
        old_solution=old_solution,
    )


PATCHES = (
    _patch(">=1.9,<2.0", "MASTER_ADDR is rank 0's own host name, which other nodes may not reach"),
    # --local_addr comes before this name: SimpleElasticAgent._set_master_addr_port.
    _patch(">=2.0,<2.4", "--local_addr is used instead", old_solution=True),
    _patch(">=2.4,<2.5", "event handlers get the node's own host name"),
    _patch(">=2.5", "--local_addr is used instead", old_solution=True),
)
