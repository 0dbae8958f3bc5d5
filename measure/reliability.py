"""``docs/reliability.md``. Each of its tables is written by a command, between marks: ``<!-- name -->``."""

from __future__ import annotations

import re
from pathlib import Path

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


def _inside(document: str, section: str) -> tuple[int, int]:
    found = re.search(rf"(?<=<!-- {section} -->\n)(.*?)(?=<!-- /{section} -->)", document, re.DOTALL)
    if found is None:
        raise ValueError(f"{DOCUMENT}: no section {section}")
    return found.start(), found.end()
