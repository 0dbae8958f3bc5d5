"""The ranks of a completed round follow the nodes of the step.

torch ranks nodes by their address strings. Where that is another order, the agents help it to the step's: every agent
notes its node's place in the rendezvous store before it joins, and one whose address may not sort like its place asks
for the notes to be read. The agent that completes a round ranks the participants by them, after torch has ranked them.
Nodes without a note come last, in torch's order.

https://github.com/pytorch/pytorch/blob/v2.6.0/torch/distributed/elastic/rendezvous/dynamic_rendezvous.py
"""

from __future__ import annotations

from typing import Any

from torchrun_jsc.current import LAUNCH
from torchrun_jsc.patch import Function, Patch


def _wrap(original: Function) -> Function:
    def _mark_rendezvous_complete(self: Any, *args: Any, **kwargs: Any) -> Any:
        done = original(self, *args, **kwargs)
        launch = LAUNCH.get()
        places = None if launch is None else launch.places
        if places is not None and places.are_asked_for():
            ranks = self._state.participants
            place = {node: places.of(node) for node in ranks}
            for rank, node in enumerate(sorted(ranks, key=lambda node: (place[node], ranks[node]))):
                ranks[node] = rank
        return done

    return _mark_rendezvous_complete


PATCHES = (
    Patch(
        name="rank order",
        target="torch.distributed.elastic.rendezvous.dynamic_rendezvous:"
        "_DistributedRendezvousOpExecutor._mark_rendezvous_complete",
        torch=">=1.9",
        expects=("self",),
        wrap=_wrap,
        effect="ranks follow the address strings and not the nodes of the step",
        uses=("_DistributedRendezvousOpExecutor._state", "_RendezvousState.participants"),
    ),
)
