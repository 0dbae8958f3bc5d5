"""What PyTorch's own tests of torchrun ask of it, stated anew: torchrun_jsc has the same results.

`make upstream` runs those tests themselves, where they can be fetched. Like them, these launch in their own process.
https://github.com/pytorch/pytorch/tree/main/test/distributed/launcher
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Iterator
from unittest import mock

import pytest
from torch.distributed import run

import torchrun_jsc

pytestmark = pytest.mark.launches

Launch = Callable[..., None]
HANDLED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
ELASTIC = ["--nnodes=1:2", "--nproc_per_node=2", "--rdzv_backend=c10d", "--rdzv_id=77", "--monitor_interval=0.1"]


@pytest.fixture(params=["torchrun", "torchrun_jsc"])
def launcher(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def launch(launcher: str) -> Iterator[Launch]:
    """Launch in this process. torch leaves its handlers of signals behind."""
    handlers = {number: signal.getsignal(number) for number in HANDLED}
    yield run.main if launcher == "torchrun" else torchrun_jsc.main
    for number, handler in handlers.items():
        signal.signal(number, handler)
    os.environ.pop("TORCHELASTIC_SIGNALS_TO_HANDLE", None)


def touch(directory: Path) -> list[str]:
    """A worker that leaves a file with its rank as the name, if it knows that a launcher has started it."""
    return ["--no_python", "sh", "-c", 'test "$TORCHELASTIC_RUN_ID" && touch "$0/$RANK"', str(directory)]


def ranks(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    ("options", "world"),
    [
        pytest.param(["--nnodes=1", "--nproc_per_node=4", "--rdzv_id=5"], 4, id="one-node"),
        pytest.param(["--nproc_per_node=2", "--master_addr=localhost", "--node_rank=0"], 2, id="master-address"),
        pytest.param(["--nnodes=1"], 1, id="default-number-of-workers"),
        pytest.param(["--standalone", "--nproc_per_node=3"], 3, id="standalone"),
        pytest.param(["--nproc_per_node=cpu"], os.cpu_count(), id="one-worker-for-each-cpu"),
        # The quotes are torch's own case: they end up in the names of the first and the last setting.
        pytest.param([*ELASTIC, "--rdzv_conf='join_timeout=5,last_call_timeout=1,timeout=5'"], 2, id="elastic"),
    ],
)
def test_all_workers_run(launch: Launch, tmp_path: Path, options: list[str], world: int) -> None:
    port = free_port()
    where = f"--rdzv_endpoint=localhost:{port}" if "--rdzv_backend=c10d" in options else f"--master_port={port}"
    launch([where, *options, *touch(tmp_path)])
    assert ranks(tmp_path) == {str(rank) for rank in range(world)}


def test_options_by_environment(launch: Launch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PET_NPROC_PER_NODE", "2")
    monkeypatch.setenv("PET_NO_PYTHON", "1")
    monkeypatch.setenv("PET_MASTER_PORT", str(free_port()))
    launch(touch(tmp_path)[1:])
    assert ranks(tmp_path) == {"0", "1"}


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--module"], id="a-module-without-python"),
        pytest.param(["--nproc_per_node=unknown"], id="an-unknown-kind-of-workers"),
        pytest.param(["--nnodes=1:2:3"], id="three-numbers-of-nodes"),
    ],
)
def test_options_that_torchrun_refuses(launch: Launch, tmp_path: Path, options: list[str]) -> None:
    with pytest.raises((ValueError, RuntimeError)):
        launch([*options, *touch(tmp_path)])
    assert ranks(tmp_path) == set()


def elastic() -> list[str]:
    return [*ELASTIC, f"--rdzv_endpoint=localhost:{free_port()}", "--rdzv_conf=last_call_timeout=1"]


def test_a_worker_fails(launch: Launch) -> None:
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    with mock.patch("torch.distributed.elastic.events.record") as recorded, pytest.raises(ChildFailedError):
        launch([*elastic(), "--max_restarts=0", "--no_python", "false"])
    assert recorded.call_count == 1


def test_the_agent_fails(launch: Launch, tmp_path: Path) -> None:
    class Failure(Exception):  # noqa: N818
        pass

    agent = "torch.distributed.elastic.agent.server.local_elastic_agent.LocalElasticAgent.run"
    with mock.patch(agent, side_effect=Failure), pytest.raises(Failure):
        launch([*elastic(), *touch(tmp_path)])


def test_the_rendezvous_is_shut_down_once(launch: Launch, tmp_path: Path) -> None:
    from torch.distributed.elastic.agent.server.api import RunResult, WorkerState

    handlers = "torch.distributed.elastic.rendezvous.registry.get_rendezvous_handler"
    with mock.patch("torch.distributed.launcher.api.LocalElasticAgent") as agent, mock.patch(handlers) as handler:
        agent.return_value.run.return_value = RunResult(WorkerState.SUCCEEDED)
        launch(["--nproc_per_node=2", *touch(tmp_path)])
    assert handler.return_value.shutdown.call_count == 1


# torch leaves the files of the logs open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_output_of_workers(launch: Launch, tmp_path: Path, capfd: Any) -> None:
    logs = ["--redirects=3", "--tee=3", f"--log_dir={tmp_path}"]
    launch([f"--master_port={free_port()}", "--nproc_per_node=2", *logs, "--no_python", "sh", "-c", "echo rank $RANK"])
    assert sorted(capfd.readouterr().out.splitlines()) == ["[default0]:rank 0", "[default1]:rank 1"]


def test_two_agents(launcher: str, tmp_path: Path) -> None:
    command = [str(Path(sys.executable).parent / launcher), *elastic(), "--nnodes=2", *touch(tmp_path)]
    agents = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    errors = [agent.communicate(timeout=200)[1] for agent in agents]
    assert [agent.returncode for agent in agents] == [0, 0], errors
    assert ranks(tmp_path) == {"0", "1", "2", "3"}
