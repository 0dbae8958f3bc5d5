"""A script that `srun python` starts, without any launcher: its place comes from one call. Reports what it was told.

With the word "train" it does what worker.py does.
"""

import json
import os
import socket
import sys
from datetime import timedelta

from torchrun_jsc import resolve_endpoint

found = resolve_endpoint()
report = {
    "node": socket.gethostname(),
    "procid": os.environ.get("SLURM_PROCID"),
    "endpoint": str(found),
    "address": found.address,
    "interface": found.interface,
    "host_node": found.host_node,
    "is_host": found.is_host,
    "nnodes": found.nnodes,
    "torch": "torch" in sys.modules,
    **found.env(),
}

if sys.argv[1:] == ["train"]:
    import torch
    import torch.distributed as dist

    # gloo would take the network of the host name, which is closed here.
    os.environ["GLOO_SOCKET_IFNAME"] = found.interface
    group = {"init_method": found.init_method, "rank": found.rank, "world_size": found.world_size}
    dist.init_process_group("gloo", timeout=timedelta(seconds=60), **group)
    total = torch.tensor([dist.get_rank() + 1])
    dist.all_reduce(total)
    report["sum"] = int(total)
    dist.destroy_process_group()

# One write, so that the lines of several tasks do not mix.
sys.stdout.write(json.dumps(report) + "\n")
