"""The shell lines of the README and of docs/: each block is run by a test, or it is said here why none does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from documents.sites import DIRECTORY
from documents.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

#: By a part of the block.
NOT_RUN = {
    'pip install "torchrun_jsc>=0.1"': "gets what is released",
    "pip install .": "builds for minutes; `make build` does the same before each test",
    "make demo": "trains for half a minute and writes what it saw; it is started by hand",
    "nslookup": "what people have; tests/downstream/test_jsc_course.py runs one like it",
}


class Recipe(NamedTuple):
    """A block of shell lines."""

    document: Path
    number: int
    text: str

    @property
    def name(self) -> str:
        """What a test is called that runs it."""
        return f"{self.document.stem}-{self.number}"


def recipes() -> list[Recipe]:
    """Return all blocks in the order of the documents."""
    documents = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    block = re.compile(r"^```bash\n(.*?)^```", re.DOTALL | re.MULTILINE)
    return [
        Recipe(path, number, text)
        for path in documents
        for number, text in enumerate(block.findall(path.read_text(encoding="utf-8")), 1)
    ]


def is_of_a_site(recipe: Recipe) -> bool:
    """Tell whether it is the README's first script or a site's, which tests/slurm/test_sites.py runs."""
    scripts = {path.read_text(encoding="utf-8") for path in DIRECTORY.glob("*.sh")}
    return recipe.text in scripts or recipe.name == "README-1"


def reason_not_to_run(recipe: Recipe) -> str | None:
    """Return why no test runs it."""
    return next((reason for part, reason in NOT_RUN.items() if part in recipe.text), None)


def to_run() -> list[Recipe]:
    """Return what tests/slurm/test_recipes_run.py runs."""
    return [recipe for recipe in recipes() if not is_of_a_site(recipe) and reason_not_to_run(recipe) is None]
