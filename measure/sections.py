"""The parts of documents that commands write, between marks: ``<!-- name -->`` and ``<!-- /name -->``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, section: str, text: str) -> None:
    """Put ``text`` in the place of what a section of a document says.

    :raises ValueError: where the document has no such section.
    """
    document = path.read_text(encoding="utf-8")
    start, end = _inside(path, document, section)
    path.write_text(document[:start] + text.rstrip() + "\n" + document[end:], encoding="utf-8")


def rows(path: Path, section: str) -> list[list[str]]:
    """Return the cells of a section's table, without its head."""
    document = path.read_text(encoding="utf-8")
    start, end = _inside(path, document, section)
    lines = [line for line in document[start:end].splitlines() if line.startswith("| ")]
    return [line.strip("| ").split(" | ") for line in lines[2:]]


def _inside(path: Path, document: str, section: str) -> tuple[int, int]:
    found = re.search(rf"(?<=<!-- {section} -->\n)(.*?)(?=<!-- /{section} -->)", document, re.DOTALL)
    if found is None:
        raise ValueError(f"{path}: no section {section}")
    return found.start(), found.end()
