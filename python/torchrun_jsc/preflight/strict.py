"""``TORCHRUN_JSC_PREFLIGHT=strict``: before workers start, every node connects once to every other one.

The nodes meet in the rendezvous store that torch has opened. The first node collects what failed and prints it.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Callable, Iterator

from torchrun_jsc.errors import TorchrunJscError
from torchrun_jsc.messages import show
from torchrun_jsc.preflight.port import wildcard_socket
from torchrun_jsc.settings import PREFLIGHT_TIMEOUT

if TYPE_CHECKING:
    from torchrun_jsc._core import Plan

#: Seconds that one attempt to connect may take.
ATTEMPT = 5.0
#: Attempts at a time.
WIDTH = 16
#: Seconds between two looks into the store.
POLL = 0.2

_GOOD, _BAD = 1, 2


class Board:
    """What the nodes tell one another, in the rendezvous store."""

    def __init__(self, store: Any, run_id: str) -> None:
        """Use keys of their own in ``store``."""
        self._store = store
        self._prefix = f"torchrun_jsc.preflight.{run_id}."

    def tell(self, topic: str, node: int, text: str) -> None:
        """Leave the text of a node."""
        self._store.set(f"{self._prefix}{topic}.{node}", text)
        self._store.add(f"{self._prefix}{topic}.{node}.there", 1)
        self._store.add(f"{self._prefix}{topic}", 1)

    def count(self, topic: str) -> int:
        """Return how many nodes have left a text, without waiting."""
        return int(self._store.add(f"{self._prefix}{topic}", 0))

    def heard(self, topic: str, nodes: int) -> dict[int, str]:
        """Return the texts that are there, by node, without waiting."""
        there = [node for node in range(nodes) if self._store.add(f"{self._prefix}{topic}.{node}.there", 0)]
        return {node: self._store.get(f"{self._prefix}{topic}.{node}").decode() for node in there}


def check(plan: Plan, store: Any, run_id: str) -> None:
    """Connect to all other nodes of the step, and be connected to.

    :raises TorchrunJscError: where some nodes cannot reach others, or never came.
    """
    place, nodes, address = plan.node_rank, plan.nnodes, plan.local_address
    if place is None or nodes is None or address is None:
        raise TorchrunJscError("TORCHRUN_JSC_PREFLIGHT=strict: the nodes of the step are not known here")
    board = Board(store, run_id)
    with _listening(plan):
        board.tell("address", place, address)
        _until(lambda: board.count("address") >= nodes)
        addresses = board.heard("address", nodes)
        others = {node: peer for node, peer in addresses.items() if node != place}
        board.tell("failed", place, json.dumps(_connect_all(others, plan.preflight_port)))
        if place == min(addresses):
            _until(lambda: board.count("failed") >= len(addresses))
            lines = _report(plan, nodes, addresses, board.heard("failed", nodes))
            show("\n".join(lines or [f"preflight: all {nodes} nodes reach one another"]))
            board.tell("verdict", _BAD if lines else _GOOD, "")
        _until(lambda: board.count("verdict") > 0)
        if not board.heard("verdict", _BAD + 1).keys() == {_GOOD}:
            raise TorchrunJscError(f"preflight: not all nodes reach one another; node {_name(plan, 0)} says which")


def _connect_all(peers: dict[int, str], port: int) -> dict[int, str]:
    """Return why which nodes could not be reached."""
    with ThreadPoolExecutor(WIDTH) as pool:
        answers = dict(zip(peers, pool.map(lambda peer: _connect(peer, port), peers.values())))
    return {node: reason for node, reason in answers.items() if reason}


def _connect(address: str, port: int) -> str:
    try:
        with socket.create_connection((address, port), ATTEMPT):
            return ""
    except socket.timeout:
        return f"timed out after {ATTEMPT:g} s"
    except OSError as error:
        return error.strerror or str(error)


def _report(plan: Plan, nodes: int, addresses: dict[int, str], failed: dict[int, str]) -> list[str]:
    """One line for each node that never came or never reported and for each pair that failed."""
    lines = [f"preflight: node {_name(plan, node)} never came" for node in range(nodes) if node not in addresses]
    lines += [f"preflight: node {_name(plan, node)} did not report" for node in addresses if node not in failed]
    for node, reasons in sorted(failed.items()):
        for peer, reason in json.loads(reasons).items():
            target = f"{_name(plan, int(peer))} ({addresses[int(peer)]})"
            lines.append(f"preflight: node {_name(plan, node)} cannot reach {target}: {reason}")
    return lines


def _name(plan: Plan, node: int) -> str:
    return plan.nodes[node] if plan.nodes is not None else str(node)


def _until(done: Callable[[], bool]) -> None:
    """Wait for all nodes to come, or to report, for a limited time."""
    end = time.monotonic() + PREFLIGHT_TIMEOUT.read(os.environ)
    while not done() and time.monotonic() < end:
        time.sleep(POLL)


@contextmanager
def _listening(plan: Plan) -> Iterator[None]:
    """Accept connections and close them at once, without a word."""
    listener = wildcard_socket()
    try:
        listener.bind(("", plan.preflight_port))
    except OSError as error:
        listener.close()
        raise TorchrunJscError(
            f"preflight: port {plan.preflight_port} on node {plan.node}: {(error.strerror or str(error)).lower()}"
        ) from None
    listener.listen(socket.SOMAXCONN)
    threading.Thread(target=_accept, args=(listener,), name="torchrun_jsc preflight", daemon=True).start()
    try:
        yield
    finally:
        # Wakes the thread, which close() alone would not.
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _accept(listener: socket.socket) -> None:
    with suppress(OSError):
        while True:
            listener.accept()[0].close()
