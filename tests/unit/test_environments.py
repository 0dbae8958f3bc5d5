"""Environments that are not what they seem: the commands and functions say one thing of each, in one line."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from surroundings import clean_environment, step
from torchrun_jsc import SettingError, _core, resolve_endpoint
from torchrun_jsc.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

#: Nodes that are called by their addresses, which are nobody's (RFC 5737), so that names are not looked up.
LIST, NODES = "198.51.100.[7-8]", ("198.51.100.7", "198.51.100.8")
#: Where the store is in calls that need no list.
PLACE = "198.51.100.9:29500"

#: A batch script of a job on both nodes, on the first.
BATCH = {
    "SLURM_CLUSTER_NAME": "lab",
    "SLURM_JOB_ID": "4711",
    "SLURM_JOB_NODELIST": LIST,
    "SLURM_JOB_NUM_NODES": "2",
    "SLURM_TASKS_PER_NODE": "1(x2)",
    "SLURM_NODEID": "0",
    "SLURM_PROCID": "0",
    "SLURM_LOCALID": "0",
    "SLURMD_NODENAME": NODES[0],
}


def on(node: int, per_node: int = 1, local: int = 0) -> dict[str, str]:
    """A task of a step on both nodes."""
    return step(LIST, nodes=2, node=node, name=NODES[node], per_node=per_node, local=local)


def run(module: str, environ: dict[str, str], *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", f"torchrun_jsc.{module}", *args],
        env={**clean_environment(), **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What this package says on stderr, a line each; not that these nodes are not this machine."""
    lines = [line.partition(": ")[2] for line in done.stderr.splitlines() if line.startswith("torchrun_jsc: ")]
    return [line for line in lines if "which no interface of" not in line]


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """The line of a command that ends with status 2, and says and does nothing else."""
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done
    (line,) = said(done)
    assert line.startswith("error: "), done
    return line[len("error: ") :]


def endpoint(environ: dict[str, str]) -> tuple[dict[str, Any], list[str]]:
    """What the command for shells finds, and what it says."""
    done = run("endpoint", environ, "--json")
    assert done.returncode == 0, done
    return json.loads(done.stdout), said(done)


def plan(environ: dict[str, str], *args: str) -> tuple[dict[str, Any], list[str]]:
    """What torchrun_jsc would do, and what it says."""
    done = run("explain", environ, "--json", *args)
    assert done.returncode == 0, done
    found = json.loads(done.stdout)
    return found, found["warnings"]


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({}, None),
        ({"SLURM_STEP_ID": "-5"}, None),
        ({"SLURM_STEP_ID": "4294967291"}, None),
        ({"SLURM_STEP_ID": "batch"}, None),
        ({"SLURM_STEP_ID": "-6", "SLURM_STEP_NODELIST": NODES[0]}, None),
        ({"SLURM_STEP_ID": "4294967290", "SLURM_STEP_NODELIST": NODES[0]}, None),
        (
            {"SLURM_STEP_ID": "-5", "SLURM_STEP_NODELIST": NODES[0], "SLURM_STEP_NUM_TASKS": "1"},
            f"SLURM_STEP_NODELIST={NODES[0]} is ignored: step -5 is none that srun made",
        ),
        (
            {"SLURM_STEP_ID": "3", "SLURM_STEP_NODELIST": "b07", "SLURM_STEP_NUM_NODES": "1"},
            f"the step's variables are ignored: b07 has no node of this job, {LIST}",
        ),
        (
            {"SLURM_STEP_ID": "3", "SLURM_STEP_NODELIST": NODES[1], "SLURM_STEP_NUM_NODES": "1"},
            f"the step's variables are ignored: {NODES[1]} lacks this node, {NODES[0]}",
        ),
    ],
)
def test_a_batch_script_knows_the_endpoint_of_its_first_step(more: dict[str, str], line: str | None) -> None:
    found, warnings = endpoint({**BATCH, **more})
    assert warnings == ([] if line is None else [f"warning: {line}"])
    first = resolve_endpoint(environ=on(0))
    assert (found["host"], found["port"]) == (first.host, first.port)
    # A step gives its tasks ranks of their own, and a batch script exports what it finds.
    assert (found["rank"], found["world_size"], found["local_rank"]) == (None, None, None)


def test_a_launcher_belongs_into_a_step() -> None:
    stale = {"SLURM_STEP_ID": "-5", "SLURM_STEP_NODELIST": NODES[0], "SLURM_STEP_NUM_TASKS": "1"}
    line = refused(run("explain", {**BATCH, **stale}, "--nnodes=2"))
    assert line.startswith('--nnodes="2": no endpoint was given and this is no srun step; start it with srun')
    found, _ = plan(on(0), "--nnodes=auto")
    assert found["endpoint"] == str(resolve_endpoint(environ=BATCH))


@pytest.mark.parametrize("variable", ["SLURM_NODEID", "SLURM_PROCID", "SLURM_LOCALID"])
def test_a_container_that_lacks_the_steps_variables(variable: str) -> None:
    environ = {**BATCH, variable: "1"}
    line = refused(run("endpoint", environ))
    assert line.startswith(f'SLURM_STEP_NODELIST="": not set, although {variable}=1; a container needs all')
    # With a rank of its own it is no task that nobody knows.
    assert resolve_endpoint(PLACE, environ={**environ, "RANK": "1", "WORLD_SIZE": "2"}).rank == 1


def test_a_launcher_in_such_a_container() -> None:
    line = refused(run("explain", {**BATCH, "SLURM_NODEID": "1"}, "--nnodes=2"))
    assert "SLURM_STEP_NODELIST is not set, although SLURM_NODEID=1: a container needs all" in line


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("arguments", ["--export", "--export --port=x", "--export --nonsense", "--nonsense --export"])
def test_a_shell_line_ends_with_the_command(shell: str, arguments: str, tmp_path: Path) -> None:
    line = f'eval "$("$0" -m torchrun_jsc.endpoint {arguments})" && echo trained'
    command = [shell, "-c", line, sys.executable]
    done = subprocess.run(command, env=clean_environment(), capture_output=True, cwd=str(tmp_path), check=False)
    assert (done.returncode, done.stdout) == (2, b""), done
    assert b"error: " in done.stderr


OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "5",
    "OMPI_COMM_WORLD_SIZE": "8",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
}


def test_the_launcher_inside_counts() -> None:
    """Open MPI's daemon on the second node is a step of one task."""
    daemon = step(NODES[1], nodes=1, node=0, name=NODES[1])
    found = resolve_endpoint(environ={**daemon, "SLURM_JOB_NODELIST": LIST, **OPEN_MPI})
    assert (found.host_node, found.rank, found.world_size) == (NODES[0], 5, 8)
    assert (found.local_rank, found.local_world_size, found.nnodes) == (1, 4, 2)
    assert found.reasons["rank"] == "OMPI_COMM_WORLD_RANK"


def test_two_launchers_inside_contradict_each_other() -> None:
    line = refused(run("endpoint", {**BATCH, **OPEN_MPI, "PMI_RANK": "3"}))
    assert line == (
        'PMI_RANK="3": contradicts OMPI_COMM_WORLD_RANK=5: this process was started by two launchers; unset the outer '
        "one's"
    )


def test_no_slurm_but_a_list_of_nodes(tmp_path: Path) -> None:
    """Under PBS, for each process of one `mpiexec`."""
    file = tmp_path / "nodes"
    file.write_text("".join(f"{node}\n{node}\n" for node in NODES))
    mpi = {"PBS_JOBID": "77.pbs", "PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "1"}
    listed = {**mpi, "TORCHRUN_JSC_NODELIST": f"@{file}"}
    found, lines = endpoint(listed)
    assert (found["host"], found["nnodes"], found["rank"], found["world_size"], lines) == (NODES[0], 2, 1, 2, [])
    assert resolve_endpoint(nodelist=f"@{file}", environ=mpi).port == found["port"]
    launch, _ = plan(listed, "--nnodes=auto")
    assert launch["endpoint"] == f"{found['host']}:{found['port']}"
    assert refused(run("endpoint", mpi)).startswith('TORCHRUN_JSC_NODELIST="": not set')
    assert "TORCHRUN_JSC_NODELIST can tell them" in refused(run("explain", mpi, "--nnodes=2"))


def test_a_part_of_the_job() -> None:
    alone = {**step(NODES[1], nodes=1, node=0, name=NODES[1]), "SLURM_JOB_NODELIST": LIST}
    done = run("explain", alone, "--nnodes=auto")
    assert done.returncode == 0, done
    # torch may read the option more than once.
    assert set(said(done)) == {"warning: --nnodes=auto is 1: this step has 1 of the job's 2 nodes"}
    assert said(run("explain", on(0), "--nnodes=auto")) == []
    assert refused(run("explain", alone, "--nnodes=2")) == (
        '--nnodes="2": no endpoint was given, and this step has 1 of the job\'s 2 nodes; start all launchers with one '
        "srun, or give --rdzv_endpoint"
    )
    # The remedy.
    launch, _ = plan(alone, "--nnodes=2", "--rdzv-backend=c10d", f"--rdzv-endpoint={PLACE}")
    assert launch["endpoint"] == PLACE


def test_an_id_is_filled_in_for_an_empty_one() -> None:
    given = ["--nnodes=2", "--rdzv-backend=c10d", f"--rdzv-endpoint={PLACE}"]
    first, second = (plan(on(node), *given, "--rdzv-id=")[0]["fills"] for node in (0, 1))
    assert first == second == {"rdzv_id": "47110101"}
    assert plan(on(0), *given, "--rdzv-id=x")[0]["fills"] == {}


def test_ids_are_digits_and_differ() -> None:
    """For each job, step and restart another one."""
    options: dict[str, Any] = dict.fromkeys(("node_rank", "master_port", "is_host", "local_address"))
    options.update(standalone=False, file_store=False, backend="c10d", endpoint=PLACE, run_id="")
    options.update(given=["rdzv_backend", "rdzv_endpoint"], min_nodes=2, max_nodes=2)
    names = ("SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT")
    numbers = list(
        itertools.product(("1", "12", "123", "1234_5", "x"), ("0", "1", "11", "23", "3"), ("0", "1", "2", "10"))
    )
    made = [_core.plan(Settings({}), options, {**on(0), **dict(zip(names, ids))}, 1) for ids in numbers]
    ids = [found.fills["rdzv_id"] for found in made]
    assert len(set(ids)) == len(numbers)
    assert all(found.isdigit() for found in ids)


def test_fewer_devices_than_tasks() -> None:
    """`srun --gpus-per-task=1`: said once a node, by its first task."""
    seen = [run("endpoint", {**on(1, 4, local), "CUDA_VISIBLE_DEVICES": str(local)}) for local in (0, 3)]
    assert [done.returncode for done in seen] == [0, 0]
    assert [len(said(done)) for done in seen] == [1, 0]
    assert "CUDA_VISIBLE_DEVICES=0 shows each of the 4 tasks of a node 1 of its devices" in seen[0].stderr


CHILD = """
import multiprocessing

from torchrun_jsc import resolve_endpoint

def work(number, answers):
    found = resolve_endpoint()
    answers.put((found.host, found.rank, found.world_size, found.local_rank))

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    workers = [context.Process(target=work, args=(number, answers)) for number in range(2)]
    for worker in workers:
        worker.start()
    found = [answers.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    print(set(found))
"""


def test_children_of_a_task_have_no_rank(tmp_path: Path) -> None:
    """As of `torch.multiprocessing.spawn`: the ranks are their parent's to give."""
    script = tmp_path / "script.py"
    script.write_text(CHILD)
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**clean_environment(), **on(1)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{{('{NODES[0]}', None, None, None)}}\n"
    line = "warning: no RANK: this process was started inside a task, by multiprocessing; its parent can tell it"
    assert said(done) == [line, line]


@pytest.mark.parametrize("more", [{"LOCAL_RANK": "1"}, {"LOCAL_RANK": "0", "WORLD_SIZE": "8"}], ids=str)
def test_processes_that_a_program_starts_in_a_task(more: dict[str, str]) -> None:
    """As Lightning does: ranks on the node, and no RANK."""
    found, lines = endpoint({**on(1), **more})
    assert (found["rank"], found["local_rank"]) == (None, int(more["LOCAL_RANK"]))
    (line,) = lines
    assert line.startswith("warning: no RANK: ")
    assert "a program has started this process inside a task; set RANK too" in line
    # Then it is a process like any other.
    found, lines = endpoint({**on(1), **more, "RANK": "5", "WORLD_SIZE": "8"})
    assert (found["rank"], found["world_size"]) == (5, 8)
    assert all("as set, although" in line for line in lines)


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({"NODE_RANK": "0"}, "NODE_RANK=0 as set, although SLURM_NODEID=1"),
        ({"MASTER_ADDR": "localhost"}, "localhost is on loopback, which the other nodes of the step cannot reach"),
        ({"MASTER_ADDR": "127.0.0.7"}, "127.0.0.7 is on loopback, which the other nodes of the step cannot reach"),
        ({"MASTER_ADDR": NODES[1]}, f"{NODES[1]} is node 1 of the step, but rank 0 is on node 0"),
    ],
    ids=str,
)
def test_what_was_set_before_is_kept_and_named(more: dict[str, str], line: str) -> None:
    found, lines = endpoint({**on(1), **more})
    assert lines == [f"warning: {line}"]
    assert found["host"] == more.get("MASTER_ADDR", NODES[0])


@pytest.mark.parametrize("distribution", ["block", "arbitrary", "", "cyclic", "plane=2"])
def test_no_two_tasks_have_one_rank(distribution: str) -> None:
    """Slurm numbers the tasks along the switches of a topology: the first node is not that of task 0."""
    tasks = []
    for node in (0, 1):
        for local in (0, 1):
            number = 2 * local + node if distribution in ("cyclic", "plane=2") else 2 * (1 - node) + local
            environ = {**on(node, 2, local), "SLURM_PROCID": str(number), "SLURM_DISTRIBUTION": distribution}
            tasks.append(resolve_endpoint(environ=environ))
    assert {task.rank for task in tasks} == {0, 1, 2, 3}
    (first,) = [task for task in tasks if task.rank == 0]
    assert first.node == first.host_node == NODES[0]


def test_numbers_of_another_task() -> None:
    with pytest.raises(SettingError, match='SLURM_PROCID="0": contradicts SLURM_LOCALID=1'):
        resolve_endpoint(environ={**on(0, 2, 1), "SLURM_PROCID": "0"})
    with pytest.raises(SettingError, match='SLURM_PROCID="3": contradicts SLURM_GTIDS=0,1'):
        resolve_endpoint(environ={**on(0, 2, 1), "SLURM_PROCID": "3", "SLURM_GTIDS": "0,1"})


def test_ports_that_are_kept_free() -> None:
    """The last ones of the step; of two, MPI may take both."""
    assert endpoint({**on(0), "SLURM_STEP_RESV_PORTS": "23660-23662"})[0]["port"] == 23662
    assert endpoint({**on(0), "SLURM_STEP_RESV_PORTS": "23660-23661"})[0]["port"] == endpoint(on(0))[0]["port"]
