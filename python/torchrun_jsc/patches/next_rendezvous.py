"""What an agent does before each round of the rendezvous: one patch for each job, in which it may fail by itself.

https://github.com/pytorch/pytorch/blob/v2.6.0/torch/distributed/elastic/rendezvous/dynamic_rendezvous.py
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Callable, ContextManager, NamedTuple, Optional

from torchrun_jsc.beside import Beside
from torchrun_jsc.current import LAUNCH, Launch
from torchrun_jsc.patch import Function, Patch

# What the jobs do is imported late: torch looks up each module that is loaded, also for launches without a plan.

#: Is given the launch that runs and torch's handler of its rendezvous; may return what is to surround the round.
_Job = Callable[[Launch, Any], Optional[ContextManager[None]]]


def _reach_store(launch: Launch, _handler: Any) -> None:
    """The handler has its store before its first round."""
    launch.reached.set()


def _renew_store(_launch: Launch, handler: Any) -> None:
    """Make torch set up the workers' store anew in each round. It remembers the first round's.

    A node that joins may become rank 0, and in a store that is used again a worker may find what its predecessor left:
    https://github.com/pytorch/pytorch/issues/135712
    https://github.com/pytorch/pytorch/blob/v2.12.0/torch/distributed/elastic/rendezvous/dynamic_rendezvous.py
    """
    handler._bootstrap_store_info = None


def _hold_read_timeout(_launch: Launch, handler: Any) -> None:
    from torchrun_jsc.read_timeout import hold_read_timeout

    hold_read_timeout(handler._store)


def _check_nodes(launch: Launch, handler: Any) -> None:
    from torchrun_jsc import preflight

    if not launch.preflight_is_over:
        launch.preflight_is_over = True
        preflight.before_workers(launch, handler._store, handler.get_run_id())


def _note_place(launch: Launch, handler: Any) -> None:
    """Keep the notes at hand for the patch that ranks the nodes, in :mod:`.mark_complete`."""
    plan = launch.plan
    if plan.place is None or not plan.notes_place:
        return
    from torchrun_jsc.places import Places

    launch.places = Places(handler._store, handler.get_run_id())
    launch.places.note(handler._this_node, plan.place, plan.local_id)
    if plan.rank_order == "slurm":
        launch.places.ask()


def _await_nodes(launch: Launch, handler: Any) -> ContextManager[None]:
    from torchrun_jsc import preflight

    return preflight.awaiting_nodes(launch, handler)


class _Wrapper(NamedTuple):
    """What a wrapper of ours does."""

    jobs: tuple[_Job, ...]
    original: Function


_WRAPPERS: Beside[_Wrapper] = Beside()


def _wrap_with(job: _Job) -> Callable[[Function], Function]:
    """Do ``job`` before each round of a launch with a plan, or around it."""

    def wrap(original: Function) -> Function:
        # One wrapper does all jobs: for each event torch looks up every frame of the stack on the file system.
        inner = _WRAPPERS.get(original) or _Wrapper((), original)
        outer = _Wrapper((job, *inner.jobs), inner.original)

        def next_rendezvous(self: Any, *args: Any, **kwargs: Any) -> Any:
            launch = LAUNCH.get()
            with ExitStack() as around:
                if launch is not None and launch.plan.untouched is None:
                    for each in outer.jobs:
                        during = each(launch, self)
                        if during is not None:
                            around.enter_context(during)
                return outer.original(self, *args, **kwargs)

        _WRAPPERS.set(next_rendezvous, outer)
        return next_rendezvous

    return wrap


_TARGET = "torch.distributed.elastic.rendezvous.dynamic_rendezvous:DynamicRendezvousHandler.next_rendezvous"

#: The last one runs first.
PATCHES = (
    Patch(
        name="nodes that have not come",
        target=_TARGET,
        torch=">=1.9",
        expects=("self",),
        wrap=_wrap_with(_await_nodes),
        effect="nobody says which nodes have not come",
        uses=(
            "DynamicRendezvousHandler._store",
            "DynamicRendezvousHandler._state_holder",
            "DynamicRendezvousHandler.get_run_id",
            "DynamicRendezvousHandler.settings",
            "_RendezvousState.round",
            "_RendezvousState.complete",
            "_BackendRendezvousStateHolder.sync",
        ),
    ),
    Patch(
        name="places of nodes",
        target=_TARGET,
        torch=">=1.9",
        expects=("self",),
        wrap=_wrap_with(_note_place),
        effect="ranks follow the address strings and not the nodes of the step",
        uses=(
            "DynamicRendezvousHandler._store",
            "DynamicRendezvousHandler._this_node",
            "DynamicRendezvousHandler.get_run_id",
            "_NodeDesc.__dataclass_fields__",
        ),
    ),
    Patch(
        name="strict preflight",
        target=_TARGET,
        torch=">=1.9",
        expects=("self",),
        wrap=_wrap_with(_check_nodes),
        effect="TORCHRUN_JSC_PREFLIGHT=strict checks nothing",
        uses=("DynamicRendezvousHandler._store", "DynamicRendezvousHandler.get_run_id"),
    ),
    Patch(
        name="read timeout",
        target=_TARGET,
        torch=">=1.9",
        expects=("self",),
        wrap=_wrap_with(_hold_read_timeout),
        effect="a launcher waits a quarter of an hour for a store whose host has vanished",
        uses=("DynamicRendezvousHandler._store",),
    ),
    Patch(
        name="store renewal",
        target=_TARGET,
        # Before, torch set it up anew by itself.
        torch=">=2.5",
        expects=("self",),
        wrap=_wrap_with(_renew_store),
        effect="after a restart, workers may find in their store what their predecessors left",
        uses=("DynamicRendezvousHandler._bootstrap_store_info",),
    ),
    Patch(
        name="store reached",
        target=_TARGET,
        torch=">=1.9",
        expects=("self",),
        wrap=_wrap_with(_reach_store),
        effect="a node goes on trying to reach the endpoint after torch has reached it",
    ),
)
