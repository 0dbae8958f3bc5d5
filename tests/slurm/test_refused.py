"""What is refused on a cluster: one or two lines that name it, exit status 2, and no worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slurm.jobs import Case, command, refused

if TYPE_CHECKING:
    from slurm.lab import Cluster

LAUNCH = command()[1:]
AUTO = ["--nnodes=auto", "--nproc-per-node=1", "script.py"]


def at(endpoint: str) -> list[str]:
    return command(endpoint)[1:]


def test_values(cluster: Cluster) -> None:
    refused(
        cluster,
        [
            (Case(LAUNCH, {"SLURM_STEP_NODELIST": "jwb[0001-"}), ["SLURM_STEP_NODELIST", "jwb[0001-"]),
            (Case(LAUNCH, {"SLURM_NODEID": "first"}), ["SLURM_NODEID", "first"]),
            # No such name, no name at all, no port.
            (Case(at("ghost:29500")), ["--rdzv_endpoint", "ghost"]),
            (Case(at("jwb 0001i:29500")), ["--rdzv_endpoint", "jwb 0001i:29500"]),
            (Case(at("jwb0001i:99999")), ["--rdzv_endpoint", "jwb0001i:99999"]),
            # Loopback of several nodes.
            (Case(at("localhost:29500")), ["--rdzv_endpoint", "localhost:29500", "loopback cannot be reached"]),
            (Case(at("127.0.0.1:29500")), ["--rdzv_endpoint", "127.0.0.1:29500", "loopback cannot be reached"]),
            # Settings that mean nothing.
            (Case(LAUNCH, {"TORCHRUN_JSC_HOST_NODE_RANK": "one"}), ["TORCHRUN_JSC_HOST_NODE_RANK", "one"]),
            (Case(LAUNCH, {"TORCHRUN_JSC_PREFER_ARG_PATCHING": "maybe"}), ["PREFER_ARG_PATCHING", "maybe"]),
        ],
    )


def test_what_cannot_be_known(cluster: Cluster) -> None:
    refused(
        cluster,
        [
            (Case(AUTO, {"TORCHRUN_JSC_INTERFACE": "hsn"}), ["TORCHRUN_JSC_INTERFACE", "hsn", "eth0, ib0"]),
            (Case(AUTO, {"TORCHRUN_JSC_HOST_TEMPLATE": "{node}-hsn"}), ["jwb0001-hsn"]),
            (Case(AUTO, {"TORCHRUN_JSC_HOST_TEMPLATE": "{name}i"}), ["TORCHRUN_JSC_HOST_TEMPLATE", "{name}i"]),
            (Case(AUTO, {"TORCHRUN_JSC_HOST_NODE_RANK": "2"}), ["TORCHRUN_JSC_HOST_NODE_RANK", "nodes 0 to 1"]),
            (Case(AUTO, {"TORCHRUN_JSC_PORT": "0"}), ["TORCHRUN_JSC_PORT", "1 to 65535"]),
        ],
    )
