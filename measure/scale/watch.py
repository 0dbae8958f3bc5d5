"""``watch.py HOST NUMBER DIRECTORY``: on the first node what the host does, on the second so many watchers."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable

from torchrun_jsc.preflight import watch

HOST, NUMBER, DIRECTORY = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
ADDRESS, PORT = "10.20.0.1", 29500
#: Seconds within which all first attempts are over.
ENOUGH = watch.FIRST + watch.ATTEMPT + 200


def until(done: Callable[[], bool], seconds: float = 400) -> None:
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.05)


def host() -> dict[str, Any]:
    store = None
    if HOST in ("works", "slow"):
        from torch.distributed import TCPStore

        store = TCPStore(ADDRESS, PORT, is_master=True, wait_for_workers=False)
    elif HOST == "silent":
        # Packets come in, and no answer finds its way out.
        subprocess.run(["ip", "route", "add", "blackhole", "10.20.0.2"], check=True)
    (DIRECTORY / "ready").touch()
    until((DIRECTORY / "over").exists)
    if HOST == "silent":
        subprocess.run(["ip", "route", "del", "blackhole", "10.20.0.2"], check=True)
    if store is not None:
        store.set("key", "value")
    return {"store_answers": store is None or store.get("key") == b"value"}


def counters() -> tuple[int, int]:
    """Packets that the fast network's interface has sent and received; nothing else uses it."""
    (line,) = (line for line in Path("/proc/net/dev").read_text().splitlines() if line.strip().startswith("ib0:"))
    fields = line.partition(":")[2].split()
    return int(fields[9]), int(fields[1])


def is_still() -> bool:
    """Whether nothing is sent or received for a moment."""
    before = counters()
    time.sleep(0.5)
    return counters() == before


def watchers() -> dict[str, Any]:
    until((DIRECTORY / "ready").exists)
    attempts: list[float] = []
    connected: list[float] = []
    warnings: list[str] = []
    connect = socket.create_connection

    def create_connection(*args: Any) -> socket.socket:
        try:
            made = connect(*args)
            connected.append(time.monotonic())
            return made
        finally:
            attempts.append(time.monotonic())

    watch.socket.create_connection = create_connection
    watch.warn = warnings.append
    plan: Any = SimpleNamespace(
        node="jwb0002",
        endpoint=f"jwb0001i:{PORT}",
        endpoint_address=ADDRESS,
        port=PORT,
        host_node="jwb0001",
        reasons={"is_host": "by the endpoint"},
    )
    reached = threading.Event()
    threading.stack_size(256 * 1024)
    before = counters()
    threads = [threading.Thread(target=watch._watch, args=(plan, reached)) for _ in range(NUMBER)]
    for thread in threads:
        thread.start()
    if HOST == "works":
        reached.set()
    with suppress(TimeoutError):
        until(lambda: len(attempts) >= NUMBER or HOST == "works", ENOUGH)
    reached.set()
    for thread in threads:
        thread.join()
    # What the last connections still send when they are closed.
    until(is_still)
    after = counters()
    (DIRECTORY / "over").touch()
    return {
        "attempts": len(attempts),
        "connected": len(connected),
        "warnings": len(warnings),
        "seconds": max(attempts, default=0) - min(attempts, default=0),
        "sent": after[0] - before[0],
        "received": after[1] - before[1],
    }


print(json.dumps(host() if os.environ["SLURM_NODEID"] == "0" else watchers()), flush=True)
