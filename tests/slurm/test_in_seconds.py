"""A run that cannot work says why, long before torch gives up."""

from __future__ import annotations

import json
import re
import shlex
import sys
from typing import TYPE_CHECKING

import pytest

from slow import takes_long
from slurm.jobs import IB0, command, succeeded, train
from slurm.lab import HERE, TORCHRUN_JSC

if TYPE_CHECKING:
    from slurm.lab import Cluster, Run

CONNECTED = str(HERE / "connected.py")

WARNING = "torchrun_jsc: warning: "

#: Seconds until a message is there; torch alone takes a minute and more.
SECONDS = 20
#: Where the message comes after 15 seconds of waiting, they count from here: torch's start takes as long as it takes.
PLANNED = {"TORCHRUN_JSC_EXPLAIN": "1"}


def said(run: Run) -> list[str]:
    """The lines that are ours, without the number of the task."""
    return re.findall(r"^(?:\d: )?(torchrun_jsc: .*)$", run.stderr, flags=re.MULTILINE)


def test_no_such_name(cluster: Cluster) -> None:
    run = cluster.srun(command("ghost:29500"))
    assert run.code == 2, str(run)
    line = 'torchrun_jsc: error: --rdzv_endpoint="ghost": cannot resolve it on node jwb000'
    assert [said.startswith(line) for said in run.errors(0)] == [True], str(run)
    assert run.seconds_until(line) < SECONDS, str(run)


def test_a_local_address_that_no_interface_has(cluster: Cluster) -> None:
    run = cluster.srun(command(more=["--local-addr=10.20.0.1"]), options=["--kill-on-bad-exit"])
    assert run.code != 0, str(run)
    line = 'torchrun_jsc: error: --local_addr="10.20.0.1": no interface of node jwb0002 has it'
    assert [said.startswith(line) for said in run.errors(1)] == [True], str(run)
    assert run.seconds_until(line) < SECONDS, str(run)


@takes_long
def test_one_launcher_a_task_instead_of_a_node(cluster: Cluster) -> None:
    conf = ["--rdzv-conf=join_timeout=5,read_timeout=5"]
    run = cluster.srun(command(more=conf), options=["--ntasks-per-node=2"], timeout=120)
    line = "4 launchers on 2 nodes for --nnodes=2: start one a node, with --ntasks-per-node=1"
    assert said(run).count(WARNING + line) == 1, str(run)
    assert run.seconds_until(line) < SECONDS, str(run)


def test_more_nodes_than_the_step_has(cluster: Cluster) -> None:
    # The host's end is that of the step: a launcher that comes later would look for its store for a minute or two.
    conf = ["--rdzv-conf=join_timeout=5"]
    run = cluster.srun(command(nodes=3, more=conf), nodes=2, options=["--kill-on-bad-exit"], timeout=120)
    assert run.code != 0, str(run)
    line = "--nnodes=3, but the step has 2 tasks on 2 nodes: it will wait"
    assert said(run).count(WARNING + line) == 1, str(run)
    assert run.seconds_until(line) < SECONDS, str(run)


def test_node_ids_that_are_0_everywhere(cluster: Cluster) -> None:
    run = cluster.srun(["env", "SLURM_NODEID=0", *command("jwb0001i")])
    assert run.code == 0, str(run)
    line = "SLURM_NODEID=0 contradicts SLURM_STEP_NODELIST, where jwb0002 is number 1; taking 1"
    assert said(run) == [WARNING + line], str(run)
    assert run.seconds_until(line) < SECONDS, str(run)


@takes_long
def test_nobody_hosts(cluster: Cluster) -> None:
    """Who cannot reach the store says so after 15 seconds; torch waits for a minute."""
    run = cluster.srun(command(more=["--rdzv-conf=is_host=0,read_timeout=18"]), env=PLANNED, timeout=120)
    assert run.code == 1, str(run)
    for task, node, source in ((0, "jwb0001", "10.20.0.1"), (1, "jwb0002", "10.20.0.2")):
        line = (
            f"node {node} still cannot reach the endpoint jwb0001i:29500 (10.20.0.1) from {source} on ib0: "
            "connection refused (it has not started yet, or has ended); jwb0001 should host it; "
            "this node does not: is_host in --rdzv_conf"
        )
        assert WARNING + line in run.errors(task), str(run)
        assert run.seconds_until(line) - run.seconds_until(f"node {node} ({task} of 2): ") < SECONDS, str(run)


@pytest.mark.cluster(IB_DOWN="jwb0002")
@takes_long
def test_a_closed_network(cluster: Cluster) -> None:
    run = cluster.srun(command(more=["--rdzv-conf=read_timeout=18,join_timeout=20"]), env=PLANNED, timeout=120)
    assert run.code == 1, str(run)
    text = "\n".join(run.errors(1))
    for line in (
        WARNING + "no route from node jwb0002 to the endpoint jwb0001i:29500; its interfaces are eth0",
        WARNING + "ib0 of node jwb0002, which has 10.20.0.2, is down",
        "node jwb0002 still cannot reach the endpoint jwb0001i:29500 (10.20.0.1) without a route: ",
    ):
        assert line in text, str(run)
        assert run.seconds_until(line) - run.seconds_until("node jwb0002 (1 of 2): ") < SECONDS, str(run)


def test_a_taken_port(cluster: Cluster) -> None:
    take = (
        "import os, socket, sys\n"
        "taken = socket.socket(socket.AF_INET6)\n"
        "taken.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)\n"
        # As torch's store does: a test before may have left connections that are not quite gone.
        "taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
        "if os.environ['SLURM_NODEID'] == '0':\n"
        "    taken.bind(('', 29500)); taken.listen(); os.set_inheritable(taken.fileno(), True)\n"
        "os.execvp(sys.argv[1], sys.argv[1:])\n"
    )
    run = cluster.srun([sys.executable, "-c", take, *command(more=["--rdzv-conf=read_timeout=5"])], timeout=120)
    assert run.code == 1, str(run)
    pattern = r"port 29500 of the endpoint jwb0001i:29500 is taken on node jwb0001 by \S+ \(pid \d+\)"
    found = re.search(pattern, "\n".join(run.errors(0)))
    assert found, str(run)
    assert run.seconds_until(found[0]) < SECONDS, str(run)


@pytest.mark.parametrize("preflight", ["on", pytest.param("off", marks=takes_long)])
def test_a_working_run_is_told_nothing(cluster: Cluster, preflight: str) -> None:
    job = train(cluster, command(), env={"TORCHRUN_JSC_PREFLIGHT": preflight})
    assert said(job.run) == []


def test_strict_preflight(cluster: Cluster) -> None:
    job = train(cluster, command(nodes=3), nodes=3, env={"TORCHRUN_JSC_PREFLIGHT": "strict"})
    assert said(job.run) == ["torchrun_jsc: preflight: all 3 nodes reach one another"]


def test_strict_preflight_names_the_pairs(cluster: Cluster) -> None:
    """The third node publishes its address on the closed network, so nobody reaches it."""
    closed = 'test "$SLURM_NODEID" != 2 || set -- "$1" --local-addr=10.10.0.3 "${@:2}"; exec "$@"'
    run = cluster.srun(
        ["bash", "-c", closed, "-", *command(nodes=3)],
        nodes=3,
        env={"TORCHRUN_JSC_PREFLIGHT": "strict"},
        timeout=120,
    )
    assert run.code == 2, str(run)
    text = "\n".join(said(run))
    for node in ("jwb0001", "jwb0002"):
        assert f"preflight: node {node} cannot reach jwb0003 (10.10.0.3): " in text, str(run)
    assert "torchrun_jsc: error: preflight: not all nodes reach one another; node jwb0001 says which" in text
    assert run.stdout == "", str(run)


def test_strict_preflight_names_who_never_came(cluster: Cluster) -> None:
    absent = 'test "$SLURM_NODEID" != 2 || exit 0; exec "$@"'
    run = cluster.srun(
        ["sh", "-c", absent, "-", *command(nodes=3)],
        nodes=3,
        env={"TORCHRUN_JSC_PREFLIGHT": "strict", "TORCHRUN_JSC_PREFLIGHT_TIMEOUT": "5"},
        timeout=120,
    )
    assert run.code == 2, str(run)
    assert "torchrun_jsc: preflight: node jwb0003 never came" in said(run), str(run)


def explained(lines: list[str]) -> dict:
    """The plan in what a node wrote."""
    text = "\n".join(lines)
    return json.JSONDecoder().raw_decode(text[text.index("{\n") :])[0]


@pytest.mark.parametrize(
    ("arguments", "old"),
    [
        pytest.param([], "0", id="nothing-given", marks=takes_long),
        pytest.param(["--rdzv-backend=c10d", "--rdzv-endpoint=n10i:29500"], "1", id="host-on-node-1-old-solution"),
        pytest.param(["--rdzv-backend=static"], "0", id="static", marks=takes_long),
    ],
)
@pytest.mark.cluster(NODES="n9 n10 n11")
def test_explain_says_what_the_run_then_does(cluster: Cluster, arguments: list[str], old: str) -> None:
    """Both in one step, since the port comes from its id."""
    options = ["--nnodes=auto", "--nproc-per-node=1", *arguments]
    explain = shlex.join([sys.executable, "-m", "torchrun_jsc.explain", "--json", *options])
    run = cluster.srun(
        ["sh", "-c", f'{explain} >&2 && exec "$@"', "-", TORCHRUN_JSC, *options, CONNECTED],
        env={**IB0, "TORCHRUN_JSC_PREFER_OLD_SOLUTION": old},
    )
    job = succeeded(cluster, run)
    plans = [explained(run.errors(task)) for task in (0, 1)]
    nodes = plans[0]["nodes"]
    first = plans[0]
    assert [plan["node"] for plan in plans] == [node["name"] for node in nodes] == ["n9", "n10"]
    # Under the static backend rank 0 hosts, and nothing is decided.
    assert [plan["node"] for plan in plans if plan["is_host"]] == ([first["host_node"]] if first["host_node"] else [])
    assert {plan["endpoint"] for plan in plans} == {first["endpoint"]}
    host, _, port = first["endpoint"].rpartition(":")
    assert [(rank["GROUP_RANK"], rank["node"]) for rank in job.ranks] == [
        (str(node["rank"]), node["name"]) for node in nodes
    ]
    # The store of rank 0 is where the plan says: at its own address, or at the endpoint, for a literal or for its name.
    assert job.master == (host if "static" in str(arguments) else first["local_address"])
    assert [int(port) in rank["ports"] for rank in job.ranks] == [True, True]
    assert {rank["GLOO_SOCKET_IFNAME"] for rank in job.ranks} == {first["interface"]} == {"ib0"}


def test_explain_is_one_line_a_node_and_a_table_from_the_first(cluster: Cluster) -> None:
    run = cluster.srun([sys.executable, "-m", "torchrun_jsc.explain", "--nnodes=auto"], nodes=3)
    assert run.code == 0, str(run)
    by_task = [[line[3:] for line in run.stdout.splitlines() if line.startswith(f"{task}: ")] for task in range(3)]
    assert [len(lines) for lines in by_task[1:]] == [1, 1], str(run)
    assert by_task[0][0].startswith("node jwb0001 (0 of 3): hosts ("), str(run)
    assert by_task[2][0].startswith("node jwb0003 (2 of 3): does not host ("), str(run)
    assert any(re.match(r"1 +jwb0002 +jwb0002i +10\.20\.0\.2", line) for line in by_task[0]), str(run)
    assert any(line.startswith("filled in: --rdzv_endpoint=jwb0001i:") for line in by_task[0]), str(run)
