"""The listener of the strict preflight: the job's nodes get its token, nobody else gets a byte."""

from __future__ import annotations

import socket
import threading
from contextlib import closing, contextmanager
from types import SimpleNamespace
from typing import Any, Iterator

import pytest

from torchrun_jsc import _core
from torchrun_jsc.errors import TorchrunJscError
from torchrun_jsc.preflight import strict
from torchrun_jsc.preflight.strict import Card, Listener, why_unreachable

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as probe:
        return int(probe.getsockname()[1])


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A node whose own address is on loopback, so that the test is its peer."""
    monkeypatch.setattr(_core, "own_addresses", lambda: [LOOPBACK])
    monkeypatch.setattr(strict, "ATTEMPT", 1.0)
    return SimpleNamespace(node="a01", preflight_port=free_port())


def card(token: str, address: str = LOOPBACK) -> Card:
    return Card(address, [], token)


def test_a_node_of_the_job_is_answered(plan: Any) -> None:
    with closing(Listener(plan)) as listener:
        listener.answer({LOOPBACK})
        assert why_unreachable(card(listener.token), plan.preflight_port) == ""
        # Again, after clients that have gone before the answer.
        for _ in range(3):
            socket.create_connection((LOOPBACK, plan.preflight_port)).close()
        assert why_unreachable(card(listener.token), plan.preflight_port) == ""
    assert why_unreachable(card(listener.token), plan.preflight_port) == "Connection refused"


def test_who_comes_early_waits_for_the_answer(plan: Any) -> None:
    with closing(Listener(plan)) as listener, socket.create_connection((LOOPBACK, plan.preflight_port), 5) as early:
        listener.answer({LOOPBACK})
        assert early.recv(100) == listener.token.encode()


def test_a_stranger_gets_no_byte(plan: Any) -> None:
    with closing(Listener(plan)) as listener:
        listener.answer({"10.20.0.1"})
        with socket.create_connection((LOOPBACK, plan.preflight_port), 5) as stranger:
            assert stranger.recv(100) == b""
        other = "another program or another machine answers there"
        assert why_unreachable(card(listener.token), plan.preflight_port) == other


def test_two_listeners_are_told_apart(plan: Any) -> None:
    with closing(Listener(plan)) as listener:
        listener.answer({LOOPBACK})
        assert "another" in why_unreachable(card("0" * 32), plan.preflight_port)
    with closing(Listener(plan)) as again:
        assert again.token != listener.token


@contextmanager
def program(says: bytes | None) -> Iterator[int]:
    """Another program on the peer's port, with these words for everybody; None: it says nothing and keeps the line."""
    with socket.create_server((LOOPBACK, 0)) as listening:

        def serve() -> None:
            kept, _ = listening.accept()
            lines.append(kept)
            if says is not None:
                kept.sendall(says)
                kept.close()

        lines: list[socket.socket] = []
        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()
        for line in lines:
            line.close()


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", "another program or another machine answers there"),
        (b"", "another program or another machine answers there"),
        (b"0" * 31, "another program or another machine answers there"),
        (None, "timed out after 1 s"),
    ],
)
@pytest.mark.usefixtures("plan")
def test_a_connection_alone_proves_nothing(says: bytes | None, reason: str) -> None:
    with program(says) as port:
        assert why_unreachable(card("0" * 32), port) == reason


@pytest.mark.usefixtures("plan")
def test_a_name_without_an_address() -> None:
    assert why_unreachable(card("", "a b"), 1) == "no address of it was found within 1 s"


def test_a_taken_port_is_an_error(plan: Any) -> None:
    taken = f"preflight: port {plan.preflight_port} on node a01: address already in use"
    with socket.create_server(("", plan.preflight_port)), pytest.raises(TorchrunJscError, match=taken):
        Listener(plan)


def test_where_it_listens(plan: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address that cannot be used is left out; the others are this node's own, and none is the wildcard."""
    monkeypatch.setattr(_core, "own_addresses", lambda: ["203.0.113.1", LOOPBACK, "::1"])
    with closing(Listener(plan)) as listener:
        assert listener.addresses == [LOOPBACK, "::1"]
        assert [made.getsockname()[0] for made in listener._sockets] == [LOOPBACK, "::1"]


def test_own_addresses_lead_to_this_node() -> None:
    for address in _core.own_addresses():
        assert not address.startswith(("127.", "::1", "fe80:", "169.254.")), address
        socket.create_server((address, 0), family=socket.AF_INET6 if ":" in address else socket.AF_INET).close()


def test_a_system_that_does_not_list_its_addresses(plan: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the node publishes is the best guess at them."""

    def refuse() -> list[str]:
        raise OSError

    monkeypatch.setattr(_core, "own_addresses", refuse)
    plan.local_address = LOOPBACK
    with closing(Listener(plan)) as listener:
        assert listener.addresses == [LOOPBACK]
