"""One script for two ways to start it on several nodes:

srun --ntasks-per-node=1 torchrun_jsc --nnodes=auto --nproc-per-node=4 elastic_or_srun.py
srun --ntasks-per-node=4 python elastic_or_srun.py
"""

from __future__ import annotations

import os
import socket

import torch
import torch.distributed as dist

if dist.is_torchelastic_launched():
    # torchrun has set MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE.
    dist.init_process_group("gloo")
    started_by = "torchrun"
else:
    from torchrun_jsc import resolve_endpoint

    endpoint = resolve_endpoint()
    os.environ.update(endpoint.env())
    if endpoint.interface is not None:
        # gloo would take the network of the node's own name.
        os.environ.setdefault("GLOO_SOCKET_IFNAME", endpoint.interface)
    dist.init_process_group("gloo", init_method="env://")
    started_by = "srun"

total = torch.tensor(dist.get_rank() + 1)
dist.all_reduce(total)
print(
    f"rank {dist.get_rank()} of {dist.get_world_size()} on {socket.gethostname()}, started by {started_by}, "
    f"master {os.environ['MASTER_ADDR']}: {total.item()}",
    flush=True,
)
dist.destroy_process_group()
