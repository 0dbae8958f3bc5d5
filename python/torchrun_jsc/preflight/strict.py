"""``TORCHRUN_JSC_PREFLIGHT=strict``: before workers start, every node connects once to every other one.

The nodes meet in the rendezvous store that torch has opened. The first node collects what failed and prints it.

Each node listens on its own addresses and gives whoever connects from an address of the job's nodes a token, which
it has left in the store: a connection alone would prove nothing, since another program may have that port, or
another machine that name. Everybody else is cut off without a word.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from errno import EADDRNOTAVAIL
from typing import TYPE_CHECKING, Any, Callable, Collection, NamedTuple

from torchrun_jsc import _core
from torchrun_jsc.errors import TorchrunJscError
from torchrun_jsc.messages import show

if TYPE_CHECKING:
    from torchrun_jsc._core import Plan
    from torchrun_jsc.current import Launch

#: Seconds that one attempt to connect may take.
ATTEMPT = 5.0
#: Attempts at a time.
WIDTH = 16
#: Seconds between two looks into the store.
POLL = 0.2

_GOOD, _BAD = 1, 2


class Card(NamedTuple):
    """What a node tells the others of itself."""

    #: What it publishes.
    address: str
    #: What it may connect from.
    sources: list[str]
    #: What its listener says.
    token: str


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


def check(launch: Launch, store: Any, run_id: str) -> None:
    """Connect to all other nodes of the step, and be connected to.

    :raises TorchrunJscError: where some nodes cannot reach others, or never came.
    """
    plan, patience = launch.plan, launch.settings.preflight_timeout
    place, nodes, address = plan.node_rank, plan.nnodes, plan.local_address
    if place is None or nodes is None or address is None:
        raise TorchrunJscError("TORCHRUN_JSC_PREFLIGHT=strict: the nodes of the step are not known here")
    board = Board(store, run_id)
    with closing(Listener(plan)) as listener:
        board.tell("card", place, json.dumps(Card(address, listener.addresses, listener.token)))
        _until(lambda: board.count("card") >= nodes, patience)
        cards = {node: Card(*json.loads(text)) for node, text in board.heard("card", nodes).items()}
        listener.answer({source for card in cards.values() for source in card.sources})
        others = {node: card for node, card in cards.items() if node != place}
        board.tell("failed", place, json.dumps(_connect_all(others, plan.preflight_port)))
        if place == min(cards):
            _until(lambda: board.count("failed") >= len(cards), patience)
            lines = _report(plan, nodes, cards, board.heard("failed", nodes))
            show("\n".join(lines or [f"preflight: all {nodes} nodes reach one another"]))
            board.tell("verdict", _BAD if lines else _GOOD, "")
        _until(lambda: board.count("verdict") > 0, patience)
        if not board.heard("verdict", _BAD + 1).keys() == {_GOOD}:
            raise TorchrunJscError(f"preflight: not all nodes reach one another; node {_name(plan, 0)} says which")


def _connect_all(peers: dict[int, Card], port: int) -> dict[int, str]:
    """Return why which nodes could not be reached."""
    with ThreadPoolExecutor(WIDTH) as pool:
        answers = dict(zip(peers, pool.map(lambda peer: why_unreachable(peer, port), peers.values())))
    return {node: reason for node, reason in answers.items() if reason}


def why_unreachable(peer: Card, port: int) -> str:
    """Return why none of the addresses of what ``peer`` publishes leads to its listener; empty where one does."""
    (addresses,) = _core.lookup([peer.address], ATTEMPT)
    reason = f"no address of it was found within {ATTEMPT:g} s"
    for address in addresses:
        reason = _try(address, port, peer.token)
        if not reason:
            break
    return reason


def _try(address: str, port: int, token: str) -> str:
    try:
        with socket.create_connection((address, port), ATTEMPT) as connection:
            # It is short enough to come in one piece.
            said = connection.recv(len(token))
    except socket.timeout:
        return f"timed out after {ATTEMPT:g} s"
    except OSError as error:
        return error.strerror or str(error)
    return "" if said == token.encode() else "another program or another machine answers there"


def _report(plan: Plan, nodes: int, cards: dict[int, Card], failed: dict[int, str]) -> list[str]:
    """One line for each node that never came or never reported and for each pair that failed."""
    lines = [f"preflight: node {_name(plan, node)} never came" for node in range(nodes) if node not in cards]
    lines += [f"preflight: node {_name(plan, node)} did not report" for node in cards if node not in failed]
    for node, reasons in sorted(failed.items()):
        for peer, reason in json.loads(reasons).items():
            target = f"{_name(plan, int(peer))} ({cards[int(peer)].address})"
            lines.append(f"preflight: node {_name(plan, node)} cannot reach {target}: {reason}")
    return lines


def _name(plan: Plan, node: int) -> str:
    return plan.nodes[node] if plan.nodes is not None else str(node)


def _until(done: Callable[[], bool], seconds: float) -> None:
    """Wait for all nodes to come, or to report, for so long at most."""
    end = time.monotonic() + seconds
    while not done() and time.monotonic() < end:
        time.sleep(POLL)


def _own_addresses(plan: Plan) -> list[str]:
    """Return the addresses to listen on; where the system does not list them, those of what this node publishes."""
    try:
        return _core.own_addresses()
    except OSError:
        (addresses,) = _core.lookup([plan.local_address or ""], ATTEMPT)
        return addresses


class Listener:
    """Sockets on this node's own addresses, which answer the job's nodes and nobody else."""

    def __init__(self, plan: Plan) -> None:
        """Listen. Connections wait until :meth:`answer`.

        Not on the wildcard address: loopback and the bridges of containers lead to no other node. Not on the address of
        the published name alone: to another node that name may mean another one of these.

        :raises TorchrunJscError: where the port is taken.
        """
        #: Not a decision: it only has to be this listener's own.
        self.token = secrets.token_hex(16)
        #: Where it listens, and what this node connects from.
        self.addresses: list[str] = []
        self._sockets: list[socket.socket] = []
        port = plan.preflight_port
        for address in _own_addresses(plan):
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            try:
                made = socket.create_server((address, port), family=family, backlog=socket.SOMAXCONN)
            except OSError as error:
                # The interface lists an address that it may not use while another machine answers to it.
                if error.errno == EADDRNOTAVAIL:
                    continue
                self.close()
                reason = os.strerror(error.errno or 0).lower()
                raise TorchrunJscError(f"preflight: port {port} on node {plan.node}: {reason}") from None
            self._sockets.append(made)
            self.addresses.append(address)

    def close(self) -> None:
        """Stop listening."""
        for listening in self._sockets:
            # Wakes the thread, which close() alone would not.
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            listening.close()

    def answer(self, sources: Collection[str]) -> None:
        """Give connections from these addresses the token from now on, and cut off all others."""
        for listening in self._sockets:
            arguments = (listening, sources, self.token.encode())
            threading.Thread(target=_accept, args=arguments, name="torchrun_jsc preflight", daemon=True).start()


def _accept(listening: socket.socket, sources: Collection[str], token: bytes) -> None:
    """Answer until the socket is closed. Nothing is read, so nobody can keep this waiting."""
    with suppress(OSError):
        while True:
            connection, (source, *_) = listening.accept()
            with connection, suppress(OSError):
                if source in sources:
                    connection.sendall(token)
