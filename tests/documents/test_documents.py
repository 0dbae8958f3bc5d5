"""The documents say what the code does: made parts, links, variables, commands and code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Iterator
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import pytest

import torchrun_jsc
from documents.blocks import made
from documents.tree import DOCUMENTS, ROOT
from torchrun_jsc import _core
from torchrun_jsc.explain import explain
from torchrun_jsc.settings import TABLE, Settings

if TYPE_CHECKING:
    from pathlib import Path

each = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)

#: Where the README's absolute links lead, which must work on PyPI too.
REPOSITORY = re.compile(r"https://(?:github\.com|raw\.githubusercontent\.com)/HelmholtzAI-FZJ/torchrun_jsc/(?:blob/|raw/)?main/")


def read(document: Path) -> str:
    return document.read_text(encoding="utf-8")


def prose(document: Path) -> str:
    """The text without its code."""
    return re.sub(r"```.*?```|`[^`\n]*`", "", read(document), flags=re.DOTALL)


def blocks(document: Path, language: str) -> Iterator[str]:
    yield from re.findall(rf"^```{language}\n(.*?)^```", read(document), re.DOTALL | re.MULTILINE)


def anchors(document: Path) -> set[str]:
    """The anchors of its headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", read(document), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.skipif(sys.version_info < (3, 9), reason="ast.unparse, which makes docs/api.md, is new in Python 3.9")
@each
def test_made_parts_are_up_to_date(document: Path) -> None:
    assert read(document) == made(document), "`make docs` writes them anew"


@each
def test_links_lead_somewhere(document: Path) -> None:
    text = prose(document)
    for link in re.findall(r"\]\(([^)\s]*)\)|<img [^>]*src=\"([^\"]*)\"", text):
        target = "".join(link)
        inside = REPOSITORY.match(target)
        if inside is None and re.match(r"[a-z]+:", target):
            parts = urlsplit(target)
            assert parts.scheme in {"http", "https"}, target
            assert re.fullmatch(r"[\w.-]+\.[a-z]+", parts.netloc), target
            continue
        path, _, anchor = (target[inside.end() :] if inside else target).partition("#")
        file = (ROOT if inside else document.parent) / path if path else document
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def test_the_readme_has_no_relative_links() -> None:
    """PyPI shows it outside the repository."""
    targets = re.findall(r"\]\(([^)\s]*)\)|src=\"([^\"]*)\"", prose(ROOT / "README.md"))
    assert all("".join(target).startswith(("https://", "#")) for target in targets), targets


@each
def test_variables_exist(document: Path) -> None:
    named = set(re.findall(r"TORCHRUN_JSC_[A-Z_]*[A-Z]", read(document)))
    assert named <= {setting.variable for setting in TABLE}


@each
def test_bash_is_bash(document: Path) -> None:
    for block in blocks(document, "bash"):
        subprocess.run(["bash", "-n"], input=block, text=True, check=True, timeout=10)


@each
def test_python_runs(document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the only task of a launch, without a GPU."""
    joined = []
    dist = ModuleType("torch.distributed")
    dist.init_process_group = lambda *args, **kwargs: joined.append((args, kwargs))
    torch = ModuleType("torch")
    torch.distributed = dist
    task = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "RANK": "0", "WORLD_SIZE": "1"}
    monkeypatch.setattr(os, "environ", task)
    with monkeypatch.context() as context:
        context.setitem(sys.modules, "torch", torch)
        context.setitem(sys.modules, "torch.distributed", dist)
        for block in blocks(document, "python"):
            exec(compile(block, document.name, "exec"), {})
    group = {"init_method": "tcp://127.0.0.1:29500", "rank": 0, "world_size": 1}
    assert all(call == (("nccl",), group) for call in joined)
    assert bool(joined) == ("init_process_group(" in read(document))


@each
def test_other_blocks_say_what_they_are(document: Path) -> None:
    languages = re.findall(r"^```(.*)\n(?:.*\n)*?```$", read(document), re.MULTILINE)
    assert set(languages) <= {"bash", "python", "console", "text", "yaml", "toml"}, languages


@each
def test_commands_exist(document: Path) -> None:
    """Targets of make, modules and files of this project that lines of bash name."""
    targets = set(re.findall(r"^([a-z]+):", read(ROOT / "Makefile"), re.MULTILINE))
    top = {path.name for path in ROOT.iterdir() if path.is_dir()}
    for block in blocks(document, "bash"):
        for target in re.findall(r"^make (\w+)", block, re.MULTILINE):
            assert target in targets, target
        for module in re.findall(r"python -m (torchrun_jsc[.\w]*)", block):
            path = ROOT / "python" / module.replace(".", "/")
            assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module
        for path in re.findall(r"(?<![\w/$.{}])[\w.]+/[\w./-]+", block):
            assert path.partition("/")[0] not in top or path.startswith(".venv/") or (ROOT / path).exists(), path


def test_the_documents_are_found_from_the_readme() -> None:
    text = read(ROOT / "README.md")
    for document in DOCUMENTS:
        assert document.name == "README.md" or f"/{document.relative_to(ROOT).as_posix()}" in text, document


def test_the_reference_has_all_public_names() -> None:
    headings = re.findall(r"^### `(\w+)`$", read(ROOT / "docs" / "api.md"), re.MULTILINE)
    assert headings == [name for name in torchrun_jsc.__all__ if not name.startswith("__")]


def test_the_reference_has_all_keys_of_explain() -> None:
    options = {"standalone": True, "backend": "static", "endpoint": "", "run_id": "", "node_rank": None}
    options.update(dict.fromkeys(("master_port", "is_host", "local_address")), file_store=False, given=[])
    plan = _core.plan(Settings({}), {**options, "min_nodes": 1, "max_nodes": 1}, {}, 1)
    _, _, after = read(ROOT / "docs" / "api.md").partition("`python -m torchrun_jsc.explain")
    rows = re.findall(r"^\| (`.*?) \|", after.partition("\n`python -m")[0], re.MULTILINE)
    assert re.findall(r"`(\w+)`", " ".join(rows)) == list(explain(plan, with_nodes=False))


def test_pictures_can_be_read_aloud() -> None:
    for picture in (ROOT / "docs").glob("*.svg"):
        root = ET.fromstring(read(picture))
        names = [child.tag.rpartition("}")[2] for child in root]
        assert names[:2] == ["title", "desc"], picture
        labelled = root.attrib["aria-labelledby"].split()
        assert labelled == [child.attrib["id"] for child in root[:2]], picture
        assert picture.stat().st_size < 10_000, picture


@pytest.mark.parametrize("form", ["launch.yml", "site.yml"])
def test_issues_are_asked_for_the_plan(form: str) -> None:
    assert "torchrun_jsc.explain --json" in read(ROOT / ".github" / "ISSUE_TEMPLATE" / form)
