"""No two launches on one node whose endpoint and id were both made of the step: they would mix."""

from __future__ import annotations

import hashlib
import os
import socket
from contextlib import contextmanager
from errno import EADDRINUSE
from typing import TYPE_CHECKING, Iterator

from torchrun_jsc.errors import TorchrunJscError

if TYPE_CHECKING:
    from torchrun_jsc._core import Plan


@contextmanager
def only_one(plan: Plan, run_id: str) -> Iterator[None]:
    """Be the only launch of this user here with this endpoint and id; one that is given its endpoint may have peers.

    A name of a socket is what the kernel gives to one process and takes back at its end, however that comes; no file
    stays behind. Where there are no such names, nothing is refused.

    :raises TorchrunJscError: where there is another one.
    """
    if "rdzv_endpoint" not in plan.fills:
        yield
        return
    what = f"{os.getuid()} {plan.endpoint} {run_id} {plan.local_id}"
    # A name has 107 bytes at most, and begins with a zero where it is no file: unix(7).
    name = b"\0torchrun_jsc." + hashlib.sha256(what.encode()).hexdigest().encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as held:
        try:
            held.bind(name)
        except OSError as error:
            if error.errno == EADDRINUSE:
                raise TorchrunJscError(
                    f"a launch with the endpoint {plan.endpoint} and the id {run_id} runs on node {plan.node} already, "
                    "in the same step: give one of them --rdzv-endpoint with another port and --rdzv-id, "
                    "or TORCHRUN_JSC_PORT"
                ) from None
        yield
