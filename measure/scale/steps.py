"""What the plan of a launch costs in steps of up to 65,536 nodes."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import measured
from surroundings import step

if TYPE_CHECKING:
    from slurm.lab import Lab

PLAN = str(Path(__file__).with_name("plan.py"))
SIZES = (1, 2, 1_000, 10_000, 65_536)
#: Of how many nodes one is missing in the list with gaps. It is as long as a variable can be: Linux allows 128 KiB.
GAP = 8
#: The last node of the step, with an interface of its own, where two names are known.
NETWORK = """
ip link set lo up
ip link add ib0 type veth peer name peer
ip link set peer up
ip addr add 10.20.0.1/24 dev ib0
ip link set ib0 up
mount --bind "$1" /etc/hosts
shift
exec "$@"
"""


class Cost(NamedTuple):
    """What one plan costs."""

    #: Of the plan, and of expanding the list alone.
    microseconds: float
    reading: float
    kibibytes: int


def run(lab: Lab) -> tuple[str, list[str]]:  # noqa: ARG001 (as the other parts)
    """Return the table, and what is wrong."""
    body, wrong = [], []
    costs = [(measure(size, gaps=False), measure(size, gaps=True)) for size in SIZES]
    # A launch on one node looks up no names.
    least = costs[1][0]
    for size, pair in zip(SIZES, costs):
        row = [f"{size:,}"]
        for cost, kind in zip(pair, ("one range", "with gaps")):
            row += [f"{cost.microseconds:.0f}", f"{cost.reading:.0f}", str(cost.kibibytes)]
            if cost.microseconds > TIMES * least.microseconds + READINGS * cost.reading:
                wrong.append(f"{size} nodes, {kind}: {cost.microseconds:.0f} us")
            if cost.kibibytes > least.kibibytes + MEMORY:
                wrong.append(f"{size} nodes, {kind}: {cost.kibibytes} KiB")
        body.append(row)
    columns = ("nodes", *(f"{kind}: {what}" for kind in ("one range", "gaps") for what in ("µs", "list µs", "KiB")))
    return measured.table(columns, body), wrong


#: What a plan may cost: so many of one for two nodes, and reading the whole list so often.
TIMES, READINGS = 3, 2
#: Kibibytes that a plan may take more than one for two nodes.
MEMORY = 1024


def hostlist(size: int, *, gaps: bool) -> tuple[str, str]:
    """Return a list of so many nodes, and the last of them."""
    if not gaps:
        return f"n[00001-{size:05}]", f"n{size:05}"
    ranges, number = [], 1
    while size:
        length = min(GAP - 1, size)
        ranges.append(f"{number:05}-{number + length - 1:05}")
        last = number + length - 1
        number += GAP
        size -= length
    return f"n[{','.join(ranges)}]", f"n{last:05}"


def measure(size: int, *, gaps: bool) -> Cost:
    """Make the plan of a launch to which nothing is given, on the last node of the step."""
    nodes, last = hostlist(size, gaps=gaps)
    variables = step(nodes, nodes=size, node=size - 1, name=last)
    with tempfile.NamedTemporaryFile("w", suffix=".hosts") as hosts:
        hosts.write(f"10.20.0.1 {last}i {last}\n" + ("10.20.0.2 n00001i n00001\n" if size > 1 else ""))
        hosts.flush()
        command = ["unshare", "--net", "--mount", "bash", "-ec", NETWORK, "-", hosts.name, sys.executable, PLAN]
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **variables}
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True)
    return Cost(**json.loads(done.stdout))
