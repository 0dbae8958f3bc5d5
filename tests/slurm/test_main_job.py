"""The main job: it trains where plain torchrun does not, however its options are written."""

from __future__ import annotations

import sys

import pytest

from slow import takes_long
from slurm.jobs import IB0, command, train
from slurm.lab import REPORT, TORCHRUN, TORCHRUN_JSC, WORKER, Cluster


def test_plain_torchrun_fails_here(cluster: Cluster) -> None:
    """Without this the other tests would show nothing."""
    plain = command(launcher=TORCHRUN, more=["--rdzv-conf=read_timeout=2"])
    run = cluster.srun(plain, env=IB0)
    assert run.code == 1, str(run)
    assert "RendezvousConnectionError" in run.stderr, str(run)
    assert run.stdout == "", str(run)


@pytest.mark.parametrize(
    ("nodes", "per_node"),
    [(3, 2), *(pytest.param(*size, marks=takes_long) for size in [(2, 1), (2, 2), (3, 1), (4, 1), (4, 2)])],
)
def test_sizes(cluster: Cluster, nodes: int, per_node: int) -> None:
    words = command(nodes=nodes, per_node=per_node, worker=WORKER)
    # On every rank the name that the user gave.
    assert train(cluster, words, nodes=nodes, per_node=per_node).master == "jwb0001i"


@pytest.mark.parametrize(
    ("endpoint", "worker"),
    [
        pytest.param("jwb0001i.lab.test:29500", REPORT, id="full-name", marks=takes_long),
        pytest.param("jwb0001i", REPORT, id="no-port"),
        pytest.param("10.20.0.1:29500", WORKER, id="address"),
        pytest.param("jwb0002i:29500", WORKER, id="second-node", marks=takes_long),
    ],
)
def test_endpoints(cluster: Cluster, endpoint: str, worker: str) -> None:
    train(cluster, command(endpoint, worker=worker))


WORDS = {
    "nnodes": "2",
    "nproc_per_node": "1",
    "rdzv_backend": "c10d",
    "rdzv_id": "77",
    "rdzv_endpoint": "jwb0001i:29500",
    "rdzv_conf": "timeout=60,read_timeout=20",
}


@takes_long
def test_options_as_two_words(cluster: Cluster) -> None:
    options = [word for name, value in WORDS.items() for word in ("--" + name, value)]
    # The script's own arguments look like torchrun's, and are not.
    script = [WORKER, "--rdzv_conf", "is_host=0", "--rdzv_endpoint=elsewhere:1"]
    job = train(cluster, [TORCHRUN_JSC, *options, *script])
    for rank in job.ranks:
        assert rank["argv"] == script[1:]
        assert rank["TORCHELASTIC_RUN_ID"] == "77"


@takes_long
def test_options_by_environment(cluster: Cluster) -> None:
    env = {"PET_" + name.upper(): value for name, value in WORDS.items()}
    train(cluster, [TORCHRUN_JSC, WORKER], env=env)


@pytest.mark.parametrize(
    ("conf", "env"),
    [
        pytest.param(["--rdzv-conf= read_timeout = 2 , timeout=60"], {}, id="argument"),
        pytest.param([], {"PET_RDZV_CONF": "timeout=60,read_timeout=2"}, id="environment", marks=takes_long),
    ],
)
def test_the_users_own_conf_stays(cluster: Cluster, conf: list[str], env: dict[str, str]) -> None:
    """The host never comes, so the other node gives up after the user's 2 s instead of torch's 60 s."""
    absent = 'test "$SLURM_NODEID" = 0 || exec "$@"'
    run = cluster.srun(["sh", "-c", absent, "-", *command(more=conf)], env=env)
    assert run.code == 1, str(run)
    assert "RendezvousConnectionError" in run.stderr, str(run)


@takes_long
def test_two_launchers_on_a_node(cluster: Cluster) -> None:
    """One of them serves the store, the other does not try to."""
    run = cluster.srun(command(nodes=4), options=["--ntasks-per-node=2"], env=IB0)
    assert run.code == 0, str(run)
    assert [rank["GROUP_RANK"] for rank in run.ranks()] == list("0123"), str(run)
    (master,) = {rank["MASTER_ADDR"] for rank in run.ranks()}
    assert cluster.is_fast(master), str(run)


@takes_long
def test_python_m(cluster: Cluster) -> None:
    train(cluster, [sys.executable, "-m", "torchrun_jsc", *command()[1:]])
