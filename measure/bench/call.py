"""What one call costs, and expanding a long list."""

from __future__ import annotations

import subprocess
import sys
from typing import Callable

from bench.process import NOTHING, run
from bench.row import ROOT, Row, fastest
from surroundings import step
from torchrun_jsc import expand_hostlist, resolve_endpoint

#: Not in .venv: only the benchmark needs them.
PACKAGES = ROOT / ".build" / "bench"

LONG_STEP = step("n[1-10000]", nodes=10_000, node=4711, name="n4712", per_node=4, local=1)
CALLS = 200
#: How many calls Python's own start has to be worth.
START_SHARE = 400
HOSTS = "n[00000-65535]"


def rows() -> list[Row]:
    return [one_call(), *expansion()]


def one_call() -> Row:
    def calls() -> None:
        for _ in range(CALLS):
            resolve_endpoint("10.20.0.1", environ=LONG_STEP)

    found = resolve_endpoint("10.20.0.1", environ=LONG_STEP)
    assert (found.rank, found.nnodes, found.local_world_size) == (18845, 10000, 4)
    # Machines differ threefold, so the limit is a share of what Python's own start takes on this one.
    start, seconds = fastest([lambda: run(NOTHING), calls], 50)
    note = f"python -c pass: {start * 1000:.3g} ms"
    return Row("call without look-up, 10,000 nodes", seconds / CALLS * 1e6, start / START_SHARE * 1e6, "us", note=note)


def expansion() -> list[Row]:
    peers = {"python-hostlist": (python_hostlist, 8), "ClusterShell": (cluster_shell, 40)}
    found = []
    for name, (load, least) in peers.items():
        what = f"65,536 hosts: times as fast as {name}"
        peer = load()
        if peer is None:
            found.append(Row(what, note="cannot be installed here"))
            continue
        assert list(peer()) == expand_hostlist(HOSTS)
        theirs, ours = fastest([peer, lambda: expand_hostlist(HOSTS)], 20)
        note = f"{theirs * 1000:.3g} ms against {ours * 1000:.3g} ms"
        found.append(Row(what, theirs / ours, least, at_least=True, note=note))
    return found


def python_hostlist() -> Callable[[], list[str]] | None:
    if not installed("python-hostlist", "hostlist.py"):
        return None
    import hostlist

    return lambda: hostlist.expand_hostlist(HOSTS)


def cluster_shell() -> Callable[[], list[str]] | None:
    if not installed("ClusterShell", "ClusterShell"):
        return None
    from ClusterShell.NodeSet import NodeSet

    return lambda: list(NodeSet(HOSTS))


def installed(package: str, file: str) -> bool:
    """Whether the package is in the benchmark's own directory, perhaps since now."""
    if str(PACKAGES) not in sys.path:
        sys.path.append(str(PACKAGES))
    if not (PACKAGES / file).exists():
        install = [str(ROOT / "scripts" / "pip"), "--quiet", "--target", str(PACKAGES), package]
        subprocess.run(install, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (PACKAGES / file).exists()
