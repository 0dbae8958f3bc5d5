"""The parts of documents that are made: between `<!-- made: NAME -->` and `<!-- /made -->`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from documents import api, sites
from torchrun_jsc.settings import TABLE

if TYPE_CHECKING:
    from pathlib import Path

_BLOCK = re.compile(r"(?<=<!-- made: )(?P<name>[a-z ]+)( -->\n)(?P<text>.*?)(?=<!-- /made -->)", re.DOTALL)


def _settings() -> str:
    head = "| variable | type | default | meaning |\n|---|---|---|---|\n"
    return head + "".join(f"| `{s.variable}` | {s.kind} | {s.default} | {s.meaning} |\n" for s in TABLE)


MAKERS = {
    "settings": _settings,
    "sites": sites.table,
    "scripts of sites": sites.scripts,
    "names": api.names,
    "options of endpoint": api.endpoint_options,
}


def made(document: Path) -> str:
    """Return the text of a document with its blocks made anew."""
    text = document.read_text(encoding="utf-8")
    return _BLOCK.sub(lambda block: f"{block['name']} -->\n{MAKERS[block['name']]()}", text)
