"""Connections to the rendezvous store end in time when its host has vanished."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from torch.distributed import TCPStore

from torchrun_jsc import read_timeout
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


def held(monkeypatch: pytest.MonkeyPatch, tables: tuple[str, ...]) -> list[tuple[int, int]]:
    """What becomes of a connection where the system has these lists of open files."""
    monkeypatch.setattr(read_timeout, "_TABLES", tables)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            before = timeouts()
            hold_read_timeout(SimpleNamespace(port=port, timeout=timedelta(seconds=7)))
            return [each for each in timeouts() if each not in before]


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        (("/proc/self/fd", "/dev/fd"), [(7000, 1)]),
        (("/nowhere", "/dev/fd"), [(7000, 1)]),
        (("/nowhere", "/nowhere"), []),
    ],
)
def test_what_lists_the_open_files(
    monkeypatch: pytest.MonkeyPatch, tables: tuple[str, ...], expected: list[tuple[int, int]]
) -> None:
    assert held(monkeypatch, tables) == expected


def test_a_system_without_that_timeout_still_sends_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.delattr(socket, "TCP_USER_TIMEOUT")
        patched.setattr(read_timeout, "_TABLES", ("/proc/self/fd",))
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port)) as client:
                hold_read_timeout(SimpleNamespace(port=port, timeout=timedelta(seconds=7)))
                assert client.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
