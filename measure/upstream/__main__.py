"""``python measure upstream``: PyTorch's own tests of torchrun, once with torchrun and once with torchrun_jsc.

Both must have the same results.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Iterator
from xml.etree import ElementTree as ET

import measured
import reliability
from matrix.environment import Unavailable as NoPython
from matrix.environment import environment, uv
from matrix.versions import TORCHES
from slurm.lab import BIN
from surroundings import clean_environment
from upstream.source import PLACE, Unavailable, tests_of

LAUNCHERS = ("torchrun", "torchrun_jsc")
#: Seconds for all tests with one launcher.
LIMIT = 1800


def main() -> int:
    release = version("torch").partition("+")[0]
    try:
        tests = tests_of(release)
        with installed(tests.release, release) as place:
            plain, ours = (results(tests.directory, launcher, place) for launcher in LAUNCHERS)
    except (Unavailable, NoPython) as reason:
        print(f"upstream: skipped: {reason}")
        print("The same cases as tests of this project: tests/patches/test_torchrun_cases.py")
        return 0
    different = sorted(name for name in {**plain, **ours} if plain.get(name) != ours.get(name))
    for name in different:
        print(f"FAIL: {name}: {plain.get(name)} with torchrun, {ours.get(name)} with torchrun_jsc")
    body = [(launcher, *count(found)) for launcher, found in zip(LAUNCHERS, (plain, ours))]
    text = measured.table(("launcher", "passed", "skipped", "failed"), body)
    print(text)
    note = f"{tests.what}. {len(different)} with another result"
    reliability.write("upstream", f"{measured.machine()}, {measured.today()}: {note}.\n\n{text}")
    return 1 if different or "passed" not in plain.values() else 0


@contextmanager
def installed(release: str, here: str) -> Iterator[Path]:
    """Give the programs of an environment with the release that the tests are of: this one, or one of its own."""
    if release == here:
        _install(BIN)
        yield BIN
        return
    print(f"upstream: installing torch {release}", flush=True)
    known = [torch for torch in TORCHES if torch.version == release]
    if not known:
        raise NoPython(f"torch {release} is none of the releases that are run")
    with environment(known[0]) as made:
        _install(made.bin)
        yield made.bin


def _install(place: Path) -> None:
    """Install what the tests import."""
    uv("pip", "install", "--quiet", "--python", str(place / "python"), "expecttest", "psutil", "python-etcd")


def results(directory: Path, launcher: str, place: Path) -> dict[str, str]:
    """Run the tests with one launcher of an environment; return ``passed``, ``skipped`` or ``failed`` of each."""
    PLACE.mkdir(parents=True, exist_ok=True)
    report = PLACE / f"{launcher}.xml"
    report.unlink(missing_ok=True)
    # Neither this project's settings nor those of PyTorch's tree.
    settings = PLACE / "pytest.ini"
    settings.write_text("[pytest]\n")
    files = sorted(str(path) for path in directory.glob("*.py") if "test" in path.stem)
    options = ["-p", "upstream.plugin", "--noconftest", "-p", "no:cacheprovider", "-c", str(settings)]
    env = {
        **clean_environment(),
        "UPSTREAM_LAUNCHER": launcher,
        "PATH": f"{place}:{os.environ['PATH']}",
        "PYTHONPATH": str(Path(__file__).resolve().parents[1]),
    }
    log = PLACE / f"{launcher}.log"
    with log.open("w") as output:
        subprocess.run(
            [str(place / "python"), "-m", "pytest", "-q", *options, f"--junitxml={report}", *files],
            env=env,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=LIMIT,
        )
    print(f"{launcher}: {log.read_text().splitlines()[-1]}", flush=True)
    cases = ET.parse(report).iter("testcase")
    return {f"{case.get('classname')}.{case.get('name')}": _result(case) for case in cases}


def _result(case: ET.Element) -> str:
    if case.find("skipped") is not None:
        return "skipped"
    return "passed" if case.find("failure") is None and case.find("error") is None else "failed"


def count(found: dict[str, str]) -> list[str]:
    """Return how many passed, were skipped, and failed."""
    counted = Counter(found.values())
    return [str(counted[result]) for result in ("passed", "skipped", "failed")]


if __name__ == "__main__":
    sys.exit(main())
