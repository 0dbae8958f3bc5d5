"""Shell lines of the documents that need no cluster; tests/slurm/test_recipes_run.py runs the others."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from documents.shell_blocks import NOT_RUN, recipes

if TYPE_CHECKING:
    from pathlib import Path

#: What the documents say, and what scripts of users have.
SAID = {line for recipe in recipes() for line in re.findall(r"bash -c '(.*endpoint --export.*)'", recipe.text)}
EVAL = 'eval "$(python -m torchrun_jsc.endpoint --export)" && exec python train.py'
ERREXIT = 'set -e; eval "$(python -m torchrun_jsc.endpoint --export)"; exec python train.py'

TASK = {"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500", "RANK": "3", "WORLD_SIZE": "8"}
TRAIN = 'import os\n\nprint(*(os.environ.get(name) for name in ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")))\n'

#: Starts Python, except where a module is to run that is broken.
PYTHON = f'#!/bin/sh\n[ "$1" = train.py ] || [ -z "$BROKEN" ] || {{ $BROKEN; }}\nexec {sys.executable} "$@"\n'

shells = pytest.mark.parametrize("shell", ["bash", "dash", "zsh", "ksh"])


def test_the_documents_agree_on_the_line() -> None:
    assert len(SAID) == 1, SAID


def test_reasons_belong_to_blocks() -> None:
    texts = [recipe.text for recipe in recipes()]
    assert [part for part in NOT_RUN if not any(part in text for text in texts)] == []


def run(shell: str, line: str, directory: Path, **more: str) -> subprocess.CompletedProcess[str]:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    commands = directory / "bin"
    commands.mkdir()
    (commands / "python").write_text(PYTHON, encoding="utf-8")
    (commands / "python").chmod(0o755)
    (directory / "train.py").write_text(TRAIN, encoding="utf-8")
    env = {"PATH": f"{commands}:{os.environ['PATH']}", **TASK, **more}
    return subprocess.run(
        [shell, "-c", line], env=env, cwd=directory, capture_output=True, text=True, timeout=60, check=False
    )


@shells
@pytest.mark.parametrize("line", [*SAID, EVAL, ERREXIT], ids=["said", "eval", "errexit"])
def test_the_script_gets_what_was_found(shell: str, line: str, tmp_path: Path) -> None:
    done = run(shell, line, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "10.0.0.1 29500 3 8\n", "")


@shells
@pytest.mark.parametrize("line", [*SAID, EVAL, ERREXIT], ids=["said", "eval", "errexit"])
def test_the_script_is_not_started_after_a_refusal(shell: str, line: str, tmp_path: Path) -> None:
    done = run(shell, line, tmp_path, TORCHRUN_JSC_PORT="x")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"torchrun_jsc: error: TORCHRUN_JSC_PORT=\"?x.*\n", done.stderr)


@shells
@pytest.mark.parametrize("broken", ["exit 1", "kill -KILL $$", "no-such-command; exit 127"])
def test_the_script_is_not_started_where_the_command_is_broken(shell: str, broken: str, tmp_path: Path) -> None:
    """It cannot say so by what it prints, as `eval` would need it."""
    (line,) = SAID
    done = run(shell, line, tmp_path, BROKEN=f"eval {broken}")
    assert (done.returncode != 0, done.stdout) == (True, "")
