"""While a launch waits, its host says for whom; and a host that is late is waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slow import takes_long
from slurm.jobs import IB0, command, succeeded
from slurm.lab import REPORT, TORCHRUN_JSC

if TYPE_CHECKING:
    from slurm.lab import Cluster, Run

#: All on node 0 that `$@` is, on the others nothing.
FIRST_ONLY = ["sh", "-c", 'test "$SLURM_NODEID" != 0 || exec "$@"', "-"]


def said(run: Run, task: int) -> list[str]:
    return [line for line in run.errors(task) if line.startswith("torchrun_jsc: ")]


def test_the_host_names_the_nodes_that_never_came(cluster: Cluster) -> None:
    more = ["--rdzv-conf=join_timeout=18"]
    run = cluster.srun([*FIRST_ONLY, *command(nodes=3, more=more)], nodes=3, timeout=90)
    assert run.code == 1, str(run)
    absent = "jwb[0002-0003]"
    end = f"{absent} never came; nodes that come later will find no store"
    assert said(run, 0) == [
        f"torchrun_jsc: warning: 2 of 3 nodes have not come after 15 s: {absent}",
        f"torchrun_jsc: warning: only 1 of 3 nodes came within join_timeout=18 s; {end}",
    ], str(run)


@takes_long
def test_where_each_node_names_itself_both_say_so(cluster: Cluster) -> None:
    options = "--nnodes=2 --nproc-per-node=1 --rdzv-backend=c10d --rdzv-id=1 --rdzv-conf=join_timeout=18"
    launch = f"{TORCHRUN_JSC} {options} --rdzv-endpoint=$(hostname)i:29500 {REPORT}"
    run = cluster.srun(["sh", "-c", launch], timeout=90)
    assert run.code == 1, str(run)
    for task, other in ((0, "jwb0002"), (1, "jwb0001")):
        line = f"torchrun_jsc: warning: 1 of 2 nodes has not come after 15 s: {other}"
        assert line in said(run, task), str(run)


@takes_long
def test_a_late_host_is_waited_for(cluster: Cluster) -> None:
    """torch alone would wait for read_timeout."""
    late = 'test "$SLURM_NODEID" != 0 || sleep 12; exec "$@"'
    more = ["--rdzv-conf=read_timeout=5,join_timeout=60"]
    run = cluster.srun(["sh", "-c", late, "-", *command(more=more)], env=IB0, timeout=90)
    succeeded(cluster, run)


def test_the_host_makes_room_for_its_connections(cluster: Cluster) -> None:
    limited = 'ulimit -S -n 64; ulimit -H -n 200; exec "$@"'
    run = cluster.srun(["bash", "-c", limited, "-", *command()], env=IB0)
    succeeded(cluster, run)
    room = "node jwb0001 hosts the store for 2 nodes with 2 workers, which may need 264 open files"
    assert said(run, 0) == [f"torchrun_jsc: warning: {room}, but the hard limit is 200 (ulimit -Hn)"], str(run)
    assert said(run, 1) == [], str(run)


def test_a_node_says_that_the_host_is_gone(cluster: Cluster) -> None:
    """The worker on the host node ends its launcher, as Slurm or a lack of memory would."""
    worker = 'test "$GROUP_RANK" = 0 || exec sleep 60; kill -9 $PPID'
    run = cluster.srun([*command(more=["--no-python"], worker="sh"), "-c", worker], timeout=90)
    assert run.code != 0, str(run)
    gone = "the store at jwb0001i:29500 is gone: its launcher on jwb0001 has ended; what it said comes first"
    assert said(run, 1) == [f"torchrun_jsc: warning: {gone}"], str(run)


def test_two_launches_of_one_step_do_not_mix(cluster: Cluster) -> None:
    """Both are left to make their endpoint of the step; the second one begins when the first one's workers run."""
    launch = f"{TORCHRUN_JSC} --nnodes=auto --nproc-per-node=1 --no-python sh -c"
    there, go = "$TMPDIR/there.$SLURM_NODEID", "$TMPDIR/go.$SLURM_NODEID"
    first = f"touch {there}; while ! test -e {go}; do sleep 0.1; done; echo first"
    script = (
        f"export TMPDIR=$(mktemp -d); {launch} '{first}' & while ! test -e {there}; do sleep 0.1; done; "
        f"{launch} 'echo second'; echo status $?; touch {go}; wait; "
        f"{launch} 'echo third'; "
        "rm -r $TMPDIR"
    )
    run = cluster.srun(["sh", "-c", script], timeout=90)
    assert run.code == 0, str(run)
    assert sorted(run.stdout.splitlines()) == sorted(
        f"{task}: {word}" for task in (0, 1) for word in ("status 2", "first", "third")
    ), str(run)
    for task, node in ((0, "jwb0001"), (1, "jwb0002")):
        (line,) = said(run, task)
        assert line.startswith("torchrun_jsc: error: a launch with the endpoint jwb0001i:"), str(run)
        assert f" runs on node {node} already, in the same step: give one of them --rdzv-endpoint" in line, str(run)
