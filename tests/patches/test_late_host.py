"""How long an agent waits for a store whose host is late."""

from __future__ import annotations

import time
from typing import Any, Callable

import pytest
from torch.distributed.elastic.rendezvous.api import RendezvousConnectionError, RendezvousParameters

from torchrun_jsc.patches import create_tcp_store


class Clock:
    """Seconds that pass while torch tries to connect."""

    def __init__(self) -> None:
        self.now = 0.0
        self.attempts = 0

    def attempt(self, seconds: float) -> None:
        self.now += seconds
        self.attempts += 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(time, "monotonic", lambda: made.now)
    return made


def seconds_of(clock: Clock, lasting: float, **conf: str) -> float:
    """Let each attempt fail after `lasting` seconds; return when the error came."""

    def fail(_params: Any) -> None:
        clock.attempt(lasting)
        raise RendezvousConnectionError("nobody is there")

    params = RendezvousParameters("c10d", "n1i:29500", "1", 2, 2, **conf)
    with pytest.raises(RendezvousConnectionError, match="nobody is there"):
        create_tcp_store.PATCHES[0].wrap(fail)(params)
    return clock.now


@pytest.mark.parametrize(
    ("conf", "expected"),
    [
        ({}, 600),
        ({"join_timeout": "900"}, 900),
        ({"join_timeout": "150"}, 120),
        ({"join_timeout": "5"}, 60),
        ({"join_timeout": "50", "read_timeout": "20"}, 40),
        ({"read_timeout": "900"}, 900),
        ({"read_timeout": "5"}, 5),
    ],
)
def test_it_is_the_join_timeout(
    current: Callable[..., None], clock: Clock, conf: dict[str, str], expected: float
) -> None:
    current(is_host=False)
    assert seconds_of(clock, float(conf.get("read_timeout", 60)), **conf) == expected


@pytest.mark.parametrize("plan", [{"is_host": True}, {"is_host": None}, {"is_host": False, "untouched": "static"}])
def test_other_agents_wait_as_torch_does(current: Callable[..., None], clock: Clock, plan: dict[str, Any]) -> None:
    current(**plan)
    assert seconds_of(clock, 60) == 60


def test_what_fails_at_once_is_no_late_host(current: Callable[..., None], clock: Clock) -> None:
    current(is_host=False)
    assert seconds_of(clock, 0.5) == 0.5


def test_the_store_is_handed_on(current: Callable[..., None]) -> None:
    current(is_host=False)
    params = RendezvousParameters("c10d", "n1i:29500", "1", 2, 2)
    assert create_tcp_store.PATCHES[0].wrap(lambda given: ("store", given))(params) == ("store", params)
