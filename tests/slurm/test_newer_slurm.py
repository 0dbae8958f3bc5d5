"""What newer releases of Slurm than this machine's do otherwise. Their roots are made by scripts/slurm-root."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Sequence

import pytest

from slurm.jobs import succeeded
from slurm.lab import BUILD, HERE, REPORT, TORCHRUN_JSC, WORKER, Cluster, Run

if TYPE_CHECKING:
    from pathlib import Path

TRIXIE = str(BUILD / "slurm" / "trixie")
FORKY = str(BUILD / "slurm" / "forky")

slurm_24_11 = pytest.mark.cluster(SLURM_ROOT=TRIXIE, TOPOLOGY="1")
slurm_26_05 = pytest.mark.cluster(SLURM_ROOT=FORKY, TOPOLOGY="1")
each_release = pytest.mark.parametrize(
    "release", [pytest.param("24.11", marks=slurm_24_11), pytest.param("26.05", marks=slurm_26_05)]
)

SHOW = ["sh", "-c", 'echo "$SLURMD_NODENAME $SLURM_NODEID"']
LISTS = ["sh", "-c", 'echo "$SLURM_STEP_NODELIST $SLURM_DISTRIBUTION"']
COMPONENTS = (["-N2", "-n2", "-wjwb[0003-0004]"], ["-N2", "-n2", "-wjwb[0001-0002]"])

DIRECT = [sys.executable, str(HERE / "direct.py"), "train"]
LAUNCH = [TORCHRUN_JSC, "--nnodes=auto", "--nproc-per-node=1", WORKER]


def by_task(cluster: Cluster, *components: list[str]) -> list[str]:
    """What each task of a step of several components says, in the order of the tasks."""
    words = [word for component in components for word in (":", *component)][1:]
    run = cluster.head(["salloc", "--quiet", "--nodes=4", "--ntasks-per-node=2", "srun", "--label", *words])
    assert run.code == 0, str(run)
    return [line.partition(": ")[2] for line in sorted(run.stdout.splitlines())]


def variables(cluster: Cluster, tmp_path: Path) -> dict[str, str]:
    """The variables that a batch script has."""
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n#SBATCH --nodes=2 --ntasks-per-node=2\nenv\n")
    run = cluster.sbatch(script)
    assert run.code == 0, str(run)
    return dict(line.partition("=")[::2] for line in run.stdout.splitlines())


@each_release
def test_the_release(cluster: Cluster, release: str) -> None:
    """Tasks see it too, beside this machine's own programs."""
    run = cluster.srun(["srun", "--version"], nodes=1)
    assert run.stdout.startswith(f"0: slurm-wlm {release}."), str(run)


@each_release
def test_the_step_id_of_a_batch_script(cluster: Cluster, release: str, tmp_path: Path) -> None:
    """Since 26.05 there is one: SLURM_BATCH_SCRIPT, 4294967291, as a signed number.

    https://github.com/SchedMD/slurm/blob/master/slurm/slurm.h.in
    """
    environment = variables(cluster, tmp_path)
    assert environment.get("SLURM_STEP_ID") == {"24.11": None, "26.05": "-5"}[release]
    assert "SLURM_STEP_NODELIST" not in environment


@each_release
def test_the_step_id_of_an_interactive_step(cluster: Cluster, release: str) -> None:
    """`salloc` without a command starts it, on the first node. It has the list of a step."""
    show = ["sh", "-c", 'echo "$SLURM_STEP_ID $SLURM_STEP_NUM_NODES $SLURM_JOB_NUM_NODES"']
    run = cluster.head(["salloc", "--quiet", "--nodes=2", "srun", "--interactive", *show])
    assert run.stdout.split() == [{"24.11": "4294967290", "26.05": "-6"}[release], "1", "2"], str(run)


@each_release
def test_tasks_in_blocks_follow_the_switches(cluster: Cluster, release: str) -> None:
    """Since 26.05, while the numbers of the nodes follow their names."""
    in_order = ["jwb0001 0", "jwb0002 1", "jwb0003 2", "jwb0004 3"]
    turned = [*in_order[2:], *in_order[:2]]
    for distribution, expected in (("block", turned if release == "26.05" else in_order), ("cyclic", in_order)):
        options = ["-N4", "-n4", "--distribution=" + distribution]
        assert by_task(cluster, [*options, *SHOW]) == expected
        assert set(by_task(cluster, [*options, *LISTS])) == {"jwb[0001-0004] " + distribution}


@each_release
def test_components_number_the_nodes(cluster: Cluster, release: str) -> None:  # noqa: ARG001
    """The list is sorted, the numbers are not its."""
    first, second = COMPONENTS
    seen = by_task(cluster, [*first, *SHOW], [*second, *SHOW])
    assert seen == ["jwb0003 0", "jwb0004 1", "jwb0001 2", "jwb0002 3"]
    lists = by_task(cluster, [*first, *LISTS], [*second, *LISTS])
    assert {text.partition(" ")[0] for text in lists} == {"jwb[0001-0004]"}


@each_release
def test_launchers_follow_their_tasks(cluster: Cluster, release: str) -> None:
    """The order of one task a node may be the user's choice: here it is the switches'."""
    command = [TORCHRUN_JSC, "--nnodes=auto", "--nproc-per-node=1", REPORT]
    run = cluster.srun(command, nodes=4, options=["--ntasks-per-node=1", "--distribution=block"])
    assert run.code == 0, str(run)
    names = [rank["node"] for rank in run.ranks()]
    in_order = ["jwb0001", "jwb0002", "jwb0003", "jwb0004"]
    assert names == ([*in_order[2:], *in_order[:2]] if release == "26.05" else in_order), str(run)


@each_release
def test_a_batch_script_is_told_the_endpoint_of_its_first_step(
    cluster: Cluster,
    release: str,  # noqa: ARG001
    tmp_path: Path,
) -> None:
    show = f"{sys.executable} -m torchrun_jsc.endpoint --json"
    step = f"srun --ntasks-per-node=1 {sys.executable} {HERE / 'direct.py'}"
    script = tmp_path / "job.sh"
    script.write_text(f"#!/bin/sh\n#SBATCH --nodes=2 --ntasks-per-node=2\n{show} | tr -d '\\n'\necho\n{step}\n")
    run = cluster.sbatch(script)
    assert run.code == 0, str(run)
    of_script, *of_tasks = (json.loads(line) for line in run.stdout.splitlines())
    assert (of_script["rank"], of_script["world_size"], of_script["nnodes"]) == (None, None, 2), str(run)
    assert {task["endpoint"] for task in of_tasks} == {f"{of_script['host']}:{of_script['port']}"}, str(run)
    assert "torchrun_jsc: " not in run.stderr, str(run)


def batch(cluster: Cluster, tmp_path: Path, lines: Sequence[str]) -> Run:
    """Run a batch script of two nodes, which must not wait for anybody."""
    script = tmp_path / "job.sh"
    script.write_text("\n".join(["#!/bin/sh", "#SBATCH --nodes=2 --ntasks-per-node=1", *lines, ""]))
    return cluster.sbatch(script, timeout=40)


def told_to_use_srun(run: Run) -> None:
    """One line that says what to do, and nothing started."""
    assert (run.code, run.stdout) == (2, ""), str(run)
    (error,) = [line for line in run.stderr.splitlines() if "torchrun_jsc: " in line]
    assert "torchrun_jsc: error: --nnodes=" in error, str(run)
    assert "start it with srun" in error, str(run)


@slurm_26_05
@pytest.mark.parametrize("nnodes", ["auto", "2"])
def test_a_batch_script_is_no_step(cluster: Cluster, tmp_path: Path, nnodes: str) -> None:
    told_to_use_srun(batch(cluster, tmp_path, [f"exec {TORCHRUN_JSC} --nnodes={nnodes} --nproc-per-node=1 {WORKER}"]))


@slurm_26_05
def test_the_endpoint_of_a_batch_script(cluster: Cluster, tmp_path: Path) -> None:
    """It is what it is without a step id, and no task's place."""
    export = f"{sys.executable} -m torchrun_jsc.endpoint --export"
    run = batch(cluster, tmp_path, [export, "echo", f"unset SLURM_STEP_ID SLURM_STEPID; {export}"])
    assert run.code == 0, str(run)
    with_id, without = run.stdout.split("\n\n")
    assert with_id.splitlines() == without.splitlines(), str(run)
    assert "MASTER_ADDR=" in with_id, str(run)
    assert " RANK=" not in with_id, str(run)


@each_release
@pytest.mark.parametrize("nnodes", ["auto", "2"])
def test_an_interactive_step_is_none_of_the_tasks(cluster: Cluster, release: str, nnodes: str) -> None:  # noqa: ARG001
    launch = [TORCHRUN_JSC, f"--nnodes={nnodes}", "--nproc-per-node=1", WORKER]
    told_to_use_srun(cluster.head(["salloc", "--quiet", "--nodes=2", "srun", "--interactive", *launch], timeout=40))


def trained(run: Run, world: int) -> list[dict]:
    """All ranks are there with the right sum, and rank 0 is where the store is."""
    assert run.code == 0, str(run)
    ranks = run.ranks()
    assert [int(rank["RANK"]) for rank in ranks] == list(range(world)), str(run)
    assert {rank["sum"] for rank in ranks} == {world * (world + 1) // 2}, str(run)
    assert {rank["MASTER_ADDR"] for rank in ranks} == {ranks[0]["node"] + "i"}, str(run)
    return ranks


@each_release
@pytest.mark.parametrize("options", [["-n8"], ["-n4", "--distribution=block"], ["-n5"], ["-n8", "-mcyclic"]])
def test_tasks_along_the_switches_meet(cluster: Cluster, release: str, options: list[str]) -> None:  # noqa: ARG001
    step = ["salloc", "--quiet", "--nodes=4", "--ntasks-per-node=2", "srun", "--label", "-N4", *options]
    trained(cluster.head([*step, *DIRECT], timeout=60), int(options[0][2:]))


@each_release
def test_launchers_along_the_switches_meet(cluster: Cluster, release: str) -> None:  # noqa: ARG001
    run = cluster.srun(LAUNCH, nodes=4, options=["--ntasks=4", "--distribution=block"], timeout=60)
    job = succeeded(cluster, run, 4)
    assert job.master == job.ranks[0]["node"] + "i", str(run)


@each_release
@pytest.mark.parametrize("words", [DIRECT, LAUNCH], ids=["script", "launcher"])
def test_components_meet_or_say_why_not(cluster: Cluster, release: str, words: list[str]) -> None:  # noqa: ARG001
    first, second = COMPONENTS
    step = ["salloc", "--quiet", "--nodes=4", "--ntasks-per-node=2", "srun", "--label"]
    run = cluster.head([*step, *first, *words, ":", *second, *words], timeout=60)
    if run.code == 0:
        trained(run, 4)
        return
    assert run.stdout == "", str(run)
    for task in range(4):
        # A script's own traceback ends with the line.
        assert "rank 0 may be on another node than the endpoint" in run.errors(task)[-1], str(run)
