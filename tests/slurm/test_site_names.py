"""Names and interfaces as sites have them; nobody exports anything."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from slow import takes_long
from slurm.jobs import Case, command, explained, refused, succeeded
from slurm.lab import HERE, REPORT, TORCHRUN_JSC, WORKER, Cluster, Run

if TYPE_CHECKING:
    from pathlib import Path

DIRECT = str(HERE / "direct.py")


def launch(worker: str = REPORT) -> list[str]:
    return [TORCHRUN_JSC, "--nnodes=auto", "--nproc-per-node=1", worker]


def check(run: Run, master: str, interface: str) -> None:
    """Both ranks of two nodes are there, and on this network."""
    ranks = run.ranks()
    assert (run.code, len(ranks)) == (0, 2), str(run)
    assert {(rank["MASTER_ADDR"], rank["GLOO_SOCKET_IFNAME"]) for rank in ranks} == {(master, interface)}, str(run)
    assert {rank.get("sum", 3) for rank in ranks} == {3}, str(run)


def resolved(cluster: Cluster, env: dict[str, str] = {}) -> dict:  # noqa: B006
    """What `resolve_endpoint` says on the second node."""
    run = cluster.srun([sys.executable, DIRECT], env=env)
    assert run.code == 0, str(run)
    first, second = run.ranks()
    assert first["endpoint"] == second["endpoint"], str(run)
    return second


WITHOUT = pytest.mark.cluster(SUFFIX="", OPEN_ETH="1")


@WITHOUT
def test_a_cluster_without_the_names(cluster: Cluster) -> None:
    check(cluster.srun(launch(WORKER), timeout=90), "jwb0001", "eth0")


@WITHOUT
def test_templates_that_do_not_resolve_are_skipped(cluster: Cluster) -> None:
    settings = {
        ("SYSTEMNAME", "juwels"): "jwb0001",
        ("TORCHRUN_JSC_HOST_TEMPLATE", "{node}i,{node}"): "jwb0001",
        ("TORCHRUN_JSC_HOST_TEMPLATE", "{host}-ib0{domain}, {node}.lab.test"): "jwb0001.lab.test",
    }
    for host, plans in zip(settings.values(), explained(cluster, [dict([setting]) for setting in settings])):
        for plan in plans:
            assert (plan["endpoint"].partition(":")[0], plan["interface"], plan["warnings"]) == (host, "eth0", [])


@pytest.mark.cluster(IPV6="1")
def test_ipv6_by_name(cluster: Cluster) -> None:
    run = cluster.srun(command("jwb0001-v6:29500", worker=WORKER), timeout=90)
    assert succeeded(cluster, run).master == "jwb0001-v6"


@pytest.mark.cluster(IPV6="1", SUFFIX="")
@takes_long
def test_ipv6_by_template(cluster: Cluster) -> None:
    """The only names on the open network are those of IPv6 addresses."""
    env = {"TORCHRUN_JSC_HOST_TEMPLATE": "{node}-v6"}
    check(cluster.srun(launch(WORKER), env=env, timeout=90), "jwb0001-v6", "ib0")
    found = resolved(cluster, env)
    assert (found["MASTER_ADDR"], found["address"], found["interface"]) == ("jwb0001-v6", "fd00:20::1", "ib0")


@pytest.mark.cluster(IPV6="1")
@takes_long
def test_ipv6_by_address(cluster: Cluster) -> None:
    run = cluster.srun(command("[fd00:20::2]:29500", worker=WORKER), timeout=90)
    # The store is on the second node, rank 0 on the first.
    assert succeeded(cluster, run).master == "fd00:20::1"


@pytest.mark.cluster(DOCKER0="1")
def test_a_bridge_with_one_address_on_all_nodes(cluster: Cluster) -> None:
    check(cluster.srun(launch(WORKER), timeout=90), "jwb0001i", "ib0")
    check(cluster.srun(command("10.20.0.2:29500")), "10.20.0.1", "ib0")
    assert resolved(cluster)["interface"] == "ib0"


@pytest.mark.cluster(DOCKER0="1")
def test_the_bridge_is_not_offered(cluster: Cluster) -> None:
    named = ['TORCHRUN_JSC_INTERFACE="docker0": no usable interface of jwb000', "matches; there are eth0, ib0"]
    refused(cluster, [(Case(launch()[1:], {"TORCHRUN_JSC_INTERFACE": "docker0"}), named)])


@pytest.mark.cluster(LOOPBACK_NAME="1")
@takes_long
def test_own_name_on_loopback(cluster: Cluster) -> None:
    check(cluster.srun(launch(WORKER), timeout=90), "jwb0001i", "ib0")


@pytest.mark.cluster(LOOPBACK_NAME="1", SUFFIX="", OPEN_ETH="1")
@takes_long
def test_the_only_name_is_on_loopback_at_home(cluster: Cluster) -> None:
    """Every node's own name is 127.0.1.1 to itself and a real address to the others."""
    check(cluster.srun(launch(WORKER), timeout=90), "jwb0001", "eth0")
    found = resolved(cluster)
    assert (found["address"], found["interface"]) == ("10.10.0.1", "eth0")
    # The first node, which hosts, knows itself by 127.0.1.1 only.
    run = cluster.srun([sys.executable, DIRECT])
    assert [rank["interface"] for rank in run.ranks()] == ["eth0", "eth0"], str(run)


@pytest.mark.cluster(IB_DOWN="jwb0001 jwb0002 jwb0003 jwb0004", OPEN_ETH="1")
def test_an_interface_that_is_down_everywhere(cluster: Cluster) -> None:
    """The names on the fast network still resolve, and all nodes have to choose the same one: each says what is wrong,
    and the user chooses another network.
    """
    for node, plan in enumerate(next(iter(explained(cluster, [{}]))), start=1):
        assert plan["endpoint"].partition(":")[0] == "jwb0001i"
        assert f"ib0 of node jwb000{node}, which has 10.20.0.{node}, is down" in plan["warnings"]
    check(cluster.srun(launch(WORKER), env={"TORCHRUN_JSC_INTERFACE": "eth0"}, timeout=90), "jwb0001", "eth0")
    assert resolved(cluster, {"TORCHRUN_JSC_INTERFACE": "eth0"})["interface"] == "eth0"


@pytest.mark.cluster(NODES="b.cl a.cl", DOMAIN="")
def test_names_with_dots(cluster: Cluster) -> None:
    """Slurm's list is a.cl,b.cl; the suffix goes before the domain."""
    run = cluster.srun(launch(WORKER), timeout=90)
    job = succeeded(cluster, run)
    assert (job.master, [rank["node"] for rank in job.ranks]) == ("ai.cl", ["a.cl", "b.cl"])
    assert resolved(cluster)["MASTER_ADDR"] == "ai.cl"


@pytest.mark.cluster(NODES="b.cl a.cl", DOMAIN="")
def test_host_names_without_the_domain(cluster: Cluster) -> None:
    short = ["unshare", "--uts", "sh", "-c", 'hostname "${SLURMD_NODENAME%%.*}"; unset SLURMD_NODENAME; exec "$@"', "-"]
    run = cluster.srun([*short, *launch()])
    job = succeeded(cluster, run)
    assert (job.master, [rank["node"] for rank in job.ranks]) == ("ai.cl", ["a", "b"])


@pytest.mark.cluster(SECOND_IP="1")
@takes_long
def test_a_second_address(cluster: Cluster) -> None:
    check(cluster.srun(launch()), "jwb0001i", "ib0")
    found = resolved(cluster, {"MASTER_ADDR": "10.20.0.101"})
    assert (found["address"], found["interface"], found["MASTER_ADDR"]) == ("10.20.0.101", "ib0", "10.20.0.101")


@pytest.mark.cluster(HOSTS="own")
def test_names_that_only_their_own_node_knows(cluster: Cluster) -> None:
    """Nothing can be derived from them on the other nodes: they say so, and nobody takes localhost."""
    run = cluster.srun(launch(), options=["--kill-on-bad-exit=1"])
    assert run.code != 0, str(run)
    assert run.stdout == "", str(run)
    (line,) = [line for line in run.errors(1) if line.startswith("torchrun_jsc: ")]
    assert line.startswith('torchrun_jsc: error: SLURM_STEP_NODELIST="jwb0001i,jwb0001": cannot resolve it on node'), (
        str(run)
    )


def test_the_first_name_that_resolves_counts(cluster: Cluster, tmp_path: Path) -> None:
    """The node's plain name leads to a network without a route, which other nodes may not see: it has to come later."""
    hosts = tmp_path / "hosts"
    hosts.write_text(
        "127.0.0.1 localhost\n"
        "192.0.2.1 jwb0001\n192.0.2.2 jwb0002\n"
        "10.20.0.1 jwb0001.hpc.example\n10.20.0.2 jwb0002.hpc.example\n"
    )
    own = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(hosts)]
    env = {"TORCHRUN_JSC_HOST_TEMPLATE": "{node}.hpc.example,{node}"}
    check(cluster.srun([*own, *launch()], env=env), "jwb0001.hpc.example", "ib0")
    env = {"TORCHRUN_JSC_HOST_TEMPLATE": "{node},{node}.hpc.example"}
    run = cluster.srun([*own, sys.executable, "-m", "torchrun_jsc.explain", *launch()[1:]], env=env)
    assert "endpoint jwb0001:" in run.stdout, str(run)
    assert "jwb0002 is 192.0.2.2, which no interface of jwb0002 has" in run.stderr, str(run)
