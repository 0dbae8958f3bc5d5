"""Who has a port on this node, as far as the system tells."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Iterator

#: State of a listening socket in ``/proc/net/tcp``.
_LISTENING = "0A"


def wildcard_socket() -> socket.socket:
    """Return a socket that binds like torch's store: all addresses, IPv4 and IPv6.

    https://github.com/pytorch/pytorch/blob/v2.6.0/torch/csrc/distributed/c10d/socket.cpp
    """
    try:
        made = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    except OSError:
        # A kernel without IPv6.
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    else:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return made


def owner_of(port: int) -> str:
    """Return the process that listens on ``port``, for people."""
    sockets = {f"socket:[{inode}]" for inode in _listeners(port)}
    if not sockets:
        return "an unknown process"
    for process in Path("/proc").glob("[0-9]*"):
        if sockets.intersection(_open_files(process)):
            return _called(process)
    return "a process of another user"


def _called(process: Path) -> str:
    """What a process is called, with its number; it may have ended meanwhile."""
    try:
        name = ascii((process / "comm").read_text(errors="replace").strip())[1:-1]
    except OSError:
        name = "a process that has ended"
    return f"{name} (pid {process.name})"


def _open_files(process: Path) -> Iterator[str]:
    """What the files of a process are; those of other users are not to be seen, and some vanish meanwhile."""
    with suppress(OSError):
        for link in (process / "fd").iterdir():
            with suppress(OSError):
                yield os.readlink(link)


def _listeners(port: int) -> Iterator[str]:
    """The inodes of the sockets that listen on ``port``."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                yield fields[9]
