"""Room for the connections of a rendezvous store: each agent and each worker has one, and the host as many files."""

from __future__ import annotations

import resource
from contextlib import suppress

from torchrun_jsc.messages import warn

#: Files that Python, torch and the workers' pipes take besides.
_OTHERS = 256


def make_room(node: str, nodes: int, workers: int) -> None:
    """Raise this process's soft limit of open files to what hosting needs, as far as the hard one lets it.

    Never lower. At its limit a store accepts no more connections, and nobody says so.

    :param node: this node's name.
    :param nodes: agents that will come, one a node.
    :param workers: processes that they start in all.
    """
    # A connection may break and be made again before the store has seen its end.
    needed = 2 * (nodes + workers) + _OTHERS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    is_enough = hard == resource.RLIM_INFINITY or hard >= needed
    # A sandbox may forbid it; the limit is then what it was.
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed if is_enough else hard, hard))
    if not is_enough:
        warn(
            f"node {node} hosts the store for {nodes} nodes with {workers} workers, which may need {needed} open "
            f"files, but the hard limit is {hard} (ulimit -Hn)"
        )
