"""While torch waits for the store: say what is in the way.

Nothing is sent before 15 seconds have passed, when a working launch has long reached its store.
"""

from __future__ import annotations

import os
import socket
import threading
from contextlib import contextmanager
from errno import ECONNREFUSED
from typing import TYPE_CHECKING, Iterator

from torchrun_jsc import _core
from torchrun_jsc.messages import is_first_of_node, warn
from torchrun_jsc.preflight.port import owner_of, wildcard_socket

if TYPE_CHECKING:
    from torchrun_jsc._core import Plan
    from torchrun_jsc.current import Launch

#: Seconds until the first line, and between lines.
FIRST, AGAIN = 15.0, 60.0
#: Seconds that one attempt to connect may take.
ATTEMPT = 5.0


@contextmanager
def watching(launch: Launch) -> Iterator[None]:
    """Watch over a launch until it has reached its store."""
    plan = launch.plan
    if plan.untouched is not None or plan.port is None or not is_first_of_node():
        yield
        return
    if plan.is_host:
        _check_port(plan)
        yield
        return
    threading.Thread(target=_watch, args=(plan, launch.reached), name="torchrun_jsc watch", daemon=True).start()
    try:
        yield
    finally:
        launch.reached.set()


def _check_port(plan: Plan) -> None:
    """On the host node: say who has the port, if somebody has it."""
    port = plan.port or 0
    with wildcard_socket() as probe:
        try:
            probe.bind(("", port))
        except OSError as error:
            warn(
                f"port {port} of the endpoint {plan.endpoint} is taken on node {plan.node} by {owner_of(port)} "
                f"({os.strerror(error.errno or 0)}): torch's error will follow"
            )


def _watch(plan: Plan, reached: threading.Event) -> None:
    pause = FIRST
    while not reached.wait(pause):
        trouble = why_unreachable(plan)
        if trouble and not reached.is_set():
            warn(trouble)
        pause = AGAIN


def why_unreachable(plan: Plan) -> str:
    """Return why the endpoint cannot be reached from here, in one line; empty where it can."""
    address = plan.endpoint_address
    if address is None or plan.port is None:
        return ""
    try:
        with socket.create_connection((address, plan.port), ATTEMPT):
            return ""
    except socket.timeout:
        reason = f"timed out after {ATTEMPT:g} s"
    except OSError as error:
        reason = (os.strerror(error.errno) if error.errno else str(error)).lower()
        if error.errno == ECONNREFUSED:
            reason += " (it has not started yet, or has ended)"
    source, interface = _core.route_to(address)
    via = f"from {source} on {interface}" if source else "without a route"
    line = f"node {plan.node} still cannot reach the endpoint {plan.endpoint} ({address}) {via}: {reason}"
    if plan.is_host is None:
        return line
    host = plan.host_node or "another node"
    return f"{line}; {host} should host it; this node does not: {plan.reasons['is_host']}"
