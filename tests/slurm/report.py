"""A worker that only tells what it was given. It needs no torch, so it starts at once."""

import json
import os
import socket
import sys

VARIABLES = (
    "RANK",
    "LOCAL_RANK",
    "GROUP_RANK",
    "WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "GLOO_SOCKET_IFNAME",
    "TORCHELASTIC_RUN_ID",
    "CUDA_VISIBLE_DEVICES",
    "SLURM_CPUS_PER_TASK",
)


def report(**more: object) -> None:
    seen = {name: os.environ.get(name) for name in VARIABLES}
    line = json.dumps({"node": socket.gethostname(), "argv": sys.argv[1:], **seen, **more})
    # One write, so that the lines of several ranks do not mix.
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    report()
