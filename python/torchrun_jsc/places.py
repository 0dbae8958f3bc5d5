"""Where each node stands in the step, noted in the rendezvous store for the agent that ranks the nodes."""

from __future__ import annotations

from typing import Any

#: More agents than any node has: places are numbered node by node, agent by agent.
_AGENTS = 4096


class Places:
    """The notes of one launch; every agent of it has the same ``run_id``."""

    def __init__(self, store: Any, run_id: str) -> None:
        """Use keys of their own in torch's ``store``."""
        self._store = store
        self._prefix = f"torchrun_jsc.{run_id}."

    def note(self, node: Any, node_rank: int, local_id: int) -> None:
        """Note the place of this agent, which torch knows as ``node``."""
        # One more, since a key that nobody has set counts as 0.
        self._store.set(self._key(node), str(node_rank * _AGENTS + local_id + 1))

    def of(self, node: Any) -> float:
        """Return the place of ``node``; one without a note comes last."""
        # add() answers at once, where get() would wait for a key that nobody has set.
        return int(self._store.add(self._key(node), 0)) or float("inf")

    def ask(self) -> None:
        """Ask for the notes to be read."""
        self._store.add(self._asked, 1)

    def are_asked_for(self) -> bool:
        """Whether any agent has asked for that."""
        return bool(self._store.add(self._asked, 0))

    @property
    def _asked(self) -> str:
        return f"{self._prefix}by_place"

    def _key(self, node: Any) -> str:
        """All fields of the node's description: their names and their number are torch's matter."""
        fields = type(node).__dataclass_fields__
        return self._prefix + ".".join(str(getattr(node, name)) for name in fields)
