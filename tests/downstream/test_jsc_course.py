"""The batch script of Jülich's own course on distributed training, line by line.

Where the course says `gpu` this says 1, since the machine of the tests has none.
"""

from pathlib import Path

import pytest

from slow import takes_long
from slurm.jobs import succeeded
from slurm.lab import WORKER, Cluster

SCRIPT = r"""#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=4
export SRUN_CPUS_PER_TASK="$SLURM_CPUS_PER_TASK"
export GLOO_SOCKET_IFNAME=ib0

# so processes know who to talk to
MASTER_ADDR="$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)"
# Allow communication over InfiniBand cells.
MASTER_ADDR="${MASTER_ADDR}i"
%(resolve)s
export MASTER_ADDR
export MASTER_PORT=7010
rdzv_id=$RANDOM

srun --label bash -c "torchrun_jsc \
    --nnodes=$SLURM_NNODES \
    --rdzv_backend c10d \
    --nproc_per_node=1 \
    --rdzv_id $rdzv_id \
    --rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT \
    %(is_host)s \
    %(train)s"
"""

# The course asks nslookup, which knows DNS only; this machine's names are in /etc/hosts.
RESOLVE = """MASTER_ADDR="$(getent hosts "$MASTER_ADDR" | cut -d' ' -f1)" """
IS_HOST = r"--rdzv_conf=is_host=\$(if ((SLURM_NODEID)); then echo 0; else echo 1; fi)"


@pytest.mark.parametrize(
    ("resolve", "is_host", "master"),
    [
        pytest.param(RESOLVE, IS_HOST, "10.20.0.1", id="as-in-the-course"),
        pytest.param("", IS_HOST, "jwb0001i", id="without-nslookup", marks=takes_long),
        pytest.param(RESOLVE, "", "10.20.0.1", id="without-is_host", marks=takes_long),
        pytest.param("", "", "jwb0001i", id="without-both", marks=takes_long),
    ],
)
def test_batch_script(cluster: Cluster, tmp_path: Path, resolve: str, is_host: str, master: str) -> None:
    script = tmp_path / "job.sh"
    script.write_text(SCRIPT % {"resolve": resolve, "is_host": is_host, "train": WORKER}, encoding="utf-8")
    run = cluster.sbatch(script)
    job = succeeded(cluster, run)
    assert job.master == master, str(run)
