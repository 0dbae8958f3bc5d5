"""How long an agent waits for a store whose host is late.

torch gives up after ``read_timeout``, 60 s, although nodes may come until ``join_timeout``, 600 s:
https://github.com/pytorch/pytorch/blob/v2.6.0/torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py
https://github.com/pytorch/pytorch/blob/v2.6.0/torch/distributed/elastic/rendezvous/dynamic_rendezvous.py
"""

from __future__ import annotations

import time
from typing import Any

from torchrun_jsc.current import LAUNCH
from torchrun_jsc.patch import Function, Patch

#: torch's own, in seconds.
_JOIN_TIMEOUT, _READ_TIMEOUT = 600, 60


def _wrap(original: Function) -> Function:
    def _create_tcp_store(params: Any, *args: Any, **kwargs: Any) -> Any:
        begin = time.monotonic()
        attempt = params.get_as_int("read_timeout", _READ_TIMEOUT)
        while True:
            began = time.monotonic()
            try:
                return original(params, *args, **kwargs)
            except Exception as error:
                now = time.monotonic()
                # What fails at once does not come of a late host. torch gives up before a pause that would not end in
                # time: https://github.com/pytorch/pytorch/blob/v2.6.0/torch/csrc/distributed/c10d/socket.cpp
                is_late = type(error).__name__ == "RendezvousConnectionError" and now - began >= attempt / 2
                if not is_late or now - begin + attempt > _patience(params):
                    raise

    return _create_tcp_store


def _patience(params: Any) -> float:
    """Return the seconds to wait for the host in all; 0 leaves it to torch."""
    launch = LAUNCH.get()
    if launch is None or launch.plan.untouched is not None or launch.plan.is_host is not False:
        return 0
    # Whoever gave read_timeout alone said how long to wait for the store.
    default = _JOIN_TIMEOUT if params.get("read_timeout") is None else 0
    patience: float = params.get_as_int("join_timeout", default)
    return patience


PATCHES = (
    Patch(
        name="late host",
        target="torch.distributed.elastic.rendezvous.c10d_rendezvous_backend:_create_tcp_store",
        torch=">=1.9",
        expects=("params",),
        wrap=_wrap,
        effect="a node waits read_timeout, 60 s, for a host that is late, and not join_timeout",
    ),
)
