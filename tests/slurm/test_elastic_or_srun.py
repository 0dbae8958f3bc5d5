"""examples/elastic_or_srun.py takes one branch under torchrun_jsc and the other one under srun."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from slow import takes_long
from slurm.lab import TORCHRUN_JSC, Cluster, Run

EXAMPLE = str(Path(__file__).resolve().parents[2] / "examples" / "elastic_or_srun.py")
# The names on the fast network end in an i here, as on the systems that the site's rule knows.
FAST_NAMES = {"TORCHRUN_JSC_HOST_TEMPLATE": "{node}i"}
# Without the ends of lines: unbuffered Python writes them by themselves, and the lines of a node's ranks may mix.
LINE = re.compile(r"rank (\d) of 4 on (jwb000\d), started by (\w+), master (\S+): 10")


def check(run: Run, started_by: str) -> None:
    assert run.code == 0, str(run)
    seen = sorted(LINE.findall(run.stdout))
    assert [(rank, node) for rank, node, _, _ in seen] == [
        ("0", "jwb0001"),
        ("1", "jwb0001"),
        ("2", "jwb0002"),
        ("3", "jwb0002"),
    ], str(run)
    assert {how for _, _, how, _ in seen} == {started_by}, str(run)
    assert {master for _, _, _, master in seen} == {"jwb0001i"}, str(run)


def test_under_torchrun_jsc(cluster: Cluster) -> None:
    command = [TORCHRUN_JSC, "--nnodes=auto", "--nproc-per-node=2", EXAMPLE]
    check(cluster.srun(command, env=FAST_NAMES), "torchrun")


@pytest.mark.parametrize(
    "env",
    [
        pytest.param({}, id="nothing-set"),
        pytest.param({"MASTER_ADDR": "jwb0001i"}, id="address-set", marks=takes_long),
    ],
)
def test_under_srun(cluster: Cluster, env: dict[str, str]) -> None:
    run = cluster.srun([sys.executable, EXAMPLE], options=["--ntasks-per-node=2"], env={**FAST_NAMES, **env})
    check(run, "srun")


@takes_long
def test_as_part_of_a_program_that_torchrun_launched(cluster: Cluster) -> None:
    """Under torchrun nothing of the second branch is needed, not even this package."""
    hidden = f"import sys; sys.modules['torchrun_jsc'] = None; import runpy; runpy.run_path({EXAMPLE!r})"
    command = [TORCHRUN_JSC, "--nnodes=2", "--nproc-per-node=2", "--no-python", sys.executable, "-c", hidden]
    check(cluster.srun(command, env=FAST_NAMES), "torchrun")
