"""Hold torch's ``read_timeout`` where the host of the rendezvous store has vanished.

torch waits that long for a key, but for ever for an answer. From a host without power or network none comes, and Linux
gives up sending after a quarter of an hour only; until then a launcher does not see that its workers have failed.
https://github.com/pytorch/pytorch/blob/v2.6.0/torch/csrc/distributed/c10d/socket.cpp
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any, Iterator

#: How many times the kernel asks, within the timeout, whether a silent host is still there.
_PROBES = 4


def hold_read_timeout(store: Any) -> None:
    """Let connections to ``store`` end when its host has not answered for the store's timeout.

    :param store: torch's; nothing is done for one that is no ``TCPStore`` or does not tell its timeout.
    """
    port, timeout = getattr(store, "port", None), getattr(store, "timeout", None)
    if port is None or timeout is None:
        return
    milliseconds = max(1, int(timeout.total_seconds() * 1000))
    pause = max(1, milliseconds // 1000 // _PROBES)
    for connection in _connections(port):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
        # TCP_USER_TIMEOUT covers what the host has not acknowledged. It may vanish after that, with the answer still to
        # come; then the probes notice.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, pause)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, pause)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def _connections(port: int) -> Iterator[socket.socket]:
    """Give this process's connections to that port of any host; torch does not tell which files its store has."""
    for file in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if not os.readlink(file).startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(file.name))) as found:
                of_internet = found.family in (socket.AF_INET, socket.AF_INET6)
                if of_internet and found.type == socket.SOCK_STREAM and found.getpeername()[1] == port:
                    yield found
