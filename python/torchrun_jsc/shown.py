"""The plan as people and programs are shown it, with the state of the patches."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from torchrun_jsc import _core, patcher
from torchrun_jsc.messages import is_first_of_node, plain
from torchrun_jsc.torch_version import torch_version

if TYPE_CHECKING:
    from torchrun_jsc._core import Plan

#: Nodes of a step that the table shows.
MAX_ROWS = 64

#: Seconds for the look-ups of all of them together.
LOOKUP = 2.0


def explain(plan: Plan, *, with_nodes: bool) -> dict[str, Any]:
    """Return all that is known of a launch, as plain data; the table of nodes costs look-ups."""
    return {
        "torch": str(torch_version()),
        "solution": "old" if patcher.is_old_solution() else "new",
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
            {"name": row.patch.label, "target": row.patch.target, "applied": row.applied, "reason": row.reason}
            for row in patcher.report()
        ],
    }


def _nodes(plan: Plan) -> list[dict[str, Any]]:
    """The first nodes of the step."""
    nodes = plan.nodes
    if nodes is None:
        return []
    names = [nodes[rank] for rank in range(min(len(nodes), MAX_ROWS))]
    fast_names = [plan.fast_name(name) for name in names]
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
    return "SLURM_STEP_ID" not in os.environ or (plan.node_rank == 0 and is_first_of_node())


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
