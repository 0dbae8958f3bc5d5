"""docs/troubleshooting.md and docs/decisions.md have every sentence that the code can say, and no other."""

from __future__ import annotations

import re

import pytest

from documents.messages import VALUE, all_of_them
from documents.tree import ROOT

SENTENCES = all_of_them()
MESSAGES = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
REASONS = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
#: Of both, with the lines joined.
EXPLAINED = " ".join((MESSAGES + REASONS).split())

#: Shorter pieces between two values may stand anywhere.
LONG = 10


def pieces(text: str) -> list[str]:
    """What stands between the values."""
    return [piece.strip() for piece in text.split(VALUE)]


@pytest.mark.parametrize("file", SENTENCES)
def test_every_sentence_is_explained(file: str) -> None:
    for sentence in SENTENCES[file]:
        key = max(pieces(sentence), key=len)
        assert key in EXPLAINED, f"neither docs/troubleshooting.md nor docs/decisions.md has {sentence!r}"


def test_every_entry_is_a_sentence() -> None:
    said = "\n".join(sentence for sentences in SENTENCES.values() for sentence in sentences)
    # Placeholders are values to the code.
    said = re.sub(r"\{\w+\}", VALUE, said)
    entries = re.findall(r"\| (`.*?`)(?:, `.*?`)* \|", MESSAGES)
    assert len(entries) > 50
    for entry in entries:
        # A name and its value in front are from the code too, and so are placeholders of templates.
        for piece in pieces(re.sub(r'^`[\w…-]+="…":|"…"|\{\w+\}', VALUE, entry).strip("`")):
            assert len(piece) < LONG or piece in said, f"nothing in the code says {piece!r}"


def test_a_new_sentence_would_be_noticed() -> None:
    watch = SENTENCES["python/torchrun_jsc/preflight/watch.py"]
    assert any("still cannot reach the endpoint" in sentence for sentence in watch)
    assert "bracket that is never closed" in SENTENCES["rust/hostlist/parse.rs"]
