"""Scripts that no launcher starts: `srun python script.py`, one call, and the group is there."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Sequence

import pytest

from slow import takes_long
from slurm.lab import HERE, Cluster, Run

if TYPE_CHECKING:
    from pathlib import Path

DIRECT = str(HERE / "direct.py")
ENDPOINT = [sys.executable, "-m", "torchrun_jsc.endpoint"]


def tasks(
    cluster: Cluster, options: Sequence[str], *, nodes: int = 2, env: dict[str, str] = {}, words: Sequence[str] = ()  # noqa: B006
) -> list[dict]:
    """The reports of all tasks, by rank, after what must be true of all of them."""
    run = cluster.srun([sys.executable, DIRECT, *words], nodes=nodes, options=options, env=env, timeout=150)
    return agreed(run)


def agreed(run: Run) -> list[dict]:
    assert run.code == 0, str(run)
    ranks = run.ranks()
    world = len(ranks)
    assert [int(rank["RANK"]) for rank in ranks] == list(range(world)), str(run)
    for name in ("endpoint", "MASTER_ADDR", "MASTER_PORT", "address", "host_node", "nnodes"):
        assert len({rank[name] for rank in ranks}) == 1, str(run)
    assert {rank["WORLD_SIZE"] for rank in ranks} == {str(world)}, str(run)
    # Rank 0 is where the store is.
    assert ranks[0]["node"] == ranks[0]["host_node"], str(run)
    assert [rank["is_host"] for rank in ranks] == [True] + [False] * (world - 1), str(run)
    for node in {rank["node"] for rank in ranks}:
        here = [rank for rank in ranks if rank["node"] == node]
        assert sorted(int(rank["LOCAL_RANK"]) for rank in here) == list(range(len(here))), str(run)
        assert {rank["LOCAL_WORLD_SIZE"] for rank in here} == {str(len(here))}, str(run)
        assert len({rank["NODE_RANK"] for rank in here}) == 1, str(run)
    return ranks


def test_a_script_trains_without_a_launcher(cluster: Cluster) -> None:
    ranks = tasks(cluster, ["--ntasks=8"], words=["train"])
    assert {rank["sum"] for rank in ranks} == {36}
    assert {(rank["MASTER_ADDR"], rank["address"], rank["interface"]) for rank in ranks} == {
        ("jwb0001i", "10.20.0.1", "ib0")
    }
    assert {rank["torch"] for rank in ranks} == {False}
    assert 20000 <= int(ranks[0]["MASTER_PORT"]) < 29400


@takes_long
def test_another_host_node(cluster: Cluster) -> None:
    ranks = tasks(cluster, ["--ntasks=4"], env={"TORCHRUN_JSC_HOST_NODE_RANK": "1"}, words=["train"])
    assert (ranks[0]["node"], ranks[0]["MASTER_ADDR"]) == ("jwb0002", "jwb0002i")
    assert {rank["sum"] for rank in ranks} == {10}


@pytest.mark.parametrize("distribution", ["block", "cyclic", "plane=2"])
@pytest.mark.parametrize("host", ["0", "1"])
def test_distributions(cluster: Cluster, distribution: str, host: str) -> None:
    env = {"TORCHRUN_JSC_HOST_NODE_RANK": host}
    ranks = tasks(cluster, ["--ntasks=6", "--distribution=" + distribution], env=env)
    if host == "0":
        assert [rank["procid"] for rank in ranks] == [rank["RANK"] for rank in ranks]
    assert ranks[0]["host_node"] == ("jwb0001", "jwb0002")[int(host)]


def test_uneven_tasks(cluster: Cluster) -> None:
    ranks = tasks(cluster, ["--ntasks=5"], nodes=3)
    assert len({rank["LOCAL_WORLD_SIZE"] for rank in ranks}) > 1
    assert {rank["nnodes"] for rank in ranks} == {3}


@pytest.mark.parametrize("host", ["0", "2"])
def test_arbitrary_distribution(cluster: Cluster, tmp_path: Path, host: str) -> None:
    """Task 0 is on the third node, the host is another one: the ranks are counted from there."""
    hosts = tmp_path / "hosts"
    hosts.write_text("jwb0003\njwb0001\njwb0003\njwb0002\n")
    env = {"SLURM_HOSTFILE": str(hosts), "TORCHRUN_JSC_HOST_NODE_RANK": host}
    ranks = tasks(cluster, ["--ntasks=4", "--distribution=arbitrary"], nodes=3, env=env)
    assert ranks[0]["host_node"] == ("jwb0001", "", "jwb0003")[int(host)]
    assert [rank["node"] for rank in ranks].count("jwb0003") == 2


@pytest.mark.parametrize(
    ("groups", "host"),
    [
        pytest.param(["-n1", ":", "-N2", "-n2"], "jwb0001", id="in-the-order-of-their-names"),
        pytest.param(["-wjwb0003", ":", "-wjwb0002", ":", "-wjwb0001"], "jwb0003", id="in-another-order"),
        pytest.param(["-wjwb[0002,0004]", "-n4", ":", "-wjwb[0001,0003]", "-n2"], "jwb0002", id="uneven"),
        pytest.param(["-wjwb[0002,0004]", "-n3", ":", "-wjwb[0001,0003]", "-n3"], "jwb0002", id="odd"),
    ],
)
def test_a_step_over_all_groups_of_a_heterogeneous_job(cluster: Cluster, groups: list[str], host: str) -> None:
    over_all = "--het-group=0-{}".format(groups.count(":"))
    srun = ["srun", "--label", over_all, sys.executable, DIRECT]
    ranks = agreed(cluster.head(["salloc", "--quiet", *groups, *srun], timeout=90))
    assert ranks[0]["host_node"] == host


def test_groups_without_an_allocation_before(cluster: Cluster) -> None:
    script = [sys.executable, DIRECT]
    srun = ["srun", "--quiet", "--label", "-wjwb0003", *script, ":", "-wjwb[0001-0002]", *script]
    assert agreed(cluster.head(srun, timeout=90))[0]["host_node"] == "jwb0003"


def test_a_step_on_the_last_groups_only(cluster: Cluster) -> None:
    groups = ["-wjwb0004", ":", "-wjwb0003", ":", "-wjwb[0001-0002]"]
    srun = ["srun", "--label", "--het-group=1,2", sys.executable, DIRECT]
    run = cluster.head(["salloc", "--quiet", *groups, *srun], timeout=90)
    assert agreed(run)[0]["host_node"] == "jwb0003"
    assert "warning" not in run.stderr, str(run)


def test_what_is_set_is_kept_and_contradictions_are_said_once(cluster: Cluster) -> None:
    env = {"MASTER_ADDR": "10.20.0.1", "MASTER_PORT": "7777", "WORLD_SIZE": "9"}
    run = cluster.srun([sys.executable, DIRECT], options=["--ntasks=4"], env=env)
    assert {(rank["endpoint"], rank["WORLD_SIZE"]) for rank in run.ranks()} == {("10.20.0.1:7777", "9")}, str(run)
    lines = [line.partition(": ")[2] for line in run.stderr.splitlines()]
    # From the first task of each node.
    assert lines == ["torchrun_jsc: warning: WORLD_SIZE=9 as set, although SLURM_STEP_NUM_TASKS=4"] * 2, str(run)


def test_for_shell_scripts(cluster: Cluster) -> None:
    script = 'eval "$("$@" --export)" && echo "$MASTER_ADDR:$MASTER_PORT $RANK $WORLD_SIZE $LOCAL_RANK"; "$@"'
    run = cluster.srun(["sh", "-c", script, "-", *ENDPOINT], options=["--ntasks-per-node=2"])
    assert run.code == 0, str(run)
    (endpoint,) = {line.split()[1] for line in run.stdout.splitlines()}
    assert endpoint.startswith("jwb0001i:"), str(run)
    seen = sorted(line.split()[2:] for line in run.stdout.splitlines() if len(line.split()) > 2)
    assert seen == [["0", "4", "0"], ["1", "4", "1"], ["2", "4", "0"], ["3", "4", "1"]], str(run)


def test_a_batch_script_knows_the_endpoint_of_its_job(cluster: Cluster, tmp_path: Path) -> None:
    """In the script itself there is no rank yet; what it exports is the same on all tasks of its steps."""
    script = tmp_path / "job.sh"
    script.write_text(
        "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=2\n"
        '{0} --json | tr -d "\\n"; echo\n'
        'eval "$({0} --export)"; env | grep -c "^RANK="\n'
        "srun {1} {2}\n".format(" ".join(ENDPOINT), sys.executable, DIRECT)
    )
    run = cluster.sbatch(script)
    first, count, *tasks = run.stdout.splitlines()
    known = json.loads(first)
    assert (known["host"], known["rank"], known["world_size"], count) == ("jwb0001i", None, None, "0"), str(run)
    reports = [json.loads(line) for line in tasks]
    assert {(report["MASTER_ADDR"], int(report["MASTER_PORT"])) for report in reports} == {
        ("jwb0001i", known["port"])
    }, str(run)
    assert sorted(report["RANK"] for report in reports) == ["0", "1", "2", "3"], str(run)


def test_what_cannot_be_known_is_one_line(cluster: Cluster) -> None:
    bare = ["env", "-u", "SLURM_STEP_NODELIST", "-u", "SLURM_JOB_NODELIST", "-u", "SLURM_NODELIST"]
    run = cluster.srun([*bare, *ENDPOINT])
    assert (run.code, run.stdout) == (2, ""), str(run)
    for task in (0, 1):
        (line,) = run.errors(task)
        assert line.startswith("torchrun_jsc: error: SLURM_STEP_NODELIST"), str(run)
