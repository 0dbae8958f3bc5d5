"""Which nodes of the step have come to a round, noted in the rendezvous store."""

from __future__ import annotations

from typing import Any


class Arrivals:
    """The notes of one round; every agent of it has the same ``run_id`` and ``number``."""

    def __init__(self, store: Any, run_id: str, number: int) -> None:
        """Use keys of their own in torch's ``store``."""
        self._store = store
        self._prefix = f"torchrun_jsc.{run_id}.came.{number}."

    def note(self, node_rank: int) -> None:
        """Note that an agent of this node has come."""
        self._store.add(f"{self._prefix}{node_rank}", 1)

    def missing(self, nodes: int) -> list[int]:
        """Return the ranks of those of ``nodes`` that have not come, without waiting."""
        # add() answers at once, where get() would wait for a key that nobody has set.
        return [rank for rank in range(nodes) if not self._store.add(f"{self._prefix}{rank}", 0)]
