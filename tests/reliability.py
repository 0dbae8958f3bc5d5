"""``docs/reliability.md``. Each of its tables is written by a command, between marks: ``<!-- name -->``."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Iterable, Sequence

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "reliability.md"


def write(section: str, text: str) -> None:
    """Put ``text`` in the place of what a section says.

    :raises ValueError: where the document has no such section.
    """
    document = DOCUMENT.read_text(encoding="utf-8")
    start, end = _inside(document, section)
    DOCUMENT.write_text(document[:start] + text.rstrip() + "\n" + document[end:], encoding="utf-8")


def rows(section: str) -> list[list[str]]:
    """Return the cells of a section's table, without its head."""
    document = DOCUMENT.read_text(encoding="utf-8")
    start, end = _inside(document, section)
    lines = [line for line in document[start:end].splitlines() if line.startswith("| ")]
    return [line.strip("| ").split(" | ") for line in lines[2:]]


def table(columns: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """Return a table. No cell may have a vertical bar."""
    return "".join("| " + " | ".join(cells) + " |\n" for cells in (columns, ["---"] * len(columns), *body))


def machine() -> str:
    """Return on what and with what the command runs."""
    gibibytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    slurm = subprocess.run(["slurmctld", "-V"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[-1]
    return (
        f"{os.cpu_count()} CPUs, {gibibytes:.0f} GiB, Linux {platform.release().partition('-')[0]}, Slurm {slurm}, "
        f"torch {version('torch').partition('+')[0]}, Python {platform.python_version()}"
    )


def today() -> str:
    """Return the date."""
    return datetime.now(timezone.utc).date().isoformat()


def _inside(document: str, section: str) -> tuple[int, int]:
    found = re.search(rf"(?<=<!-- {section} -->\n)(.*?)(?=<!-- /{section} -->)", document, re.DOTALL)
    if found is None:
        raise ValueError(f"{DOCUMENT}: no section {section}")
    return found.start(), found.end()
