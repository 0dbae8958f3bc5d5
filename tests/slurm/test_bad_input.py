"""Bad input: one or two lines that name it, exit status 2, and no worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from slurm.jobs import command

if TYPE_CHECKING:
    from slurm.lab import Cluster

ENDPOINT = "jwb0001i:29500"


@pytest.mark.parametrize(
    ("setting", "endpoint", "named"),
    [
        pytest.param("SLURM_STEP_NODELIST=jwb[0001-", ENDPOINT, ["SLURM_STEP_NODELIST", "jwb[0001-"], id="node-list"),
        pytest.param("SLURM_NODEID=first", ENDPOINT, ["SLURM_NODEID", "first"], id="node-id"),
        pytest.param("A=b", "ghost:29500", ["--rdzv-endpoint", "ghost"], id="row20-unknown-host"),
        pytest.param("A=b", "jwb 0001i:29500", ["--rdzv-endpoint", "jwb 0001i:29500"], id="endpoint"),
        pytest.param("A=b", "jwb0001i:99999", ["--rdzv-endpoint", "jwb0001i:99999"], id="port"),
        pytest.param(
            "TORCHRUN_JSC_HOST_NODE_RANK=one",
            ENDPOINT,
            ["TORCHRUN_JSC_HOST_NODE_RANK", "one"],
            id="row09-setting",
        ),
        pytest.param(
            "TORCHRUN_JSC_PREFER_ARG_PATCHING=maybe",
            ENDPOINT,
            ["TORCHRUN_JSC_PREFER_ARG_PATCHING", "maybe"],
            id="row09-switch",
        ),
    ],
)
def test_bad_input(cluster: Cluster, setting: str, endpoint: str, named: list[str]) -> None:
    # By `env`, since srun itself sets some of these for each task.
    run = cluster.srun(["env", setting, *command(endpoint)])
    assert run.code == 2, str(run)
    assert run.stdout == "", str(run)
    for task in (0, 1):
        lines = run.errors(task)
        assert 1 <= len(lines) <= 2, str(run)
        assert lines[0].startswith("torchrun_jsc: error: "), str(run)
        text = " ".join(lines).replace("--rdzv_endpoint", "--rdzv-endpoint")
        assert all(word in text for word in named), str(run)
