"""Who has a port on this node."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from torchrun_jsc.preflight.port import owner_of, wildcard_socket

if not Path("/proc/self/fd").exists():
    pytest.skip("the kernel tells it in /proc", allow_module_level=True)


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6], ids=["IPv4", "IPv6"])
def test_this_process(family: socket.AddressFamily) -> None:
    with socket.socket(family) as listener:
        try:
            listener.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0))
        except OSError as error:
            pytest.skip(f"no loopback address of this kind: {error}")
        listener.listen()
        name = Path("/proc/self/comm").read_text().strip()
        assert owner_of(listener.getsockname()[1]) == f"{name} (pid {os.getpid()})"


def test_nobody_who_listens() -> None:
    with wildcard_socket() as bound:
        bound.bind(("", 0))
        assert owner_of(bound.getsockname()[1]) == "an unknown process"


def test_all_addresses_are_taken_at_once() -> None:
    with wildcard_socket() as first, wildcard_socket() as second:
        first.bind(("", 0))
        first.listen()
        with pytest.raises(OSError, match="in use"):
            second.bind(("", first.getsockname()[1]))
