"""A torch with other names and more fields than those that are known: one warning says what is lost, and it launches.

The torch that is installed, with its own rendezvous rewritten.
"""

from __future__ import annotations

import re
import sys
from importlib.util import module_from_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

import pytest
from torch.distributed import TCPStore
from torch.distributed.elastic import rendezvous
from torch.distributed.elastic.rendezvous import dynamic_rendezvous
from torch.distributed.elastic.rendezvous.c10d_rendezvous_backend import C10dRendezvousBackend

from torchrun_jsc import patcher
from torchrun_jsc.current import LAUNCH
from torchrun_jsc.patches.table import PATCHES
from torchrun_jsc.places import Places
from torchrun_jsc.torch_version import torch_version

if TYPE_CHECKING:
    from types import ModuleType

TORCH = torch_version()
RUN_ID = "7"

Rewritten = Callable[[str, str], "ModuleType"]


@pytest.fixture
def rewritten(monkeypatch: pytest.MonkeyPatch) -> Rewritten:
    """Put torch's module in its own place, with another text where the pattern is."""

    def put(pattern: str, text: str) -> ModuleType:
        assert dynamic_rendezvous.__file__
        source, times = re.subn(pattern, text, Path(dynamic_rendezvous.__file__).read_text(encoding="utf-8"))
        assert times
        assert dynamic_rendezvous.__spec__
        module = module_from_spec(dynamic_rendezvous.__spec__)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setattr(rendezvous, "dynamic_rendezvous", module)
        exec(source, vars(module))
        return module

    return put


@pytest.fixture
def store() -> Any:
    return TCPStore("localhost", 0, is_master=True, wait_for_workers=False)


def round_of(module: ModuleType, store: Any) -> Any:
    """One node makes a round alone."""
    handler = module.DynamicRendezvousHandler.from_backend(RUN_ID, store, C10dRendezvousBackend(store, RUN_ID), 1, 1)
    try:
        handler.next_rendezvous()
    finally:
        handler.shutdown()
    return handler


PRIVATE = [
    (attribute, [patch for patch in PATCHES if used in patch.uses and patch.fits(TORCH)])
    for used in sorted({used for patch in PATCHES for used in patch.uses})
    for attribute in [used.partition(".")[2]]
    if attribute in {"_store", "_this_node", "_bootstrap_store_info", "_state", "participants"}
]


@pytest.mark.parametrize(("attribute", "lost"), PRIVATE, ids=[attribute for attribute, _ in PRIVATE])
def test_a_renamed_attribute(  # noqa: PLR0917 (pytest passes them by name)
    attribute: str, lost: list[Any], rewritten: Rewritten, store: Any, current: Callable[..., None], capfd: Any
) -> None:
    if not lost:
        pytest.skip("this torch has no use for it")
    module = rewritten(rf"\b{attribute}\b", "_other_name")
    rows = patcher.apply(PATCHES, TORCH)
    assert {row.patch.name for row in rows if not row.applied and row.patch.fits(TORCH)} >= {p.name for p in lost}
    (line,) = capfd.readouterr().err.splitlines()
    assert line.endswith("; ".join(patch.effect for patch in lost))
    current(node_rank=0, place=0, notes_place=True, rank_order="slurm")
    round_of(module, store)
    launch = LAUNCH.get()
    assert launch is not None
    assert launch.reached.is_set()


def test_a_new_field_of_a_node(
    rewritten: Rewritten, store: Any, current: Callable[..., None], capfd: Any
) -> None:
    module = rewritten(r"(class _NodeDesc:(?:\n.*)*?\n    local_id: int\n)", r"\1    zone: str = 'a'\n")
    patcher.apply(PATCHES, TORCH)
    assert capfd.readouterr().err == ""
    current(node_rank=3, place=3, notes_place=True, rank_order="slurm")
    handler = round_of(module, store)
    assert handler._this_node.zone == "a"
    assert Places(store, RUN_ID).of(handler._this_node) == 3 * 4096 + 1


def test_a_new_optional_parameter(
    rewritten: Rewritten, store: Any, current: Callable[..., None], capfd: Any
) -> None:
    module = rewritten(r"(def (?:next_rendezvous|_mark_rendezvous_complete)\(self)\)", r"\1, more=None)")
    patcher.apply(PATCHES, TORCH)
    assert capfd.readouterr().err == ""
    current(node_rank=0, place=0, notes_place=True, rank_order="slurm")
    handler = round_of(module, store)
    assert Places(store, RUN_ID).of(handler._this_node) == 1
