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
from torchrun_jsc.messages import exit_with, is_first_of_node, plain
from torchrun_jsc.settings import PREFER_OLD_SOLUTION
from torchrun_jsc.torch_version import torch_version

if TYPE_CHECKING:
    from torchrun_jsc._core import Plan

#: Nodes of a step that the table shows.
MAX_ROWS = 64

#: Seconds for the look-ups of all of them together.
LOOKUP = 2.0

#: Stands for the script where the command line names none.
_SCRIPT = "script.py"


def explain(plan: Plan, *, with_nodes: bool) -> dict[str, Any]:
    """Return all that is known of a launch, as plain data; the table of nodes costs look-ups."""
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
        "nodes": _nodes(plan) if with_nodes else [],
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
    fast_names = [plan.form.apply(name) if plan.form else None for name in names]
    addresses = _core.lookup([fast or name for fast, name in zip(fast_names, names)], LOOKUP)
    return [
        {
            "rank": rank,
            "name": name,
            "fast_name": fast_name,
            "address": found[0] if found else None,
            "this_node": rank == plan.node_rank,
            "host": name == plan.host_node,
        }
        for rank, (name, fast_name, found) in enumerate(zip(names, fast_names, addresses))
    ]


def shows_table(plan: Plan) -> bool:
    """Whether people are shown all of it, and not one line: outside a step, and on its first node."""
    return not plan.in_step or (plan.node_rank == 0 and is_first_of_node())


def one_line(found: dict[str, Any]) -> str:
    """Return the plan of this node in one line."""
    known = found["node_rank"] is not None and found["step"]["nodes"] is not None
    place = f" ({found['node_rank']} of {found['step']['nodes']})" if known else ""
    head = f"node {found['node']}{place}: " if found["node"] else ""
    if found["untouched"]:
        return f"{head}left to torch: {found['untouched']}"
    hosting = {True: "hosts", False: "does not host", None: "torch finds out whether it hosts"}[found["is_host"]]
    address = found["endpoint_address"]
    parts = [
        hosting + _because(found["reasons"], "is_host"),
        f"endpoint {found['endpoint']}" + (f" = {address}" if address else ""),
        f"local address {found['local_address'] or 'as torch finds it'}",
        f"interface {found['interface'] or 'unknown'}",
        f"gloo on {found['gloo_interface'] or os.environ.get('GLOO_SOCKET_IFNAME') or 'what it finds'}",
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
            lines.append(f"... {step['nodes'] - len(found['nodes'])} more")
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


def text(found: dict[str, Any], *, as_table: bool) -> str:
    """Return what people are shown: one line under ``srun``, and the table where it is wanted."""
    if "SLURM_STEP_ID" not in os.environ:
        shown = table(found)
    else:
        shown = f"{one_line(found)}\n{table(found)}" if as_table else one_line(found)
    return "\n".join(plain(line) for line in shown.split("\n"))


def plan_for(argv: list[str]) -> Plan:
    """Make the plan of a command line with a script, as the launcher would.

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

    args = run.parse_args(argv)
    launch, run.elastic_launch = run.elastic_launch, Launch
    try:
        run.run(args)
    finally:
        run.elastic_launch = launch
    return plan_of(caught[0])


def _read(argv: list[str]) -> tuple[list[str], bool]:
    """Return the arguments with a script, which torch's parser asks for, and whether ``--json`` was among them.

    It may stand wherever torch's parser finds an option; what follows the script is the script's.
    """
    from torch.distributed import run

    parser = run.get_args_parser()
    parser.add_argument("--json", action="store_true")
    complete = [*argv, _SCRIPT]
    for tried in (argv, complete):
        # What is wrong, torch says itself, of its own options.
        with contextlib.suppress(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            with contextlib.redirect_stdout(io.StringIO()):
                as_json = parser.parse_args(tried).json and "--json" in tried
            if as_json:
                place = tried.index("--json")
                return [*tried[:place], *tried[place + 1 :]], True
            return tried, False
    return complete, False


def main(args: list[str] | None = None) -> None:
    """Run the command; exits with status 2 and one line on stderr where the launch cannot work."""
    try:
        apply_fixes()
        argv, as_json = _read(list(sys.argv[1:] if args is None else args))
        plan = plan_for(argv)
        as_table = shows_table(plan)
        found = explain(plan, with_nodes=as_json or as_table)
    except TorchrunJscError as error:
        exit_with(error)
    print(json.dumps(found, indent=2) if as_json else text(found, as_table=as_table))


if __name__ == "__main__":
    main()
