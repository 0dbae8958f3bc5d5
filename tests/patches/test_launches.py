"""One value for each launch: settings are read once, and launches, threads and copies of a config do not mix."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import pytest
from torch.distributed.launcher import LaunchConfig
from torch.distributed.launcher import api as launcher

from torchrun_jsc import patcher
from torchrun_jsc.current import LAUNCH, own_address
from torchrun_jsc.launch import plan_of, prepare, running
from torchrun_jsc.patches.table import PATCHES
from torchrun_jsc.torch_version import torch_version

#: Addresses of nobody (RFC 5737).
HOSTS = ("198.51.100.7", "198.51.100.8")


def config(host: str = HOSTS[0], **more: Any) -> Any:
    return LaunchConfig(
        min_nodes=2,
        max_nodes=2,
        nproc_per_node=1,
        run_id="7",
        rdzv_backend="c10d",
        rdzv_endpoint=f"{host}:29500",
        rdzv_configs={"is_host": "1"},
        **more,
    )


def nothing_given() -> frozenset[str]:
    return frozenset()


def test_a_config_keeps_its_plan() -> None:
    made = config()
    with running(made, nothing_given()):
        first = LAUNCH.get()
    with running(made, nothing_given()):
        second = LAUNCH.get()
    assert first is not None
    assert second is not None
    assert first.plan is second.plan is plan_of(made)
    # What has come of the first launch says nothing of the second.
    assert first.reached is not second.reached
    assert LAUNCH.get() is None


def test_an_equal_config_has_a_plan_of_its_own() -> None:
    made = config()
    prepare(made, nothing_given())
    other = copy.deepcopy(made)
    assert pickle.loads(pickle.dumps(made)).rdzv_endpoint == other.rdzv_endpoint == made.rdzv_endpoint
    with pytest.raises(LookupError):
        plan_of(other)
    other.local_addr = None
    other.rdzv_endpoint = f"{HOSTS[1]}:29500"
    prepare(other, nothing_given())
    assert (plan_of(made).host, plan_of(other).host) == HOSTS


def test_settings_are_read_before_the_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHRUN_JSC_PREFLIGHT", "strict")
    monkeypatch.setenv("TORCHRUN_JSC_PREFLIGHT_TIMEOUT", "7")
    made = config()
    prepare(made, nothing_given())
    monkeypatch.setenv("TORCHRUN_JSC_PREFLIGHT", "no word of ours")
    monkeypatch.delenv("TORCHRUN_JSC_PREFLIGHT_TIMEOUT")
    with running(made, nothing_given()):
        launch = LAUNCH.get()
        assert launch is not None
        assert (launch.settings.preflight, launch.settings.preflight_timeout) == ("strict", 7.0)


def test_threads_launch_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs launch by `launch_agent`, and the plan is made there."""
    both_run = threading.Barrier(len(HOSTS))
    published: dict[str, str | None] = {}

    def launch_agent(config: Any, entrypoint: Any, args: Any) -> None:  # noqa: ARG001 (torch's own names)
        both_run.wait(timeout=60)
        published[config.rdzv_endpoint] = own_address()
        both_run.wait(timeout=60)

    monkeypatch.setattr(launcher, "launch_agent", launch_agent)
    patcher.apply(PATCHES, torch_version())
    threads = [threading.Thread(target=launcher.launch_agent, args=(config(host), None, [])) for host in HOSTS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert published == {f"{host}:29500": host for host in HOSTS}
    assert own_address() is None
