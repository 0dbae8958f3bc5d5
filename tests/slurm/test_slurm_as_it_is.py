"""Steps, groups and jobs as Slurm has them; nobody gives an endpoint, and eth0 is closed."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Sequence

import pytest

from slow import takes_long
from slurm.jobs import command, succeeded
from slurm.lab import HERE, REPORT, TORCHRUN_JSC, WORKER, Cluster, Run

if TYPE_CHECKING:
    from pathlib import Path

MEET = str(HERE / "meet.py")


def launch(worker: str = REPORT) -> list[str]:
    return [TORCHRUN_JSC, "--nnodes=auto", "--nproc-per-node=1", worker]


def allocated(cluster: Cluster, options: Sequence[str], step: Sequence[str], words: Sequence[str]) -> Run:
    """Run a step inside an allocation."""
    return cluster.head(["salloc", "--quiet", *options, "srun", "--label", *step, *words], timeout=120)


@pytest.mark.parametrize(
    ("step", "nodes"),
    [
        pytest.param(["--nodelist=jwb[0002,0004]", "--nodes=2"], ["jwb0002", "jwb0004"], id="without-node-0"),
        pytest.param(
            ["--relative=1", "--nodes=3"], ["jwb0002", "jwb0003", "jwb0004"], id="relative", marks=takes_long
        ),
    ],
)
def test_a_step_on_a_part_of_the_allocation(cluster: Cluster, step: list[str], nodes: list[str]) -> None:
    run = allocated(cluster, ["--nodes=4"], ["--ntasks-per-node=1", *step], launch(WORKER))
    job = succeeded(cluster, run, len(nodes))
    assert job.master == nodes[0] + "i"
    assert [rank["node"] for rank in job.ranks] == nodes


@pytest.mark.parametrize(
    ("groups", "nodes", "worker"),
    [
        pytest.param(["-N1", ":", "-N2"], "jwb0001 jwb0002 jwb0003", REPORT, id="in-the-order-of-their-names"),
        # slurmd sorts the list of the step and counts the nodes from group to group.
        pytest.param(
            ["-wjwb0003", ":", "-wjwb[0001-0002]"],
            "jwb0003 jwb0001 jwb0002",
            WORKER,
            id="another-order",
            marks=takes_long,
        ),
        # The second node is number 1 by both.
        pytest.param(
            ["-wjwb0003", ":", "-wjwb0002", ":", "-wjwb0001"],
            "jwb0003 jwb0002 jwb0001",
            REPORT,
            id="turned",
            marks=takes_long,
        ),
    ],
)
def test_a_step_over_the_groups_of_a_heterogeneous_job(
    cluster: Cluster, groups: list[str], nodes: str, worker: str
) -> None:
    step = ["--het-group=0-{}".format(groups.count(":"))]
    run = allocated(cluster, groups, step, launch(worker))
    job = succeeded(cluster, run, 3)
    assert job.master == nodes.split(maxsplit=1)[0] + "i"
    assert [rank["node"] for rank in job.ranks] == nodes.split()
    assert "torchrun_jsc: warning" not in run.stderr, str(run)


def test_a_step_on_one_group(cluster: Cluster) -> None:
    run = allocated(cluster, ["-N1", ":", "-N2"], ["--het-group=1"], launch())
    assert succeeded(cluster, run).master == "jwb0002i"


@takes_long
def test_groups_of_srun_alone(cluster: Cluster) -> None:
    """Without an allocation before, srun sets other variables."""
    run = cluster.head(["srun", "--quiet", "-wjwb0003", *launch(), ":", "-wjwb[0001-0002]", *launch()], timeout=90)
    assert succeeded(cluster, run, 3).master == "jwb0003i"


def test_arbitrary_distribution(cluster: Cluster, tmp_path: Path) -> None:
    """Task 0 is on the third node: the ranks follow the user's order. Node 0 of the list hosts all the same."""
    hosts = tmp_path / "hosts"
    hosts.write_text("jwb0003\njwb0001\njwb0002\n")
    options = ["--ntasks=3", "--distribution=arbitrary"]
    env = {"SLURM_HOSTFILE": str(hosts), "TORCHRUN_JSC_EXPLAIN": "1"}
    run = cluster.srun(launch(), nodes=3, options=options, env=env)
    job = succeeded(cluster, run, 3)
    assert job.master == "jwb0003i"
    assert [rank["node"] for rank in job.ranks] == ["jwb0003", "jwb0001", "jwb0002"]
    assert "rank order: slurm (the order of the tasks: SLURM_PROCID is not SLURM_NODEID here)" in run.stderr, str(run)
    assert run.stderr.count("endpoint jwb0001i:") == 3, str(run)


def at_once(cluster: Cluster, first: Sequence[str], second: Sequence[str], around: Sequence[str] = ()) -> list[dict]:
    """Two launches on two nodes; each worker waits for those of the other launch."""
    both = f"{shlex.join(first)} & pid=$!; {shlex.join(second)}; code=$?; wait $pid && exit $code"
    run = cluster.head([*around, "sh", "-c", both], timeout=120)
    assert run.code == 0, str(run)
    assert len(run.ranks()) == 4, str(run)
    return run.ranks()


def apart(ranks: list[dict]) -> None:
    """Both launches ran on both nodes, each with its own endpoint."""
    by_launch = {}
    for rank in ranks:
        by_launch.setdefault(rank["launch"], []).append(rank)
    assert len(by_launch) == 2, ranks
    for launched in by_launch.values():
        assert [(rank["node"], rank["MASTER_ADDR"]) for rank in launched] == [
            ("jwb0001", "jwb0001i"),
            ("jwb0002", "jwb0001i"),
        ], ranks
        assert len({rank["TORCHELASTIC_RUN_ID"] for rank in launched}) == 1, ranks
    assert len({rank["TORCHELASTIC_RUN_ID"] for rank in ranks}) == 2, ranks


def test_two_jobs_at_once_on_the_same_nodes(cluster: Cluster, tmp_path: Path) -> None:
    srun = ["srun", "--quiet", "--label", "--nodelist=jwb[0001-0002]", "--ntasks-per-node=1"]
    words = [*srun, *launch(MEET), str(tmp_path), "4"]
    apart(at_once(cluster, words, words))


@takes_long
def test_two_steps_at_once_on_the_same_nodes(cluster: Cluster, tmp_path: Path) -> None:
    srun = ["srun", "--label", "--overlap", "--nodes=2", "--ntasks-per-node=1"]
    words = [*srun, *launch(MEET), str(tmp_path), "4"]
    allocation = ["salloc", "--quiet", "--nodelist=jwb[0001-0002]"]
    apart(at_once(cluster, words, words, allocation))


@takes_long
def test_tasks_of_a_job_array_at_once_on_the_same_nodes(cluster: Cluster, tmp_path: Path) -> None:
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    script = tmp_path / "job.sh"
    words = shlex.join(["srun", "--ntasks-per-node=1", *launch(MEET), str(meeting), "4"])
    script.write_text(f"#!/bin/sh\n{words}\n")
    submit = ["sbatch", "--parsable", "--array=3-4", "--nodelist=jwb[0001-0002]", "--output=%a.out", str(script)]
    steps = f"id=$({shlex.join(submit)}) && srun --quiet --dependency=afterany:$id true && cat 3.out 4.out"
    run = cluster.head(["sh", "-c", steps], cwd=tmp_path, timeout=120)
    assert run.code == 0, str(run)
    apart(run.ranks())


def batch(tmp_path: Path, line: Sequence[str]) -> Path:
    script = tmp_path / "job.sh"
    script.write_text(f"#!/bin/sh\n#SBATCH --nodes=2 --ntasks-per-node=1\n{shlex.join(line)}\n")
    return script


def test_a_batch_script(cluster: Cluster, tmp_path: Path) -> None:
    run = cluster.sbatch(batch(tmp_path, ["srun", *launch(WORKER)]))
    assert succeeded(cluster, run).master == "jwb0001i"


@pytest.mark.parametrize("nnodes", ["auto", "2"])
def test_a_batch_script_without_srun_is_told_so(cluster: Cluster, tmp_path: Path, nnodes: str) -> None:
    """It looks like node 0 of two, and would wait for the other one."""
    line = [TORCHRUN_JSC, "--nnodes=" + nnodes, "--nproc-per-node=1", REPORT]
    run = cluster.sbatch(batch(tmp_path, line))
    assert (run.code, run.stdout) == (2, ""), str(run)
    (error,) = run.stderr.splitlines()
    assert error.startswith("torchrun_jsc: error: --nnodes="), str(run)
    assert "start it with srun" in error, str(run)


@takes_long
def test_ids_that_were_expanded_too_early(cluster: Cluster) -> None:
    """`srun bash -c "SLURM_NODEID=$SLURM_NODEID …"`: the batch script's 0 on every node. The names decide."""
    run = cluster.srun(["env", "SLURM_NODEID=0", *launch()], nodes=3)
    job = succeeded(cluster, run, 3)
    assert job.master == "jwb0001i"
    assert [rank["node"] for rank in job.ranks] == ["jwb0001", "jwb0002", "jwb0003"]
    (line,) = [line for line in run.stderr.splitlines() if "torchrun_jsc: " in line]
    assert "warning: SLURM_NODEID=0 contradicts SLURM_STEP_NODELIST, where jwb0002 is number 1" in line, str(run)


@takes_long
def test_inside_mpirun_the_ids_are_those_of_the_batch_script(cluster: Cluster) -> None:
    """No variables of a step, and node 0's number everywhere: the endpoint tells who hosts."""
    gone = ["SLURM_STEP_ID", "SLURM_STEPID", "SLURM_STEP_NODELIST", "SLURM_STEP_NUM_NODES", "SLURM_STEP_NUM_TASKS"]
    unset = [word for name in [*gone, "SLURMD_NODENAME", "SLURM_LOCALID"] for word in ("-u", name)]
    foreign = ["env", *unset, "SLURM_NODEID=0", "SLURM_PROCID=0"]
    run = cluster.srun([*foreign, *command("jwb0002i:29500")])
    job = succeeded(cluster, run)
    assert [rank["node"] for rank in job.ranks] == ["jwb0001", "jwb0002"], str(run)


@takes_long
def test_inside_ssh_there_is_the_job_id_at_most(cluster: Cluster) -> None:
    script = 'for name in $(env | grep -o "^SLURM[^=]*"); do [ $name = SLURM_JOB_ID ] || unset $name; done; exec "$@"'
    succeeded(cluster, cluster.srun(["sh", "-c", script, "-", *command("jwb0001i:29500")]))
    # Without an endpoint nobody can know where the others are.
    run = cluster.srun(["sh", "-c", script, "-", TORCHRUN_JSC, "--nnodes=2", "--nproc-per-node=1", REPORT])
    assert (run.code, run.stdout) == (2, ""), str(run)
    assert [len(run.errors(task)) for task in (0, 1)] == [1, 1], str(run)
    assert "this is no srun step" in run.errors(0)[0], str(run)
