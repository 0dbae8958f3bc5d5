"""The line about an endpoint that cannot be reached."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any

import pytest

from torchrun_jsc.preflight.watch import why_unreachable


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def plan(port: int, **more: Any) -> Any:
    known = {"endpoint": f"n1i:{port}", "endpoint_address": "127.0.0.1", "port": port, "node": "n2", "host_node": "n1"}
    return SimpleNamespace(**{**known, "is_host": None, "reasons": {}, **more})


def test_where_this_node_does_not_host(closed_port: int) -> None:
    line = why_unreachable(plan(closed_port, is_host=False, reasons={"is_host": "is_host in --rdzv_conf"}))
    assert line == (
        f"node n2 still cannot reach the endpoint n1i:{closed_port} (127.0.0.1) from 127.0.0.1 on lo: "
        "connection refused (it has not started yet, or has ended); n1 should host it; "
        "this node does not: is_host in --rdzv_conf"
    )


def test_where_no_node_is_to_host(closed_port: int) -> None:
    """An etcd server is none of the nodes."""
    line = why_unreachable(plan(closed_port))
    assert line.endswith(" from 127.0.0.1 on lo: connection refused (it has not started yet, or has ended)")


def test_where_it_can_be_reached() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        assert why_unreachable(plan(server.getsockname()[1])) == ""
