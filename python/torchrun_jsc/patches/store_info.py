"""The rendezvous metadata: where rank 0 publishes ``MASTER_ADDR`` since 2.4.

https://github.com/pytorch/pytorch/blob/v2.4.1/torch/distributed/elastic/rendezvous/api.py
"""

from __future__ import annotations

from typing import Any

from torchrun_jsc.current import own_address
from torchrun_jsc.patch import Function, Patch

TARGET = "torch.distributed.elastic.rendezvous.api:RendezvousStoreInfo.build"


class _Publishing:
    """A store to which rank 0's ``MASTER_ADDR`` is written as our own address."""

    def __init__(self, store: Any, address: str) -> None:
        self._store = store
        self._address = address

    def set(self, key: str, value: Any) -> Any:
        return self._store.set(key, self._address.encode() if key == "MASTER_ADDR" else value)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def _wrap_without_address(original: Function) -> Function:
    def build(rank: Any, store: Any, *args: Any, **kwargs: Any) -> Any:
        address = own_address()
        return original(rank, store if address is None else _Publishing(store, address), *args, **kwargs)

    return build


def _wrap_with_address(original: Function) -> Function:
    def build(rank: Any, store: Any, local_addr: Any, *args: Any, **kwargs: Any) -> Any:
        return original(rank, store, local_addr or own_address(), *args, **kwargs)

    return build


PATCHES = (
    # The one release where --local_addr does not reach it.
    Patch(
        name="rendezvous metadata",
        target=TARGET,
        torch=">=2.4,<2.5",
        expects=("rank", "store"),
        wrap=_wrap_without_address,
        effect="MASTER_ADDR is rank 0's own host name, which other nodes may not reach",
    ),
    Patch(
        name="rendezvous metadata",
        target=TARGET,
        torch=">=2.5",
        expects=("rank", "store", "local_addr"),
        wrap=_wrap_with_address,
        effect="--local_addr is used instead",
        old_solution=True,
    ),
)
