"""What the package must never do, whatever it is given."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Iterator

import pytest

import torchrun_jsc

ROOT = Path(__file__).parent.parent.parent
MODULES = sorted(Path(torchrun_jsc.__file__).parent.rglob("*.py"))
RUST = [path for path in sorted((ROOT / "rust").rglob("*.rs")) if "fuzz" not in path.parts]

#: Builtins that run text.
RUNS_TEXT = {"eval", "exec", "compile", "__import__"}
#: Modules that start processes, read objects out of bytes, call foreign code or make temporary files.
FORBIDDEN = {"subprocess", "pty", "commands", "pickle", "marshal", "shelve", "ctypes", "cffi", "tempfile", "shutil"}
#: What `os` and others have for the same.
CALLS = re.compile(r"\bos\.(system|popen|exec\w*|spawn\w*|posix_spawn\w*|fork\w*)\b|[\"']/tmp\b|\bmktemp\b")


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_no_text_is_run_no_process_started_no_temporary_file_made(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert set(imported(tree)) & FORBIDDEN == set()
    assert {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & RUNS_TEXT == set()
    assert not CALLS.search(text)


def test_there_is_no_unsafe_code() -> None:
    """The compiler sees to it, as long as it is told to."""
    assert "#![forbid(unsafe_code)]" in (ROOT / "rust/lib.rs").read_text(encoding="utf-8").splitlines()
    assert re.search(r'^unsafe_code = "forbid"$', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)
    for path in RUST:
        found = re.search(r'\bunsafe\b|\bextern "C"|std::process|Command::new', path.read_text(encoding="utf-8"))
        assert not found, path
