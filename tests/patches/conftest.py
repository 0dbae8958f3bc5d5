"""What the tests of the patches share."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any, Callable, Iterator
from unittest import mock

import pytest

from torchrun_jsc.current import LAUNCH, Launch
from torchrun_jsc.settings import Settings


@pytest.fixture
def current() -> Iterator[Callable[..., None]]:
    """Make a plan with these values the one of the present launch."""
    tokens = []

    def become(**values: Any) -> None:
        plan: Any = SimpleNamespace(
            untouched=None,
            is_host=None,
            host=None,
            local_address=None,
            node_rank=None,
            place=None,
            nodes=None,
            nnodes=None,
            local_id=0,
            notes_place=False,
        )
        vars(plan).update(values)
        tokens.append(LAUNCH.set(Launch(plan, Settings({}))))

    yield become
    for token in reversed(tokens):
        LAUNCH.reset(token)


def _release(version: str) -> tuple[int, int]:
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


_DYNAMIC = """\
from dataclasses import dataclass

@dataclass
class _NodeDesc:
    {address}: str
    pid: int
    local_id: int

class _NodeDescGenerator:
    def generate({generate}): pass

class _RendezvousState:
    def __init__(self): self.round, self.complete, self.participants = 0, False, {{}}

class _BackendRendezvousStateHolder:
    def __init__(self): self.state = _RendezvousState()
    def sync(self): pass

class DynamicRendezvousHandler:
    def __init__(self, node, store):
        self._this_node = node
        self._store = store
        self._state_holder = _BackendRendezvousStateHolder()
        {more}
    @property
    def settings(self): pass
    def get_run_id(self): return "7"
    def next_rendezvous(self): return "the round"

class _DistributedRendezvousOpExecutor:
    def run(self, state): self._state = state
    def _mark_rendezvous_complete(self): pass
"""


def _torch_like(version: str) -> dict[str, ModuleType]:
    """Make modules with the functions that the patches are for, as that release of torch has them.

    Parameters by release: the signatures of torch's own files, 1.9.0 to 2.15.0.
    """
    release = _release(version)
    launch = "config, entrypoint, args" + (", health_check_server=None" if release >= (2, 13) else "")
    build = {(2, 4): "rank, store", (2, 5): "rank, store, local_addr"}.get(
        release, "rank, store, local_addr, server_port=None"
    )
    generate = "self, local_addr=None" if release >= (2, 0) else "self"
    sources = {
        "run": "def get_args_parser(): pass\ndef config_from_args(args): pass\ndef parse_min_max_nnodes(nnodes): pass",
        "launcher.api": f"def launch_agent({launch}): pass",
        "elastic.agent.server.api": "def _get_fq_hostname(): return 'own-name'",
        "elastic.rendezvous.c10d_rendezvous_backend": "def _matches_machine_hostname(host): return 'torch'\n"
        "def _create_tcp_store(params): return 'store'",
        "elastic.rendezvous.api": f"class RendezvousStoreInfo:\n  @staticmethod\n  def build({build}): pass"
        if release >= (2, 4)
        else "",
        "elastic.rendezvous.dynamic_rendezvous": _DYNAMIC.format(
            generate=generate,
            address="addr" if release >= (2, 0) else "fqdn",
            more="self._bootstrap_store_info = None" if release >= (2, 5) else "",
        ),
    }
    modules = {}
    for name, source in sources.items():
        module = ModuleType("torch.distributed." + name)
        # Dataclasses look up their module.
        with mock.patch.dict(sys.modules, {module.__name__: module}):
            exec(source, vars(module))
        module.__source__ = source
        modules[module.__name__] = module
    return modules


@pytest.fixture
def torch_like(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict[str, ModuleType]]:
    """Put such modules in torch's place."""

    def put(version: str) -> dict[str, ModuleType]:
        modules = _torch_like(version)
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name, module)
        return modules

    return put
