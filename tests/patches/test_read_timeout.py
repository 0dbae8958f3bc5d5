"""Connections to the rendezvous store end in time when its host has vanished."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from torch.distributed import TCPStore

from torchrun_jsc.read_timeout import hold_read_timeout


def timeouts() -> list[tuple[int, int]]:
    """The timeout in milliseconds, and whether probes are sent, of each connection of this process."""
    found = []
    for file in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if os.readlink(file).startswith("socket:"):
                with socket.socket(fileno=os.dup(int(file.name))) as one:
                    timeout = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
                    found.append((timeout, one.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)))
    return sorted(found)


@pytest.mark.skipif(not hasattr(TCPStore, "timeout"), reason="this torch does not tell the timeout of a store")
def test_the_clients_connection_has_the_stores_timeout() -> None:
    store = TCPStore("localhost", 0, is_master=True, wait_for_workers=False, timeout=timedelta(seconds=7))
    before = timeouts()
    hold_read_timeout(store)
    # The store is its own client here: its question has the timeout, and the end that answers has not.
    assert [timeout for timeout in timeouts() if timeout not in before] == [(7000, 1)]
    store.set("key", "value")
    assert store.get("key") == b"value"


def test_other_stores_are_left_alone() -> None:
    before = timeouts()
    hold_read_timeout(object())
    assert timeouts() == before
