"""What torch's parser made of the arguments, and what counts as given."""

from __future__ import annotations

from typing import Any

import pytest
from torch.distributed import run

from surroundings import step
from torchrun_jsc import SettingError, patcher
from torchrun_jsc.args import given_of
from torchrun_jsc.patches.table import PATCHES
from torchrun_jsc.torch_version import torch_version

STEP = step("n[1-3]", nodes=3, node=0, name="n1")


@pytest.fixture(autouse=True)
def patched(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in STEP.items():
        monkeypatch.setenv(name, value)
    patcher.apply(PATCHES, torch_version())


def parsed(*args: str) -> Any:
    return run.parse_args([*args, "script.py"])


@pytest.mark.parametrize(
    ("nnodes", "expected"),
    [("auto", (3, 3)), (" AUTO ", (3, 3)), ("1:auto", (1, 3)), ("auto:4", (3, 4)), ("2", (2, 2)), ("1:2", (1, 2))],
)
def test_nnodes(nnodes: str, expected: tuple[int, int]) -> None:
    assert run.parse_min_max_nnodes(nnodes) == expected


def test_auto_needs_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in STEP:
        monkeypatch.delenv(name)
    with pytest.raises(SettingError, match="not in a Slurm step"):
        run.parse_min_max_nnodes("1:auto")


@pytest.mark.parametrize(
    ("args", "given"),
    [
        ([], set()),
        (["--nnodes=1:1"], {"nnodes"}),
        (["--rdzv-endpoint="], set()),
        (["--rdzv-endpoint", "", "--rdzv-id="], set()),
        (["--rdzv-endpoint=a:1", "--node-rank=0"], {"rdzv_endpoint", "node_rank"}),
    ],
)
def test_what_is_given(args: list[str], given: set[str]) -> None:
    assert given_of(parsed(*args)) == given


def test_an_empty_variable_gives_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PET_RDZV_ENDPOINT", "")
    monkeypatch.setenv("PET_NNODES", "2")
    assert given_of(parsed()) == {"nnodes"}
