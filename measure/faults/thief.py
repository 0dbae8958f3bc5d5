"""``thief.py LAUNCHER ARGUMENT...``: the launcher, and another program that takes its port at the last moment.

That is after the launcher has looked whether the port is free, and before torch binds it.
"""

from __future__ import annotations

import os
import runpy
import socket
import sys
from typing import Any

from torch.distributed.elastic.rendezvous import c10d_rendezvous_backend as backend

PORT = 29500
original = backend._create_tcp_store
taken = socket.socket(socket.AF_INET6)
# As torch does: connections of an earlier job may not be over yet.
taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
taken.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)


def create_tcp_store(parameters: Any) -> Any:
    if os.environ["SLURM_NODEID"] == "0":
        taken.bind(("", PORT))
        taken.listen()
    return original(parameters)


backend._create_tcp_store = create_tcp_store
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
