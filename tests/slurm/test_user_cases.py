"""What users of torchrun on Slurm ran into, one rule a test."""

import pytest

from slow import takes_long
from slurm.jobs import IB0, command, train
from slurm.lab import REPORT, TORCHRUN_JSC, WORKER, Cluster


def test_two_words_before_the_endpoint(cluster: Cluster) -> None:
    line = (
        f"{TORCHRUN_JSC} --nnodes=2 --rdzv_backend c10d --nproc_per_node=1 --rdzv_id 7 --rdzv_endpoint=10.20.0.1:29801 "
        f"--rdzv_conf=is_host=$(if ((SLURM_NODEID)); then echo 0; else echo 1; fi) {REPORT}"
    )
    assert train(cluster, ["bash", "-c", line]).master == "10.20.0.1"


def test_spellings_of_settings(cluster: Cluster) -> None:
    env = {
        "TORCHRUN_JSC_PREFER_ARG_PATCHING": " Yes ",
        "TORCHRUN_JSC_HOST_NODE_RANK": "00",
        "TORCHRUN_JSC_NODE_RANK": "",
    }
    train(cluster, command(), env=env)


def test_ranks_decide_as_numbers(cluster: Cluster) -> None:
    """Node 1 hosts, and says so by ranks that Slurm does not know."""
    own = ["sh", "-c", 'export TORCHRUN_JSC_NODE_RANK=" 0$((SLURM_NODEID + 4))"; exec "$@"', "-"]
    train(cluster, [*own, *command("jwb0002i:29500")], env={"TORCHRUN_JSC_HOST_NODE_RANK": "5"})


@takes_long
def test_host_without_slurms_variables(cluster: Cluster) -> None:
    """The endpoint alone tells, by the interfaces' addresses."""
    unset = "unset $(env | sed -n 's/^\\(SLURM[A-Z0-9_]*\\)=.*/\\1/p'); exec \"$@\""
    bare = ["sh", "-c", unset, "-"]
    train(cluster, [*bare, *command("10.20.0.2:29500")])


@pytest.mark.cluster(SECOND_IP="1")
@takes_long
def test_a_second_address_of_an_interface(cluster: Cluster) -> None:
    assert train(cluster, command("10.20.0.101:29500")).master == "10.20.0.101"


@pytest.mark.cluster(HOSTS="own")
@takes_long
def test_names_that_only_their_own_node_knows(cluster: Cluster) -> None:
    assert train(cluster, command("10.20.0.1:29500", worker=WORKER)).master == "10.20.0.1"


@pytest.mark.cluster(ALIAS="trainer")
@takes_long
def test_an_alias_of_the_endpoint(cluster: Cluster) -> None:
    assert train(cluster, command("trainer:29500")).master == "trainer"


@pytest.mark.cluster(IPV6="1")
def test_ipv6_loopback_of_one_node(cluster: Cluster) -> None:
    run = cluster.srun(command("[::1]:29502", nodes=1), nodes=1)
    assert run.code == 0, str(run)
    # As in torchrun, which gives the node's own name here unless it is told an address.
    assert [rank["MASTER_ADDR"] for rank in run.ranks()] in (["::1"], ["jwb0001.lab.test"]), str(run)


@pytest.mark.cluster(LOOPBACK_NAME="1", OPEN_ETH="1")
def test_endpoint_is_a_loopback_address_on_its_own_node(cluster: Cluster) -> None:
    run = cluster.srun(command("jwb0001:29500", worker=WORKER), env=IB0)
    assert run.code == 0, str(run)
    assert {rank["sum"] for rank in run.ranks()} == {3}, str(run)


def test_the_task_id_is_not_the_node_id(cluster: Cluster) -> None:
    """The launchers are tasks 0 and 2, on nodes 0 and 1; node 1 hosts."""
    first = ["sh", "-c", 'test "$SLURM_LOCALID" != 0 || exec "$@"', "-"]
    train(
        cluster,
        [*first, *command("jwb0002i:29500")],
        options=["--ntasks-per-node=2"],
        env={"TORCHRUN_JSC_HOST_NODE_RANK": "1"},
    )


def test_the_first_rank_is_done_first(cluster: Cluster) -> None:
    late = 'python3 "$0"; sleep "$RANK"'
    words = command(more=["--no-python", "sh", "-c", late])
    assert train(cluster, words).master == "jwb0001i"
