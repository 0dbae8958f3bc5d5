"""Jobs as users start them, and what every successful one has in common."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple, Sequence

from slurm.lab import FORKED, REPORT, TORCHRUN_JSC, Cluster, Run

IB0 = {"GLOO_SOCKET_IFNAME": "ib0"}


def command(
    endpoint: str = "jwb0001i:29500",
    *,
    nodes: int = 2,
    per_node: int = 1,
    more: Sequence[str] = (),
    worker: str = REPORT,
    launcher: str = TORCHRUN_JSC,
) -> list[str]:
    return [
        launcher,
        f"--nnodes={nodes}",
        f"--nproc-per-node={per_node}",
        "--rdzv-backend=c10d",
        "--rdzv-id=1",
        f"--rdzv-endpoint={endpoint}",
        *more,
        worker,
    ]


class Job(NamedTuple):
    run: Run
    ranks: list[dict]
    master: str


def train(
    cluster: Cluster,
    command: Sequence[str],
    *,
    nodes: int = 2,
    per_node: int = 1,
    env: dict[str, str] | None = None,
    options: Sequence[str] = (),
) -> Job:
    """Run a job that must succeed: every rank there, one MASTER_ADDR on the fast network, the right sum."""
    run = cluster.srun(command, nodes=nodes, env={**IB0, **(env or {})}, options=options)
    return succeeded(cluster, run, nodes, per_node)


def succeeded(cluster: Cluster, run: Run, nodes: int = 2, per_node: int = 1) -> Job:
    assert run.code == 0, str(run)
    ranks = run.ranks()
    world = nodes * per_node
    assert [int(rank["RANK"]) for rank in ranks] == list(range(world)), str(run)
    assert {rank["WORLD_SIZE"] for rank in ranks} == {str(world)}, str(run)
    # Every node is one group.
    places = {(rank["node"], rank["GROUP_RANK"]) for rank in ranks}
    assert len(places) == len({node for node, _ in places}) == len({group for _, group in places}) == nodes, str(run)
    assert {rank["GLOO_SOCKET_IFNAME"] for rank in ranks} == {"ib0"}, str(run)
    # report.py, which has no torch, gives no sum.
    assert {rank.get("sum", world * (world + 1) // 2) for rank in ranks} == {world * (world + 1) // 2}, str(run)
    (master,) = {rank["MASTER_ADDR"] for rank in ranks}
    assert cluster.is_fast(master), str(run)
    return Job(run, ranks, master)


class Case(NamedTuple):
    """A command line that starts no job: it is refused, or only explained."""

    arguments: Sequence[str]
    env: dict[str, str] | None = None
    module: str = "torchrun_jsc.cli"


class Outcome(NamedTuple):
    """What became of it on one node."""

    code: int
    stdout: str
    stderr: str


def outcomes(cluster: Cluster, cases: Sequence[Case], nodes: int = 2) -> list[list[Outcome]]:
    """Run the cases on all nodes of one step; returns for each case what became of it, node by node."""
    words = json.dumps([[case.module, case.env or {}, list(case.arguments)] for case in cases])
    with tempfile.TemporaryDirectory() as directory:
        # A file for each task: srun breaks long lines.
        step = ["srun", f"--nodes={nodes}", "--ntasks-per-node=1", f"--output={directory}/%t"]
        run = cluster.head([*step, sys.executable, FORKED, words])
        files = [Path(directory, str(task)).read_text(encoding="utf-8") for task in range(nodes)]
    assert run.code == 0, (str(run), files)
    by_node = [[Outcome(**json.loads(line)) for line in text.splitlines()] for text in files]
    return [list(of_case) for of_case in zip(*by_node)]


def explained(cluster: Cluster, environs: Sequence[dict[str, str]]) -> list[list[dict]]:
    """For each environment the plans of two nodes that are given nothing else."""
    cases = [Case(["--json", "--nnodes=auto", "--nproc-per-node=1"], env, "torchrun_jsc.explain") for env in environs]
    return [[json.loads(outcome.stdout) for outcome in nodes] for nodes in outcomes(cluster, cases)]


def refused(cluster: Cluster, cases: Sequence[tuple[Case, Sequence[str]]]) -> None:
    """Each case ends with one line on every node, or two, which has these words, and starts nothing."""
    for (case, named), nodes in zip(cases, outcomes(cluster, [case for case, _ in cases])):
        assert len(nodes) == 2, case
        for outcome in nodes:
            assert (outcome.code, outcome.stdout) == (2, ""), (case, outcome)
            lines = outcome.stderr.splitlines()
            assert 1 <= len(lines) <= 2, (case, outcome)
            assert lines[0].startswith("torchrun_jsc: error: "), (case, outcome)
            assert all(word in " ".join(lines) for word in named), (case, outcome)
