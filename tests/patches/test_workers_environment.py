"""Which interface workers are told, and what is left of that after a launch."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from torchrun_jsc.launch import _workers_environment

NAMES = ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")


@pytest.mark.parametrize(
    ("interface", "given", "expected"),
    [
        ("ib0", (None, None), ("ib0", "ib0")),
        ("ib0", (None, "eth0"), ("ib0", "eth0")),
        ("ib0", ("", ""), ("ib0", "ib0")),
        # The plan sets none where the user has set gloo's.
        (None, ("ib1", None), ("ib1", None)),
        (None, (None, None), (None, None)),
    ],
)
def test_the_interface_is_set_for_the_launch_only(
    monkeypatch: pytest.MonkeyPatch, interface: Any, given: tuple[Any, Any], expected: tuple[Any, Any]
) -> None:
    for name, value in zip(NAMES, given):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    plan: Any = SimpleNamespace(gloo_interface=interface)
    with _workers_environment(plan):
        assert tuple(os.environ.get(name) for name in NAMES) == expected
    assert tuple(os.environ.get(name) for name in NAMES) == given
