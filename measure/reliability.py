"""``docs/reliability.md``. Each of its tables is written by a command."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import sections

_DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "reliability.md"

write = partial(sections.write, _DOCUMENT)
rows = partial(sections.rows, _DOCUMENT)
