"""Ranks follow the nodes of the step, also where their names sort otherwise and when nodes come and go."""

from __future__ import annotations

import json
import subprocess
import time
from typing import TYPE_CHECKING, Callable, Iterator

import pytest

from slow import takes_long
from slurm.jobs import command, train
from slurm.lab import CLUSTER, HERE, TORCHRUN_JSC, Cluster
from surroundings import clean_environment

if TYPE_CHECKING:
    from pathlib import Path

ELASTIC = str(HERE / "elastic.py")

unsorted_names = pytest.mark.cluster(NODES="n9 n10 n11")


def places(ranks: list[dict]) -> dict[str, str]:
    return {rank["node"]: rank["GROUP_RANK"] for rank in ranks}


@unsorted_names
@pytest.mark.parametrize("endpoint", ["10.20.0.1", pytest.param("n10i", marks=takes_long)])
def test_names_that_do_not_sort(cluster: Cluster, endpoint: str) -> None:
    job = train(cluster, command(endpoint, nodes=3), nodes=3)
    assert places(job.ranks) == {"n9": "0", "n10": "1", "n11": "2"}
    assert job.master == {"n10i": "n9i"}.get(endpoint, endpoint.partition(":")[0])


@unsorted_names
@takes_long
def test_torchs_own_order(cluster: Cluster) -> None:
    job = train(cluster, command("n9i", nodes=3), nodes=3, env={"TORCHRUN_JSC_RANK_ORDER": "torch"})
    assert places(job.ranks) == {"n10": "0", "n11": "1", "n9": "2"}
    assert job.master == "n10i"


@unsorted_names
def test_several_agents_on_a_node(cluster: Cluster) -> None:
    run = cluster.srun(command("n9i", nodes=4), options=["--ntasks-per-node=2", "--distribution=block"])
    assert run.code == 0, str(run)
    assert [rank["node"] for rank in run.ranks()] == ["n9", "n9", "n10", "n10"], str(run)


@pytest.mark.cluster(NODES="z1 a2")
def test_the_steps_order_is_not_that_of_names(cluster: Cluster) -> None:
    run = cluster.srun(command("z1i", nodes=2))
    assert run.code == 0, str(run)
    expected = cluster.srun(["sh", "-c", "echo $SLURM_NODEID $SLURMD_NODENAME"]).stdout
    for rank in run.ranks():
        assert "{} {}\n".format(rank["GROUP_RANK"], rank["node"]) in expected, str(run)


@unsorted_names
def test_a_node_rank_that_is_not_used_is_reported(cluster: Cluster) -> None:
    turned = ["sh", "-c", 'exec "$0" --node-rank=$((1 - SLURM_NODEID)) "$@"', *command("n9i")]
    run = cluster.srun(turned)
    assert run.code == 0, str(run)
    assert places(run.ranks()) == {"n9": "0", "n10": "1"}
    for task, node in enumerate(["n9", "n10"]):
        line = f"--node_rank={1 - task} is not used by the c10d backend: node {node} is number {task}"
        assert "torchrun_jsc: warning: " + line in run.errors(task), str(run)


class Elastic:
    """An elastic job of two to three nodes that trains until it is told to stop."""

    def __init__(self, cluster: Cluster, directory: Path, late: str) -> None:
        self._stop = directory / "stop"
        self._come = directory / "come"
        self._out = directory / "out"
        self._cluster = cluster
        wait = 'test "$SLURMD_NODENAME" != {} || until test -e {}; do sleep 0.2; done; exec "$@"'
        launch = [
            TORCHRUN_JSC,
            *("--nnodes=2:3", "--nproc-per-node=1", "--max-restarts=3", "--rdzv-backend=c10d", "--rdzv-id=e"),
            *("--rdzv-endpoint=n10i:29600", "--rdzv-conf=last_call_timeout=1", ELASTIC, str(self._stop)),
        ]
        with self._out.open("w") as out:
            self._process = subprocess.Popen(
                [CLUSTER, "head", "srun", "--nodes=3", "sh", "-c", wait.format(late, self._come), "-", *launch],
                env={**clean_environment(), **cluster.env, "OMP_NUM_THREADS": "1"},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def starts(self) -> list[dict]:
        """What the workers said when they started, one after the other."""
        lines = [line for line in self._out.read_text(errors="replace").splitlines() if line.startswith('{"node"')]
        return [json.loads(line) for line in lines]

    def until(self, done: Callable[[list[dict]], bool]) -> list[dict]:
        end = time.monotonic() + 90
        while not done(self.starts()):
            assert self._process.poll() is None, self._out.read_text(errors="replace")
            assert time.monotonic() < end, self._out.read_text(errors="replace")
            time.sleep(0.1)
        return self.starts()

    def come(self) -> None:
        self._come.touch()

    def kill(self, start: dict) -> None:
        self._cluster.head(["sh", "-c", 'kill -9 "$@"', "-", *map(str, start["pids"])])

    def stop(self) -> int:
        self._stop.touch()
        return self._process.wait(60)

    def end(self) -> None:
        """Leave nothing behind, whatever the test has come to."""
        if self._process.poll() is None:
            self._cluster.head(["scancel", "--me"])
            self._process.kill()
        self._process.wait()


@pytest.fixture
def elastic(cluster: Cluster, tmp_path: Path) -> Iterator[Callable[[str], Elastic]]:
    jobs = []

    def start(late: str) -> Elastic:
        jobs.append(Elastic(cluster, tmp_path, late))
        return jobs[-1]

    yield start
    for job in jobs:
        job.end()


def in_round(starts: list[dict], world: int) -> dict[str, dict]:
    return {start["node"]: start for start in starts if start["WORLD_SIZE"] == str(world)}


@unsorted_names
@takes_long
def test_a_node_that_joins_takes_its_place(elastic: Callable[[str], Elastic]) -> None:
    job = elastic("n9")
    first = in_round(job.until(lambda starts: len(starts) == 2), 2)
    assert places(list(first.values())) == {"n10": "0", "n11": "1"}
    job.come()
    second = in_round(job.until(lambda starts: len(in_round(starts, 3)) == 3), 3)
    assert places(list(second.values())) == {"n9": "0", "n10": "1", "n11": "2"}
    # Also on those that knew another one.
    assert {start["MASTER_ADDR"] for start in second.values()} == {"n9i"}
    assert job.stop() == 0


@unsorted_names
@takes_long
def test_the_others_move_up_when_an_agent_is_killed(elastic: Callable[[str], Elastic]) -> None:
    job = elastic("none")
    first = in_round(job.until(lambda starts: len(in_round(starts, 3)) == 3), 3)
    assert places(list(first.values())) == {"n9": "0", "n10": "1", "n11": "2"}
    job.kill(first["n9"])
    second = in_round(job.until(lambda starts: len(in_round(starts, 2)) == 2), 2)
    assert places(list(second.values())) == {"n10": "0", "n11": "1"}
    assert {start["MASTER_ADDR"] for start in second.values()} == {"n10i"}
    # srun's status is that of the killed agent.
    assert job.stop() == 137


@unsorted_names
def test_ranks_stay_after_a_worker_restarts(cluster: Cluster, tmp_path: Path) -> None:
    once = tmp_path / "once"
    script = tmp_path / "dies_once.py"
    script.write_text(
        "import os, pathlib, runpy, sys\n"
        "if os.environ['RANK'] == '1' and os.environ['TORCHELASTIC_RESTART_COUNT'] == '0':\n"
        "    pathlib.Path({!r}).touch()\n"
        "    raise SystemExit(3)\n"
        "sys.path.insert(0, {!r})\n"
        "runpy.run_path({!r}, run_name='__main__')\n".format(str(once), str(HERE), str(HERE / "worker.py"))
    )
    job = train(cluster, command("n9i", nodes=3, more=["--max-restarts=1"], worker=str(script)), nodes=3)
    assert once.exists()
    assert places(job.ranks) == {"n9": "0", "n10": "1", "n11": "2"}
