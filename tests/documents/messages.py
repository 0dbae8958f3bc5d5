"""The sentences that the code can say, out of its sources; what stands for a value is `…`."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Iterator

from documents.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

VALUE = "…"

#: Comments, raw strings, strings and characters of Rust, in the order in which they are told apart.
_RUST = re.compile(
    r"""//[^\n]*|/\*.*?\*/|r(#*)"(?P<raw>.*?)"\1|"(?P<text>(?:\\.|[^"\\])*)"|'(?:\\[^']+|[^'\\])'""", re.DOTALL
)
#: A string that continues on the next line.
_CONTINUED = re.compile(r"\\\n\s*")
#: What is not said: a fault of the program that its types cannot exclude, and what is cut off another's answer.
_UNSAID = ("expect(", "unreachable!(", "strip_prefix(")

#: Calls with texts for other places: the help of a command and the table of settings.
_ELSEWHERE = ("ArgumentParser", "add_argument", "Setting")
#: The keyword with what patches and threads are called.
_NAME = "name"
#: Its texts are the plan, which docs/decisions.md explains.
_PLAN = "shown.py"


def of_rust(path: Path) -> Iterator[str]:
    """Yield the sentences of a Rust file, without its tests."""
    source = path.read_text(encoding="utf-8").partition("#[cfg(test)]")[0]
    for token in _RUST.finditer(source):
        text = token["raw"] if token["raw"] is not None else token["text"]
        if text is not None and not source.endswith(_UNSAID, 0, token.start()):
            yield re.sub(r"\{[^{}]*\}", VALUE, _CONTINUED.sub("", text).replace('\\"', '"'))


def of_python(path: Path) -> Iterator[str]:
    """Yield the sentences of a Python file: no docstrings, no help texts."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {id(node) for call in ast.walk(tree) if _is_elsewhere(call) for node in ast.walk(call)}
    skipped |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in ast.walk(node)}
            yield "".join(part.value if isinstance(part, ast.Constant) else VALUE for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _is_elsewhere(node: ast.AST) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg == _NAME
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in _ELSEWHERE


def all_of_them() -> dict[str, list[str]]:
    """Return the sentences by file. What has no blank between two words is a name and no sentence."""
    found = {}
    for path in sorted([*(ROOT / "rust").rglob("*.rs"), *(ROOT / "python").rglob("*.py")]):
        if path.name == _PLAN or {"tests", "benches", "fuzz"} & set(path.relative_to(ROOT).parts):
            continue
        texts = of_rust(path) if path.suffix == ".rs" else of_python(path)
        sentences = [text for text in texts if re.search(r"\w\S* \S*\w", text)]
        if sentences:
            found[str(path.relative_to(ROOT))] = sentences
    return found
