"""Add up one number per rank. Start it with torchrun or torchrun_jsc."""

import os
import socket

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()

total = torch.tensor(rank + 1)
dist.all_reduce(total)

node, master = socket.gethostname(), os.environ["MASTER_ADDR"]
numbers = " + ".join(str(k + 1) for k in range(world))
print(f"rank {rank} on {node}, master {master}: {numbers} = {total.item()}", flush=True)
dist.destroy_process_group()
