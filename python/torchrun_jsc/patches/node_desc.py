"""The node metadata: by what a node is known in the rendezvous. Nodes are sorted by it, and since 2.5 rank 0's is
``MASTER_ADDR``.

https://github.com/pytorch/pytorch/blob/v2.6.0/torch/distributed/elastic/rendezvous/dynamic_rendezvous.py
"""

from __future__ import annotations

import dataclasses
from typing import Any

from torchrun_jsc.current import own_address
from torchrun_jsc.patch import Function, Patch

TARGET = "torch.distributed.elastic.rendezvous.dynamic_rendezvous:_NodeDescGenerator.generate"


def _wrap_without_address(original: Function) -> Function:
    def generate(self: Any, *args: Any, **kwargs: Any) -> Any:
        description = original(self, *args, **kwargs)
        address = own_address()
        return description if address is None else dataclasses.replace(description, fqdn=address)

    return generate


def _wrap_with_address(original: Function) -> Function:
    def generate(self: Any, local_addr: Any = None, *args: Any, **kwargs: Any) -> Any:
        return original(self, local_addr or own_address(), *args, **kwargs)

    return generate


PATCHES = (
    Patch(
        name="node metadata",
        target=TARGET,
        torch=">=1.9,<2.0",
        expects=("self",),
        wrap=_wrap_without_address,
        effect="ranks follow the nodes' own host names",
        uses=("_NodeDesc.fqdn",),
    ),
    Patch(
        name="node metadata",
        target=TARGET,
        torch=">=2.0",
        expects=("self", "local_addr"),
        wrap=_wrap_with_address,
        effect="--local_addr is used instead",
        old_solution=True,
    ),
)
