"""Hold torch's ``read_timeout`` where the host of the rendezvous store has vanished.

torch waits that long for a key, but for ever for an answer. From a host without power or network none comes, and Linux
gives up sending after a quarter of an hour only; until then a launcher does not see that its workers have failed.
https://github.com/pytorch/pytorch/blob/v2.6.0/torch/csrc/distributed/c10d/socket.cpp
"""

from __future__ import annotations

import os
import socket
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any, Iterator

#: How many times the kernel asks, within the timeout, whether a silent host is still there.
_PROBES = 4

#: Where systems list the open files of a process: Linux in the first one, if it is mounted, macOS in the second.
_TABLES = ("/proc/self/fd", "/dev/fd")


def hold_read_timeout(store: Any) -> None:
    """Let connections to ``store`` end when its host has not answered for the store's timeout.

    :param store: torch's; nothing is done for one that is no ``TCPStore`` or does not tell its timeout.
    """
    port, timeout = getattr(store, "port", None), getattr(store, "timeout", None)
    if port is None or timeout is None:
        return
    milliseconds = max(1, int(timeout.total_seconds() * 1000))
    pause = max(1, milliseconds // 1000 // _PROBES)
    # TCP_USER_TIMEOUT covers what the host has not acknowledged. It may vanish after that, with the answer still to
    # come; then the probes notice.
    wanted = {"TCP_USER_TIMEOUT": milliseconds, "TCP_KEEPIDLE": pause, "TCP_KEEPINTVL": pause}
    # macOS has no TCP_USER_TIMEOUT, and in old Pythons no TCP_KEEPIDLE.
    options = [(getattr(socket, name), value) for name, value in wanted.items() if hasattr(socket, name)]
    for connection in _connections(port):
        for option, value in options:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def _connections(port: int) -> Iterator[socket.socket]:
    """Give this process's connections to that port of any host; torch does not tell which files its store has."""
    for file in _open_files():
        with suppress(OSError):
            if not stat.S_ISSOCK(os.fstat(file).st_mode):
                continue
            with socket.socket(fileno=os.dup(file)) as found:
                of_internet = found.family in (socket.AF_INET, socket.AF_INET6)
                if of_internet and found.type == socket.SOCK_STREAM and found.getpeername()[1] == port:
                    yield found


def _open_files() -> list[int]:
    """The numbers of this process's open files, as far as the system tells: nothing is done without it."""
    for directory in _TABLES:
        with suppress(OSError):
            return [int(file.name) for file in Path(directory).iterdir()]
    return []
