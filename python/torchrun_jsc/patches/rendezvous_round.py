"""A round of the rendezvous: the store is reached when it begins, and its ranks follow the nodes of the step.

torch ranks nodes by their address strings. Where that is another order, the agents help it to the step's:

every agent notes its node's place in the rendezvous store before it joins, and one whose address may not sort like its
place asks for the notes to be read; then the agent that completes a round ranks the participants by them, after torch
has ranked them. Nodes without a note come last, in torch's order.

https://github.com/pytorch/pytorch/blob/v2.6.0/torch/distributed/elastic/rendezvous/dynamic_rendezvous.py
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from torchrun_jsc import preflight
from torchrun_jsc.launch import CURRENT
from torchrun_jsc.patches.patch import Function, Patch
from torchrun_jsc.read_timeout import hold_read_timeout

_MODULE = "torch.distributed.elastic.rendezvous.dynamic_rendezvous"
_NODE = f"{_MODULE}:DynamicRendezvousHandler.next_rendezvous"
_ROUND = f"{_MODULE}:_DistributedRendezvousOpExecutor._mark_rendezvous_complete"

#: More agents than any node has: places are numbered node by node, agent by agent.
_AGENTS = 4096

#: Marks a handler whose first round has begun.
_CHECKED = "_torchrun_jsc_checked"

#: The store of the rendezvous that this thread takes part in.
_STORE: ContextVar[Any] = ContextVar("torchrun_jsc_store", default=None)


def _key(run_id: str, node: Any) -> str:
    """The note's place: all fields of a node's description, whatever this release of torch calls the first."""
    address, pid, local_id = (getattr(node, name) for name in type(node).__dataclass_fields__)
    return f"torchrun_jsc.{run_id}.{address}.{pid}.{local_id}"


def _asked(run_id: str) -> str:
    """The key that tells whether the notes are to be read."""
    return f"torchrun_jsc.{run_id}.by_place"


def _wrap_next_rendezvous(original: Function) -> Function:
    def next_rendezvous(self: Any) -> Any:
        preflight.store_is_reached()
        plan = CURRENT.get()
        if plan is not None and plan.untouched is None:
            _forget_master(self)
            hold_read_timeout(self._store)
            if not hasattr(self, _CHECKED):
                setattr(self, _CHECKED, True)
                preflight.before_workers(plan, self._store, self.settings.run_id)
        if plan is None or plan.node_rank is None or not plan.notes_place:
            return original(self)
        place = plan.node_rank * _AGENTS + plan.local_id
        # One more, since a key that nobody has set counts as 0.
        self._store.set(_key(self.settings.run_id, self._this_node), str(place + 1))
        if plan.rank_order == "slurm":
            self._store.add(_asked(self.settings.run_id), 1)
        token = _STORE.set(self._store)
        try:
            return original(self)
        finally:
            _STORE.reset(token)

    return next_rendezvous


def _forget_master(handler: Any) -> None:
    """Make torch set up the workers' store anew in each round. It remembers the first round's.

    A node that joins may become rank 0, and in a store that is used again a worker may find what its predecessor left:
    https://github.com/pytorch/pytorch/issues/135712
    https://github.com/pytorch/pytorch/blob/v2.12.0/torch/distributed/elastic/rendezvous/dynamic_rendezvous.py
    """
    if hasattr(handler, "_shared_tcp_store_server"):
        handler._bootstrap_store_info = None


def _wrap_mark_complete(original: Function) -> Function:
    def _mark_rendezvous_complete(self: Any) -> Any:
        done = original(self)
        store = _STORE.get()
        # add() answers at once, where get() would wait for a key that nobody has set.
        if store is not None and store.add(_asked(self._settings.run_id), 0):
            ranks = self._state.participants
            places = {node: store.add(_key(self._settings.run_id, node), 0) or float("inf") for node in ranks}
            for rank, node in enumerate(sorted(ranks, key=lambda node: (places[node], ranks[node]))):
                ranks[node] = rank
        return done

    return _mark_rendezvous_complete


PATCHES = (
    Patch(
        name="places of nodes",
        target=_NODE,
        torch=">=1.9",
        expects=("self",),
        wrap=_wrap_next_rendezvous,
        effect="ranks follow the address strings and not the nodes of the step",
    ),
    Patch(
        name="rank order",
        target=_ROUND,
        torch=">=1.9",
        expects=("self",),
        wrap=_wrap_mark_complete,
        effect="ranks follow the address strings and not the nodes of the step",
    ),
)
