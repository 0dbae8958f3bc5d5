"""What a training script does first: join the group and add up over all ranks.

With a file as its argument, the last rank dies in the first round, in which there is no such file.
"""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

marker = Path(sys.argv[1]) if sys.argv[1:] else None
dies = marker is not None and not marker.exists()

dist.init_process_group("gloo", timeout=timedelta(seconds=30))
total = torch.tensor([dist.get_rank() + 1])
dist.all_reduce(total)
if dies and dist.get_rank() == dist.get_world_size() - 1:
    marker.touch()
    sys.exit(3)
if dies:
    # Until the launcher of this node learns of the other one's restart.
    time.sleep(60)

seen = {
    "rank": dist.get_rank(),
    "world": dist.get_world_size(),
    "node": os.uname().nodename,
    "master": os.environ["MASTER_ADDR"],
    "sum": int(total),
    "elastic": dist.is_torchelastic_launched() if hasattr(dist, "is_torchelastic_launched") else None,
}
# One write, so that the lines of several ranks do not mix.
sys.stdout.write(json.dumps(seen) + "\n")
sys.stdout.flush()
dist.destroy_process_group()
