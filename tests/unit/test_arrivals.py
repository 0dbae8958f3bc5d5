"""Who has come to a round, and what the host says of those who have not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Dict

import pytest

from torchrun_jsc import _core
from torchrun_jsc.arrivals import Arrivals
from torchrun_jsc.current import Launch
from torchrun_jsc.preflight import awaiting_nodes
from torchrun_jsc.preflight import missing as module
from torchrun_jsc.settings import Settings


class Store(Dict[str, int]):
    """A store that counts."""

    def add(self, key: str, amount: int) -> int:
        self[key] = self.get(key, 0) + amount
        return self[key]


class RendezvousTimeoutError(Exception):
    """Called like torch's."""


def test_rounds_and_runs_have_notes_of_their_own() -> None:
    store = Store()
    Arrivals(store, "7", 0).note(1)
    Arrivals(store, "7", 0).note(1)
    assert Arrivals(store, "7", 0).missing(3) == [0, 2]
    assert Arrivals(store, "7", 1).missing(3) == Arrivals(store, "8", 0).missing(3) == [0, 1, 2]


class State:
    """torch's state of a round as this agent last saw it, and as it is."""

    def __init__(self, number: int, complete: bool) -> None:
        self.state = SimpleNamespace(round=0, complete=False)
        self._true = SimpleNamespace(round=number, complete=complete)

    def sync(self) -> None:
        self.state = self._true


def handler(store: Store, *, number: int = 0, complete: bool = False, most: int = 3) -> Any:
    timeout = SimpleNamespace(join=SimpleNamespace(total_seconds=lambda: 5.0))
    return SimpleNamespace(
        _store=store,
        _state_holder=State(number, complete),
        get_run_id=lambda: "7",
        settings=SimpleNamespace(max_nodes=most, timeout=timeout),
    )


def launch(rank: int = 0, *, is_host: bool = True, **environ: str) -> Launch:
    plan: Any = SimpleNamespace(node_rank=rank, nodes=_core.Hostlist("n[1-3]"), nnodes=3, is_host=is_host)
    return Launch(plan, Settings(environ))


@pytest.mark.parametrize(("number", "complete", "joined"), [(0, False, 0), (0, True, 1), (4, False, 4), (4, True, 5)])
def test_the_round_that_an_agent_comes_to(number: int, complete: bool, joined: int) -> None:
    store = Store()
    with awaiting_nodes(launch(2, is_host=False), handler(store, number=number, complete=complete)):
        assert Arrivals(store, "7", joined).missing(3) == [0, 1]


def fail(store: Store, present: Launch, **more: Any) -> None:
    with pytest.raises(RendezvousTimeoutError), awaiting_nodes(present, handler(store, **more)):
        raise RendezvousTimeoutError


def test_the_host_alone_says_who_never_came(capsys: pytest.CaptureFixture[str]) -> None:
    store = Store()
    fail(store, launch(1, is_host=False))
    assert capsys.readouterr().err == ""
    fail(store, launch())
    assert capsys.readouterr().err == (
        "torchrun_jsc: warning: only 2 of 3 nodes came within join_timeout=5 s; n3 never came; "
        "nodes that come later will find no store\n"
    )


def test_nothing_is_said_where_it_is_not_known_who_is_to_come(capsys: pytest.CaptureFixture[str]) -> None:
    fail(Store(), launch(), most=2)
    fail(Store(), launch(TORCHRUN_JSC_PREFLIGHT="off"))
    everyone = Store()
    for rank in range(3):
        Arrivals(everyone, "7", 0).note(rank)
    fail(everyone, launch())
    assert capsys.readouterr().err == ""


def test_it_is_said_again_until_the_round_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    store = Store()
    notes = Arrivals(store, "7", 0)
    notes.note(0)

    class Over:
        """Ends after the third wait; a node comes before each."""

        def __init__(self) -> None:
            self.waits: list[float] = []

        def wait(self, seconds: float) -> bool:
            self.waits.append(seconds)
            if len(self.waits) == 2:
                notes.note(2)
            return len(self.waits) == 3

        def is_set(self) -> bool:
            return False

    over: Any = Over()
    module._watch(launch().plan, notes, over)
    assert over.waits == [15, 60, 60]
    assert capsys.readouterr().err.splitlines() == [
        "torchrun_jsc: warning: 2 of 3 nodes have not come after 15 s: n[2-3]",
        "torchrun_jsc: warning: 1 of 3 nodes has not come after 75 s: n2",
    ]
