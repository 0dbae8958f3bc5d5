"""What would be done, and why: ``python -m torchrun_jsc.explain [torchrun's arguments]`` prints the plan and exits.

The plan is the one that the launcher makes of the same arguments: torch reads them and builds its ``LaunchConfig``.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from torchrun_jsc import _core, patches
from torchrun_jsc.errors import TorchrunJscError
from torchrun_jsc.fixes import apply_fixes
from torchrun_jsc.launch import plan_of
from torchrun_jsc.messages import exit_with
from torchrun_jsc.settings import PREFER_OLD_SOLUTION
from torchrun_jsc.torch_version import torch_version

if TYPE_CHECKING:
    from torchrun_jsc._core import Plan

#: Nodes of a step that the table shows.
MAX_ROWS = 64

#: Seconds for the look-up of one of them.
LOOKUP = 2.0

#: Stands for the script where the command line names none.
_SCRIPT = "script.py"


def explain(plan: Plan) -> dict[str, Any]:
    """Return all that is known of a launch, as plain data."""
    version = torch_version()
    old = bool(PREFER_OLD_SOLUTION.read(os.environ))
    rows = patches.report(version, old_solution=old)
    return {
        "torch": str(version),
        "solution": "old" if old else "new",
        "untouched": plan.untouched,
        "step": {"nodes": plan.nnodes, "source": plan.nodes_source},
        "node": plan.node,
        "node_rank": plan.node_rank,
        "host_node": plan.host_node,
        "is_host": plan.is_host,
        "host_check": plan.host_check,
        "endpoint": plan.endpoint,
        "endpoint_address": plan.endpoint_address,
        "local_address": plan.local_address,
        "interface": plan.interface,
        "gloo_interface": plan.gloo_interface,
        "rank_order": plan.rank_order,
        "fills": plan.fills,
        "reasons": plan.reasons,
        "warnings": plan.warnings,
        "nodes": _nodes(plan),
        "patches": [
            {"name": row.patch.name, "target": row.patch.target, "applied": row.applied, "reason": row.reason}
            for row in rows
        ],
    }


def _nodes(plan: Plan) -> list[dict[str, Any]]:
    """The first nodes of the step."""
    nodes = plan.nodes
    if nodes is None:
        return []
    names = [nodes[rank] for rank in range(min(len(nodes), MAX_ROWS))]
    return [
        {
            "rank": rank,
            "name": name,
            "fast_name": plan.fast_name(name),
            "address": _address(plan, name),
            "this_node": rank == plan.node_rank,
            "host": name == plan.host_node,
        }
        for rank, name in enumerate(names)
    ]


def _address(plan: Plan, node: str) -> str | None:
    """The address of a node in the endpoint's form, if it has one."""
    addresses = _core.lookup(plan.fast_name(node) or node, LOOKUP)
    return addresses[0] if addresses else None


def one_line(found: dict[str, Any]) -> str:
    """Return the plan of this node in one line."""
    place = "" if found["node_rank"] is None else f" ({found['node_rank']} of {found['step']['nodes']})"
    head = f"node {found['node']}{place}: "
    if found["untouched"]:
        return f"{head}left to torch: {found['untouched']}"
    hosting = {True: "hosts", False: "does not host", None: "torch finds out whether it hosts"}[found["is_host"]]
    why = found["reasons"].get("is_host", "is_host as given" if found["is_host"] is None else "")
    address = found["endpoint_address"]
    parts = [
        f"{hosting} ({why})",
        f"endpoint {found['endpoint']}" + (f" = {address}" if address else ""),
        f"local address {found['local_address']} on {found['interface']}",
        f"gloo on {found['gloo_interface'] or 'what is set'}",
        f"ranks by {found['rank_order'] or 'torch'}",
    ]
    return head + ", ".join(parts)


def table(found: dict[str, Any]) -> str:
    """Return all of it for people."""
    reasons = found["reasons"]
    step = found["step"]
    lines = [f"torch {found['torch']}, {found['solution']} solution"]
    if found["untouched"]:
        return "\n".join([*lines, f"left to torch: {found['untouched']}", *_patches(found)])
    lines.append(f"step: {step['nodes']} nodes, from {step['source']}" if step["nodes"] else "step: none known")
    if found["nodes"]:
        lines += ["", *_columns(found["nodes"])]
        if step["nodes"] > len(found["nodes"]):
            lines.append(f"… {step['nodes'] - len(found['nodes'])} more")
        lines.append("")
    for name, label in (
        ("is_host", "is_host"),
        ("endpoint", "endpoint"),
        ("local_address", "local address"),
        ("interface", "interface"),
        ("gloo_interface", "GLOO_SOCKET_IFNAME"),
        ("rank_order", "rank order"),
    ):
        value = found[name]
        lines.append(f"{label}: {'as torch or the user has it' if value is None else value}{_because(reasons, name)}")
    if found["endpoint_address"]:
        lines.append(f"endpoint address: {found['endpoint_address']}")
    lines += [f"filled in: --{name}={value}{_because(reasons, name)}" for name, value in found["fills"].items()]
    lines += [f"warning: {warning}" for warning in found["warnings"]]
    return "\n".join([*lines, *_patches(found)])


def _because(reasons: dict[str, str], name: str) -> str:
    return f" ({reasons[name]})" if name in reasons else ""


def _patches(found: dict[str, Any]) -> list[str]:
    return [
        f"patch {row['name']}: " + ("applied" if row["applied"] else f"not applied: {row['reason']}")
        for row in found["patches"]
    ]


def _columns(nodes: list[dict[str, Any]]) -> list[str]:
    rows = [("rank", "node", "fast name", "address", "")]
    for node in nodes:
        marks = [word for word, key in (("this node", "this_node"), ("host", "host")) if node[key]]
        rows.append(
            (str(node["rank"]), node["name"], node["fast_name"] or "-", node["address"] or "-", ", ".join(marks))
        )
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return ["  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[4]]).rstrip() for row in rows]


def text(found: dict[str, Any]) -> str:
    """Return what people are shown: the table, but one line on each node of a step but the first."""
    under_srun = "SLURM_STEP_ID" in os.environ
    if not under_srun:
        return table(found)
    if found["node_rank"] == 0 and os.environ.get("SLURM_LOCALID", "0") == "0":
        return f"{one_line(found)}\n{table(found)}"
    return one_line(found)


def plan_for(argv: list[str]) -> Plan:
    """Make the plan of a command line, as the launcher would.

    :raises TorchrunJscError: where the launch cannot work.
    """
    from torch.distributed import run

    caught: list[Any] = []

    class Launch:
        """Takes the place of torch's launch."""

        def __init__(self, config: Any, *_: Any, **__: Any) -> None:
            caught.append(config)

        def __call__(self, *_: Any) -> None:
            """Start nothing."""

    args = run.parse_args(_with_script(argv))
    launch, run.elastic_launch = run.elastic_launch, Launch
    try:
        run.run(args)
    finally:
        run.elastic_launch = launch
    return plan_of(caught[0])


def _with_script(argv: list[str]) -> list[str]:
    """The arguments with a script, which torch's parser asks for."""
    from torch.distributed import run

    try:
        with contextlib.redirect_stderr(io.StringIO()):
            run.get_args_parser().parse_args(argv)
    except SystemExit as stop:
        return [*argv, _SCRIPT] if stop.code else argv
    return argv


def main(args: list[str] | None = None) -> None:
    """Run the command; exits with status 2 and one line on stderr where the launch cannot work."""
    argv = list(sys.argv[1:] if args is None else args)
    as_json = argv[:1] == ["--json"]
    try:
        apply_fixes()
        found = explain(plan_for(argv[1:] if as_json else argv))
    except TorchrunJscError as error:
        exit_with(error)
    print(json.dumps(found, indent=2) if as_json else text(found))


if __name__ == "__main__":
    main()
