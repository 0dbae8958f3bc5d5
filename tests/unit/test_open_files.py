"""The host of a store makes room for its connections."""

from __future__ import annotations

import resource

import pytest

from torchrun_jsc.preflight.open_files import make_room


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """What the limit was, and what it is set to."""
    known = [(1024, 4096)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: known[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, limit: known.append(limit))
    return known


def test_what_is_enough_stays(limits: list[tuple[int, int]], capsys: pytest.CaptureFixture[str]) -> None:
    make_room("n1", 64, 256)
    assert limits == [(1024, 4096)]
    limits.append((resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    make_room("n1", 4096, 16384)
    assert len(limits) == 2
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("hard", [4096, resource.RLIM_INFINITY])
def test_the_soft_limit_is_raised(limits: list[tuple[int, int]], capsys: pytest.CaptureFixture[str], hard: int) -> None:
    limits.append((1024, hard))
    make_room("n1", 100, 400)
    assert limits[-1] == (1256, hard)
    assert capsys.readouterr().err == ""


def test_a_hard_limit_that_is_too_low(limits: list[tuple[int, int]], capsys: pytest.CaptureFixture[str]) -> None:
    make_room("n1", 1000, 4000)
    assert limits[-1] == (4096, 4096)
    assert capsys.readouterr().err == (
        "torchrun_jsc: warning: node n1 hosts the store for 1000 nodes with 4000 workers, which may need 10256 open "
        "files, but the hard limit is 4096 (ulimit -Hn)\n"
    )


def test_a_system_that_forbids_it(limits: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(*_: object) -> None:
        raise ValueError

    monkeypatch.setattr(resource, "setrlimit", forbid)
    make_room("n1", 100, 400)
    assert limits == [(1024, 4096)]
