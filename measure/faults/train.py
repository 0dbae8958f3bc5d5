"""A worker that adds up over all ranks, again and again, until it is told to stop; it counts. Then it reports."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

directory = Path(os.environ["FAULTS_DIR"])
stop = directory / "stop"
dist.init_process_group("gloo", timeout=timedelta(seconds=120))
rank, world = dist.get_rank(), dist.get_world_size()
steps = 0
stopped = torch.zeros(1)
while not stopped.item():
    total = torch.tensor([rank + 1])
    dist.all_reduce(total)
    assert int(total) == world * (world + 1) // 2
    stopped = torch.tensor([float(stop.exists())])
    dist.all_reduce(stopped, op=dist.ReduceOp.MAX)
    steps += 1
    (directory / f"steps.{rank}").write_text(str(steps))
    if steps == 1:
        (directory / f"started.{rank}.{os.getpid()}").touch()
    # Nothing is gained by more steps.
    time.sleep(0.05)
seen = {"RANK": str(rank), "node": socket.gethostname(), "MASTER_ADDR": os.environ["MASTER_ADDR"], "steps": steps}
# One write, so that the lines of several ranks do not mix.
sys.stdout.write(json.dumps(seen) + "\n")
sys.stdout.flush()
dist.destroy_process_group()
