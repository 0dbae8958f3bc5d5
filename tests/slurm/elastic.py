"""A worker of an elastic job: prints its place, then trains until a file appears on some node."""

import json
import os
import socket
import sys
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

stop = Path(sys.argv[1])
dist.init_process_group("gloo", timeout=timedelta(seconds=20))
names = ("RANK", "WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "TORCHELASTIC_RESTART_COUNT")
print(
    json.dumps(
        {
            "node": socket.gethostname(),
            "pids": [os.getpid(), os.getppid()],
            **{name: os.environ[name] for name in names},
        }
    ),
    flush=True,
)
while True:
    seen = torch.tensor([float(stop.exists())])
    dist.all_reduce(seen, op=dist.ReduceOp.MAX)
    if seen.item():
        break
dist.destroy_process_group()
