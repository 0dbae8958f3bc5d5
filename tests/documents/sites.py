"""The sites in docs/sites: a table of facts, and a batch script for each, which tests/slurm/test_sites.py runs."""

from __future__ import annotations

import json
from typing import Any

from documents.tree import ROOT

DIRECTORY = ROOT / "docs" / "sites"
SITES: list[dict[str, Any]] = json.loads((DIRECTORY / "sites.json").read_text(encoding="utf-8"))


def value(site: dict[str, Any], fact: str) -> str:
    """Return what is said of a site."""
    text: str = site["facts"][fact][0]
    return text


def table() -> str:
    """Return the table of facts, each with its source."""
    facts = list(SITES[0]["facts"])
    lines = [f"| site | {' | '.join(facts)} |", f"|---{'|---' * len(facts)}|"]
    lines += [f"| {_link(site)} | {' | '.join(_fact(*site['facts'][fact]) for fact in facts)} |" for site in SITES]
    return "\n".join(lines) + "\n"


def _link(site: dict[str, Any]) -> str:
    anchor = "".join(c for c in site["name"].lower().replace(" ", "-") if c.isalnum() or c == "-")
    return f"[{site['name']}](#{anchor})"


def _fact(text: str, source: str | None) -> str:
    return f"`{text}` " + (f"([source]({source}))" if source else "(not verified)")


def scripts() -> str:
    """Return a section for each site, with its script."""
    return "\n".join(_section(site) for site in SITES)


def _section(site: dict[str, Any]) -> str:
    path = f"sites/{site['id']}.sh"
    script = (DIRECTORY / f"{site['id']}.sh").read_text(encoding="utf-8")
    note = f"{site['note']}\n\n" if "note" in site else ""
    return f"### {site['name']}\n\n{site['centre']}. {note}The file is [{path}]({path}).\n\n```bash\n{script}```\n"
