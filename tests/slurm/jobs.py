"""Jobs as users start them, and what every successful one has in common."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from slurm.lab import REPORT, TORCHRUN_JSC, Cluster, Run

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
