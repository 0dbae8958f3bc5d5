"""The documents say what the code does. Run as a program, this writes the README's table of settings anew."""

import re
from pathlib import Path

import pytest

from torchrun_jsc.settings import TABLE

ROOT = Path(__file__).parent.parent.parent
README = ROOT / "README.md"
HEAD = "| variable | type | default | meaning |\n|---|---|---|---|\n"
DOCUMENTS = [README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def table():
    return HEAD + "".join(f"| `{s.variable}` | {s.kind} | {s.default} | {s.meaning} |\n" for s in TABLE)


def written(text):
    return re.search(r"(?<=<!-- settings:)[^\n]*-->\n(.*?)(?=<!-- /settings -->)", text, re.DOTALL)


def test_the_readme_has_the_table_of_settings():
    assert written(README.read_text(encoding="utf-8")).group(1) == table()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)]+)\)", document.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (document.parent / target).exists(), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_variables_exist(document):
    named = set(re.findall(r"TORCHRUN_JSC_[A-Z_]*[A-Z]", document.read_text(encoding="utf-8")))
    assert named <= {setting.variable for setting in TABLE}


def test_the_python_in_the_readme_compiles():
    for block in re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL):
        compile(block, "README.md", "exec")


if __name__ == "__main__":
    text = README.read_text(encoding="utf-8")
    found = written(text)
    README.write_text(text[: found.start(1)] + table() + text[found.end(1) :], encoding="utf-8")
