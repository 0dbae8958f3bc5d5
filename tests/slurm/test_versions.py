"""Jobs with other releases of torch than the installed one: rows of measure/matrix.

They install gigabytes each, so they run only where `TORCH_RELEASES` is set: to `ci`, or to releases with commas.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Iterator

import pytest

from matrix.environment import TOP, Installed, Unavailable, environment
from matrix.modes import CI_MODES, Mode
from matrix.run import run
from matrix.versions import CI, find
from slurm.lab import CannotRun, Lab
from surroundings import is_required

CHOSEN = os.environ.get("TORCH_RELEASES", "")
RELEASES = list(CI) if CHOSEN == "ci" else CHOSEN.split(",") if CHOSEN else []

pytestmark = pytest.mark.skipif(not CHOSEN, reason="installs gigabytes: set TORCH_RELEASES=ci, or TORCH_RELEASES=2.4.1")


@pytest.fixture(scope="module", params=RELEASES or ["none"])
def installed(request: pytest.FixtureRequest) -> Iterator[Installed]:
    try:
        with environment(find(request.param), reuse=True) as found:
            yield found
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("mode", CI_MODES, ids=lambda mode: mode.name)
def test_job(installed: Installed, mode: Mode, lab: Lab) -> None:
    if not mode.exists_in(installed.torch):
        pytest.skip("this release has no such switch")
    try:
        cluster = lab.cluster({"NODES": " ".join(mode.nodes)})
    except CannotRun as reason:
        if is_required():
            pytest.fail(str(reason), pytrace=False)
        pytest.skip(str(reason))
    row = run(cluster, installed, mode, CI_MODES.index(mode))
    assert row.is_good, f"{row.result}\n{row.master} {row.ranks}\n{row.details}"


@pytest.mark.skipif(CHOSEN == "ci", reason="takes minutes for each release: name releases in TORCH_RELEASES")
@pytest.mark.timeout(900)
def test_patches(installed: Installed) -> None:
    """What the wrappers do holds for this release too. Launching is what the jobs above do."""
    python = installed.bin / "python"
    if python.parent == Path(sys.executable).parent:
        pytest.skip("they run here anyway")
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not launches", "tests/patches"]
    tests = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)
    assert tests.returncode == 0, tests.stdout[-5000:]
