"""`srun torchrun_jsc --nnodes=auto train.py` is enough: nobody exports or gives anything, and eth0 is closed."""

from __future__ import annotations

import pytest

from slow import takes_long
from slurm.jobs import explained, succeeded
from slurm.lab import REPORT, TORCHRUN_JSC, WORKER, Cluster, Run


def bare(*more: str, nodes: str = "auto", per_node: int = 1, worker: str = REPORT) -> list[str]:
    return [TORCHRUN_JSC, f"--nnodes={nodes}", f"--nproc-per-node={per_node}", *more, worker]


def lines_of_ours(run: Run) -> list[str]:
    """What this package itself said on stderr, without the labels."""
    return [line.partition("torchrun_jsc: ")[2] for line in run.stderr.splitlines() if "torchrun_jsc: " in line]


@pytest.mark.parametrize(
    ("nodes", "per_node"), [(2, 1), *(pytest.param(*size, marks=takes_long) for size in [(3, 2), (4, 1)])]
)
def test_one_line(cluster: Cluster, nodes: int, per_node: int) -> None:
    run = cluster.srun(bare(per_node=per_node, worker=WORKER), nodes=nodes, timeout=120)
    job = succeeded(cluster, run, nodes, per_node)
    assert job.master == "jwb0001i"
    # Node by node, in Slurm's order.
    assert [rank["node"] for rank in job.ranks] == [f"jwb000{1 + k // per_node}" for k in range(nodes * per_node)]
    assert lines_of_ours(run) == [], str(run)


@pytest.mark.parametrize(
    ("arguments", "env"),
    [
        pytest.param(["--nnodes=2", "--rdzv-backend=c10d"], {}, id="only-the-backend"),
        pytest.param([], {"PET_NNODES": "auto"}, id="by-environment", marks=takes_long),
        pytest.param(["--nnodes=1:2", "--rdzv-id=mine"], {}, id="a-range", marks=takes_long),
        pytest.param(["--nnodes=2", "--rdzv-backend=static"], {}, id="static"),
        pytest.param(["--nnodes=auto", "--master-addr=jwb0001i"], {}, id="master-address", marks=takes_long),
    ],
)
def test_what_is_missing_is_filled_in(cluster: Cluster, arguments: list[str], env: dict[str, str]) -> None:
    run = cluster.srun([TORCHRUN_JSC, "--nproc-per-node=1", *arguments, REPORT], env=env)
    job = succeeded(cluster, run)
    assert job.master == "jwb0001i"
    if "--rdzv-id=mine" in arguments:
        assert {rank["TORCHELASTIC_RUN_ID"] for rank in job.ranks} == {"mine"}


def test_a_node_rank_given_for_the_static_backend(cluster: Cluster) -> None:
    given = ["sh", "-c", 'launcher=$1; shift; exec "$launcher" --node-rank=$SLURM_NODEID "$@"', "-"]
    assert succeeded(cluster, cluster.srun([*given, *bare()])).master == "jwb0001i"


def test_the_endpoint_belongs_to_the_step(cluster: Cluster) -> None:
    """Job and step name the rendezvous; the port is another one for the next step."""
    words = ["srun", "--nodes=2", "--ntasks-per-node=1", *bare(worker=REPORT)]
    run = cluster.head(["salloc", "--quiet", "--nodes=2", "sh", "-c", '"$@" && "$@"', "-", *words])
    assert run.code == 0, str(run)
    ids = [rank["TORCHELASTIC_RUN_ID"] for rank in run.ranks()]
    assert len(set(ids)) == 2, str(run)
    # Job, step and restart count, the last two with their digits counted.
    job = {name[:-4] for name in ids}
    assert len(job) == 1, str(run)
    assert job.pop().isdigit(), str(run)
    assert {name[-4:] for name in ids} == {"0101", "1101"}, str(run)


@pytest.mark.parametrize(
    ("env", "master"),
    [
        pytest.param({"TORCHRUN_JSC_HOST_NODE_RANK": "1"}, "jwb0001i", id="host-node"),
        pytest.param(
            {"TORCHRUN_JSC_HOST_TEMPLATE": "{node}i.lab.test"}, "jwb0001i.lab.test", id="domain", marks=takes_long
        ),
    ],
)
def test_settings(cluster: Cluster, env: dict[str, str], master: str) -> None:
    """The workers' master is on the node with rank 0, whichever node hosts the store."""
    assert succeeded(cluster, cluster.srun(bare(), env=env)).master == master


SETTINGS = [
    ({}, "jwb0001i:"),
    ({"TORCHRUN_JSC_HOST_NODE_RANK": "1"}, "jwb0002i:"),
    ({"TORCHRUN_JSC_PORT": "12345"}, "jwb0001i:12345"),
    # The first name that there is.
    ({"TORCHRUN_JSC_HOST_TEMPLATE": "{node}-hsn, {node}i"}, "jwb0001i:"),
    ({"TORCHRUN_JSC_HOST_TEMPLATE": "{node}i.lab.test"}, "jwb0001i.lab.test:"),
    ({"TORCHRUN_JSC_INTERFACE": "ib"}, "jwb0001i:"),
    ({"SYSTEMNAME": "juwelsbooster"}, "jwb0001i:"),
    # A site without a rule of its own.
    ({"SYSTEMNAME": "jupiter"}, "jwb0001i:"),
    # Of a list in NCCL's syntax the interface that is here counts.
    ({"NCCL_SOCKET_IFNAME": "=ib0,ib1"}, "jwb0001i:"),
    ({"PET_MASTER_PORT": "23456"}, "jwb0001i:23456"),
]


def test_the_endpoint_by_setting(cluster: Cluster) -> None:
    for (env, endpoint), plans in zip(SETTINGS, explained(cluster, [env for env, _ in SETTINGS])):
        assert [plan["endpoint"].startswith(endpoint) for plan in plans] == [True, True], (env, plans)


def test_one_node_needs_nothing(cluster: Cluster) -> None:
    run = cluster.srun(bare(per_node=2, worker=WORKER), nodes=1)
    assert run.code == 0, str(run)
    assert [rank["sum"] for rank in run.ranks()] == [3, 3], str(run)
    assert {rank["GLOO_SOCKET_IFNAME"] for rank in run.ranks()} == {None}, str(run)


def test_the_users_interface_is_kept_and_its_absence_said(cluster: Cluster) -> None:
    run = cluster.srun(bare(), env={"GLOO_SOCKET_IFNAME": "bond1"})
    assert {rank["GLOO_SOCKET_IFNAME"] for rank in run.ranks()} == {"bond1"}, str(run)
    for task in (0, 1):
        (line,) = [line for line in run.errors(task) if "bond1" in line]
        assert line.startswith('torchrun_jsc: warning: GLOO_SOCKET_IFNAME="bond1": no interface'), str(run)
        assert line.endswith("there are eth0, ib0"), str(run)


def test_gloo_can_be_left_alone(cluster: Cluster) -> None:
    ((first, second),) = explained(cluster, [{"TORCHRUN_JSC_SOCKET_IFNAME": "off"}])
    assert (first["interface"], first["gloo_interface"], second["gloo_interface"]) == ("ib0", None, None)
