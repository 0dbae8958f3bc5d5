"""Resolvers that are slow, silent or wrong: the real one of this system asks a name server on each node."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Callable

import pytest

from slow import takes_long
from slurm.jobs import command, succeeded
from slurm.lab import HERE, REPORT, TORCHRUN_JSC, Cluster, Run
from slurm.name_server import run_with_names

if TYPE_CHECKING:
    from pathlib import Path

TIMED = [sys.executable, str(HERE / "timed.py")]

#: Where these names stand in no file. A node knows its own name, as nodes do.
RECORDS = {f"jwb000{k}i": [f"10.20.0.{k}"] for k in range(1, 5)}
NOBODY = "127.0.0.1 localhost\n"
OWN = NOBODY + "10.10.0.{0} jwb000{0}\n"
#: What is more than the deadline and no failure to keep it.
LATE = 0.5

Asking = Callable[..., Run]


@pytest.fixture
def asking(cluster: Cluster, tmp_path: Path) -> Asking:
    """Run a command on two nodes of which each has such a name server."""

    def run(command: list[str], *, hosts: str = OWN, deadline: float = 10, timeout: float = 120, **zone: Any) -> Run:
        zone = {"records": RECORDS, **zone}
        return run_with_names(cluster, tmp_path, command, zone=zone, hosts=hosts, deadline=deadline, timeout=timeout)

    return run


def launch(*arguments: str) -> list[str]:
    return [TORCHRUN_JSC, "--nnodes=auto", "--nproc-per-node=1", *arguments, REPORT]


def told(run: Run) -> list[dict]:
    """What both tasks were told, by rank."""
    assert run.code == 0, str(run)
    ranks = run.ranks()
    assert len(ranks) == 2, str(run)
    return ranks


def test_a_resolver_that_never_answers(asking: Asking) -> None:
    run = asking(TIMED, hosts=NOBODY, deadline=1, silent=1)
    for rank in told(run):
        assert "no answer within 1 s" in rank["error"], str(run)
        assert 1 <= rank["seconds"] < 1 + LATE, str(run)


def test_a_launch_without_an_answer(asking: Asking) -> None:
    run = asking(launch(), hosts=NOBODY, deadline=1, silent=1)
    assert (run.code, run.stdout) == (2, ""), str(run)
    for task in (0, 1):
        (line,) = run.errors(task)
        assert line == (
            f'torchrun_jsc: error: SLURM_STEP_NODELIST="jwb0001": cannot resolve it on node jwb000{task + 1}: '
            "no answer within 1 s; use a name that all nodes resolve, or an address"
        )


def test_a_guess_without_an_answer_stops_nothing(asking: Asking) -> None:
    """The nodes' own names stand in a file. The guess is given up by all of them at the deadline."""
    for rank in told(asking(TIMED, hosts=NOBODY + "10.10.0.1 jwb0001\n10.10.0.2 jwb0002\n", deadline=1, silent=1)):
        assert rank["host"] == "jwb0001"
        assert 1 <= rank["seconds"] < 1 + LATE


@takes_long
def test_names_in_a_file_need_no_resolver(cluster: Cluster, asking: Asking) -> None:
    hosts = "".join(f"10.10.0.{k} jwb000{k}\n10.20.0.{k} jwb000{k}i\n" for k in (1, 2))
    succeeded(cluster, asking(launch(), hosts=hosts, deadline=1, silent=1))


def test_a_slow_resolver(cluster: Cluster, asking: Asking) -> None:
    """What is asked for a derived endpoint is asked at once."""
    for rank in told(asking(TIMED, deadline=10, delay=1)):
        assert rank["host"] == "jwb0001i"
        assert 1 <= rank["seconds"] < 1 + LATE
    assert succeeded(cluster, asking(launch(), delay=0.3)).master == "jwb0001i"


def test_answers_on_some_nodes_only(asking: Asking) -> None:
    """The node without an answer says so. It knows another name, but that is not what the others go to."""
    certain = ["env", "SYSTEMNAME=juwels", *TIMED]
    run = asking(certain, deadline=1, hosts=OWN + "10.10.0.1 jwb0001\n", on={"jwb0002": {"silent": 1}})
    first, second = told(run)
    assert first["host"] == "jwb0001i", str(run)
    assert second["error"].startswith('SLURM_STEP_NODELIST="jwb0001i": cannot resolve it on node jwb0002'), str(run)
    assert 1 <= second["seconds"] < 1 + LATE, str(run)


@takes_long
def test_an_address_needs_no_answer(cluster: Cluster, asking: Asking) -> None:
    run = asking(command("10.20.0.1:29500"), deadline=1, on={"jwb0002": {"silent": 1}})
    assert succeeded(cluster, run).master == "10.20.0.1"


@pytest.mark.cluster(IPV6="1")
def test_ipv6_first(asking: Asking) -> None:
    records = {f"jwb000{k}i": [f"10.20.0.{k}", f"fd00:20::{k}"] for k in (1, 2)}
    first, second = told(asking(TIMED, records=records))
    assert (first["address"], second["address"]) == ("fd00:20::1", "fd00:20::1")
    assert (first["host"], second["interface"]) == ("jwb0001i", "ib0")


@pytest.mark.cluster(IPV6="1")
@takes_long
def test_ipv6_first_and_nobodys(cluster: Cluster, asking: Asking) -> None:
    """A record that was left behind: the address answers nothing."""
    records = {f"jwb000{k}i": [f"10.20.0.{k}", f"fd00:20::dead:{k}"] for k in (1, 2)}
    assert succeeded(cluster, asking(launch(), records=records)).master == "jwb0001i"


@pytest.mark.cluster(SUFFIX="", OPEN_ETH="1")
def test_the_own_name_is_on_loopback(asking: Asking) -> None:
    """As Debian writes it into /etc/hosts, here from the name server."""
    records = {f"jwb000{k}": [f"10.10.0.{k}"] for k in (1, 2)}
    on = {f"jwb000{k}": {"records": {**records, f"jwb000{k}": ["127.0.1.1"]}} for k in (1, 2)}
    run = asking(launch(), hosts="127.0.0.1 localhost\n", on=on)
    assert run.code == 0, str(run)
    assert [rank["MASTER_ADDR"] for rank in run.ranks()] == ["jwb0001", "jwb0001"], str(run)


@takes_long
def test_no_reverse_entries_and_64_addresses(cluster: Cluster, asking: Asking) -> None:
    """More than fits into a packet; the node has one of them. Who asks for the name of an address gets no answer."""
    many = [f"10.20.0.{k}" for k in range(65, 128)]
    records = {f"jwb000{k}i": [*many, f"10.20.0.{k}"] for k in (1, 2)}
    first, second = told(asking(TIMED, records=records))
    assert (first["address"], second["interface"]) == ("10.20.0.1", "ib0")
    run = asking(launch(), records=records, silent_reverse=1)
    assert succeeded(cluster, run).master == "jwb0001i"


@pytest.mark.skipif(os.environ.get("LONG") != "1", reason="takes minutes: make fuzz runs it")
@pytest.mark.parametrize("endpoint", [None, "jwb0001i:29500"], ids=["derived", "given"])
def test_answers_after_8_seconds(cluster: Cluster, asking: Asking, endpoint: str | None) -> None:
    given = ["--rdzv-backend=c10d"] + [f"--rdzv-endpoint={endpoint}"] * bool(endpoint)
    run = asking([*TIMED, "--nnodes=auto", *given, REPORT], delay=8)
    for rank in told(run):
        assert rank["host"] == "jwb0001i", str(run)
        assert 8 <= rank["seconds"] < 10 + LATE, str(run)
    assert succeeded(cluster, asking(launch(*given), delay=8, timeout=300)).master == "jwb0001i"
