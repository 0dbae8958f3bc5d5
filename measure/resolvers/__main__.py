"""``python measure resolvers [NAME ...]``: run both launchers where the resolver is slow or wrong; note it."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import measured
import reliability
from slurm.jobs import command
from slurm.lab import TORCHRUN, TORCHRUN_JSC, CannotRun, Cluster, Lab, Run
from slurm.name_server import run_with_names

COLUMNS = ("names", "what the resolver does", "torchrun", "torchrun_jsc", "run on")

#: A node is known by its own name, on a network that is open here, so that torchrun works too.
SWITCHES = {"SUFFIX": "", "OPEN_ETH": "1", "IPV6": "1"}
RECORDS = {f"jwb000{k}": [f"10.10.0.{k}"] for k in (1, 2)}
HOSTS = "127.0.0.1 localhost\n"
#: Seconds for the look-ups of torchrun_jsc, and for torch's own attempts.
DEADLINE = 10
CONF = "--rdzv-conf=read_timeout=60,join_timeout=120"


class Case(NamedTuple):
    """A resolver."""

    name: str
    does: str
    zone: dict[str, Any]


CASES = (
    Case("no reverse entries", "answers at once, but knows no address (as in the other rows)", {}),
    Case("no answer", "is silent on both nodes", {"silent": 1}),
    Case("late answers", "answers after 8 s", {"delay": 8}),
    Case("one node without answers", "is silent on the second node", {"on": {"jwb0002": {"silent": 1}}}),
    Case(
        "IPv6 first",
        "gives an IPv6 address before the IPv4 address",
        {"records": {name: [*found, f"fd00:20::{name[-1]}"] for name, found in RECORDS.items()}},
    ),
    Case(
        "IPv6 first, and nobody's",
        "gives an IPv6 address that no machine has before the IPv4 address",
        {"records": {name: [*found, f"fd00:20::dead:{name[-1]}"] for name, found in RECORDS.items()}},
    ),
    Case(
        "own name on loopback",
        "gives 127.0.1.1 for a node's own name",
        {"on": {name: {"records": {**RECORDS, name: ["127.0.1.1"]}} for name in RECORDS}},
    ),
    Case("no answer for addresses", "is silent when asked whose an address is", {"silent_reverse": 1}),
    Case(
        "64 addresses",
        "gives 64 addresses, of which one is the node's",
        {"records": {name: [*(f"10.10.0.{k}" for k in range(65, 128)), *found] for name, found in RECORDS.items()}},
    ),
)


def main() -> int:
    chosen = set(sys.argv[1:])
    known = {row[0]: row for row in reliability.rows("resolvers")}
    lab = Lab()
    try:
        cluster = lab.cluster(SWITCHES)
        for case in CASES:
            if chosen and case.name not in chosen:
                continue
            cells = [_outcome(cluster, case, launcher) for launcher in (TORCHRUN, TORCHRUN_JSC)]
            print(f"{case.name}\n  torchrun:     {cells[0]}\n  torchrun_jsc: {cells[1]}", flush=True)
            known[case.name] = [case.name, case.does, *cells, measured.today()]
            rows = [known[case.name] for case in CASES if case.name in known]
            reliability.write("resolvers", f"{measured.machine()}.\n\n{measured.table(COLUMNS, rows)}")
    except CannotRun as reason:
        print(reason, file=sys.stderr)
        return 1
    finally:
        lab.down()
    return 0


def _outcome(cluster: Cluster, case: Case, launcher: str) -> str:
    folder = Path(tempfile.mkdtemp(prefix="resolvers."))
    start = time.monotonic()
    try:
        run = run_with_names(
            cluster,
            folder,
            command("jwb0001:29500", more=[CONF], launcher=launcher),
            zone={"records": RECORDS, **case.zone},
            hosts=HOSTS,
            deadline=DEADLINE,
            timeout=300,
        )
    except TimeoutError:
        return "no end within 300 s"
    finally:
        shutil.rmtree(folder)
    return f"{_told(run)}, {time.monotonic() - start:.0f} s"


def _told(run: Run) -> str:
    """Where the workers were sent and in which order, or the last error of each node."""
    ranks = run.ranks()
    if run.code == 0 and len(ranks) == 2:
        order = ", ".join(rank["node"] for rank in ranks)
        return f"works: master {ranks[0]['MASTER_ADDR']}, ranks on {order}"
    pattern = re.compile(r"^(?:torchrun_jsc: error: .*|[\w.]*(?:Error|Exception): .*)$", re.MULTILINE)
    errors = (pattern.findall("\n".join(run.errors(task))) for task in (0, 1))
    said = [f"`{found[-1][:160]}`" if found else "nothing" for found in errors]
    return f"exit {run.code}: " + ("; ".join(said)).replace("|", "/")


if __name__ == "__main__":
    sys.exit(main())
