"""What the nodes that do not host cost the host node while they wait for its store: 4,096 watchers, counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import measured
from slurm.lab import BUILD, Lab

WATCH = str(Path(__file__).with_name("watch.py"))
NUMBER = 4096
#: What the host node does, and what is said of it; the packets that one watcher may cost there, both ways together.
HOSTS = {
    "works": ("the store is reached in time", 0),
    "absent": ("nobody listens", 2),
    "slow": ("the store listens, but torch has not reached it", 10),
    # Linux sends again after 1 s, 3 s, 7 s..., and one machine is late to end so many attempts.
    "silent": ("no answer", 10),
}
#: Packets that have nothing to do with watchers: the nodes look for each other's address.
OTHERS = 20


def run(lab: Lab) -> tuple[str, list[str]]:
    """Return the table, and what is wrong."""
    body, wrong = [], []
    for host, (what, limit) in HOSTS.items():
        for number in (1, NUMBER):
            seen = watch(lab, host, number)
            packets = seen["sent"] + seen["received"]
            body.append(
                (
                    what,
                    f"{number:,}",
                    f"{seen['attempts']:,}",
                    f"{seen['connected']:,}",
                    f"{seen['sent']:,}",
                    f"{seen['received']:,}",
                    f"{seen['seconds']:.1f}",
                    f"{seen['warnings']:,}",
                )
            )
            if packets > number * limit + OTHERS:
                wrong.append(f"{what}: {packets} packets for {number} watchers")
            if seen["attempts"] != (0 if host == "works" else number):
                wrong.append(f"{what}: {seen['attempts']} attempts of {number} watchers")
            if not seen["store_answers"]:
                wrong.append(f"{what}: the store does not answer after {number} watchers")
    columns = ("the host node", "watchers", "attempts", "connections", "sent", "received", "within s", "warnings")
    return measured.table(columns, body), wrong


def watch(lab: Lab, host: str, number: int) -> dict[str, Any]:
    """Let so many watchers make their first attempt, on the second node; the first one is the host."""
    cluster = lab.cluster({"NODES": "jwb0001 jwb0002"})
    directory = BUILD / "watchers" / f"{host}-{number}"
    directory.mkdir(parents=True, exist_ok=True)
    for left in directory.iterdir():
        left.unlink()
    done = cluster.srun(["python", WATCH, host, str(number), str(directory)], timeout=500)
    if done.code:
        raise RuntimeError(str(done))
    seen: dict[str, Any] = {}
    for line in done.stdout.splitlines():
        seen.update(json.loads(line[line.index("{") :]))
    return seen
