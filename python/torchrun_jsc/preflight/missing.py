"""On the host: say which nodes torch waits for."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator

from torchrun_jsc import _core
from torchrun_jsc.arrivals import Arrivals
from torchrun_jsc.messages import is_first_of_node, warn
from torchrun_jsc.preflight.watch import AGAIN, FIRST

if TYPE_CHECKING:
    from torchrun_jsc._core import Plan
    from torchrun_jsc.current import Launch


@contextmanager
def awaiting_nodes(launch: Launch, handler: Any) -> Iterator[None]:
    """Note that this node has come to the next round of torch's ``handler``; on the host, say who has not.

    The host is the one that knows: where each node names itself as the endpoint, each of them is alone with its store.
    """
    plan = launch.plan
    if plan.node_rank is None or plan.nodes is None or plan.nnodes is None:
        yield
        return
    holder = handler._state_holder
    # An agent that comes to a round that others are in does not know its number yet.
    holder.sync()
    arrivals = Arrivals(handler._store, handler.get_run_id(), holder.state.round + bool(holder.state.complete))
    arrivals.note(plan.node_rank)
    # With fewer nodes than the step has, nobody knows which of them are to come.
    if not plan.is_host or not is_first_of_node() or handler.settings.max_nodes < plan.nnodes:
        yield
        return
    over = threading.Event()
    threading.Thread(target=_watch, args=(plan, arrivals, over), name="torchrun_jsc nodes", daemon=True).start()
    try:
        yield
    except Exception as error:
        # By its name: torch is not imported for a message.
        if type(error).__name__ == "RendezvousTimeoutError":
            _say_who_never_came(plan, arrivals, handler.settings.timeout.join.total_seconds())
        raise
    finally:
        over.set()


def _watch(plan: Plan, arrivals: Arrivals, over: threading.Event) -> None:
    waited, pause = 0.0, FIRST
    while not over.wait(pause):
        waited, pause = waited + pause, AGAIN
        absent = _absent(plan, arrivals)
        if absent and not over.is_set():
            verb = "has" if len(absent) == 1 else "have"
            names = _core.fold_hostlist(absent)
            warn(f"{len(absent)} of {plan.nnodes} nodes {verb} not come after {waited:g} s: {names}")


def _say_who_never_came(plan: Plan, arrivals: Arrivals, seconds: float) -> None:
    absent, nodes = _absent(plan, arrivals), plan.nnodes or 0
    if absent:
        warn(
            f"only {nodes - len(absent)} of {nodes} nodes came within join_timeout={seconds:g} s; "
            f"{_core.fold_hostlist(absent)} never came; nodes that come later will find no store"
        )


def _absent(plan: Plan, arrivals: Arrivals) -> list[str]:
    """Return the names of the nodes that have not come."""
    if plan.nodes is None:
        return []
    try:
        return [plan.nodes[rank] for rank in arrivals.missing(len(plan.nodes))]
    except RuntimeError:
        # The store is gone, as torch will say.
        return []
