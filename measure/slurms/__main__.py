"""``python measure slurms [SUITE ...]``: the tests that depend on Slurm, with this machine's and with newer ones.

A SUITE is a release of Debian (default: all of them and this machine's own Slurm). The results go to
``docs/compatibility.md``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Iterable, NamedTuple
from xml.etree import ElementTree as ET

import measured
import sections
from slurm.lab import BUILD, HERE, CannotRun, Cluster
from surroundings import clean_environment

TOP = BUILD.parent
DOCUMENT = TOP / "docs" / "compatibility.md"
SECTION = "slurm"

#: This machine's own Slurm, where it has one.
OWN = "own"
NEWER = ("trixie", "forky")
#: What these test depends on the variables, steps and jobs of Slurm.
FILES = (
    "test_cluster.py",
    "test_elastic_or_srun.py",
    "test_explained.py",
    "test_main_job.py",
    "test_no_plumbing.py",
    "test_rank_order.py",
    "test_refused.py",
    "test_resolve.py",
    "test_slurm_as_it_is.py",
)
#: It takes the newer roots itself.
FILE_OF_NEWER = "test_newer_slurm.py"
#: Seconds for all files with one Slurm.
LIMIT = 1800

COLUMNS = ("Slurm", "from", "tests", "passed", "not passed", "run on")


class Row(NamedTuple):
    """What became of one file; as in the table."""

    slurm: str
    suite: str
    tests: str
    passed: str
    others: str
    day: str


def main() -> int:
    suites = sys.argv[1:] or [OWN, *NEWER]
    unknown = sorted({*suites} - {OWN, *NEWER})
    if unknown:
        print(f"slurms: no {', '.join(unknown)}; there are {', '.join((OWN, *NEWER))}", file=sys.stderr)
        return 2
    bad = False
    for suite in suites:
        try:
            rows = run(suite)
        except CannotRun as reason:
            print(reason, file=sys.stderr)
            return 1
        write(rows)
        for row in rows:
            print(f"{row.slurm:8} {row.tests:26} {row.passed:>3} passed, {row.others}", flush=True)
        bad = bad or any(row.others != "-" for row in rows)
    return 1 if bad else 0


def run(suite: str) -> list[Row]:
    """Run the files with the Slurm of a release of Debian.

    :raises CannotRun: where there is none and it cannot be made.
    """
    environment = clean_environment()
    files = list(FILES)
    if suite != OWN:
        environment["SLURM_ROOT"] = made(suite)
        if suite == NEWER[-1]:
            files.append(FILE_OF_NEWER)
    release = release_of(environment.get("SLURM_ROOT", ""))
    print(f"Slurm {release}", flush=True)
    report = BUILD / f"slurms-{suite}.xml"
    report.unlink(missing_ok=True)
    pytest = [sys.executable, "-m", "pytest", "-q", "-n0", f"--junitxml={report}"]
    environment["REQUIRE_SLURM"] = "all"
    subprocess.run([*pytest, *(HERE / file for file in files)], env=environment, cwd=TOP, timeout=LIMIT, check=False)
    passed, others = results(report.read_text(encoding="utf-8"))
    source = "this machine" if suite == OWN else f"Debian {suite}"
    return [
        Row(release, source, file, str(passed.get(file, 0)), ", ".join(others.get(file, [])) or "-", measured.today())
        for file in files
    ]


def made(suite: str) -> str:
    """Return the root of a release of Debian, which is made where it is not there.

    :raises CannotRun: where it cannot be made.
    """
    root = str(BUILD / "slurm" / suite)
    made = subprocess.run([TOP / "scripts" / "slurm-root", suite, root], stderr=subprocess.PIPE, text=True, check=False)
    if made.returncode:
        raise CannotRun(made.stderr.strip())
    return root


def release_of(root: str) -> str:
    """Return the release of Slurm that clusters with this root have.

    :raises CannotRun: where there can be none.
    """
    cluster = Cluster({"NODES": "jwb0001", "SLURM_ROOT": root}, lab=BUILD / f"slurms-{os.getpid()}")
    try:
        return cluster.head(["scontrol", "--version"]).stdout.split()[-1]
    finally:
        cluster.down()


def results(report: str) -> tuple[dict[str, int], dict[str, list[str]]]:
    """Return by file how many tests passed, and the names of the others, out of a JUnit report."""
    passed: dict[str, int] = {}
    others: dict[str, list[str]] = {}
    for case in ET.fromstring(report).iter("testcase"):
        file = case.get("classname", "").rpartition(".")[2] + ".py"
        if case.find("failure") is None and case.find("error") is None and case.find("skipped") is None:
            passed[file] = passed.get(file, 0) + 1
        else:
            others.setdefault(file, []).append("`{}`".format(case.get("name", "")))
    return passed, others


def write(rows: Iterable[Row]) -> None:
    """Write these rows in the place of older ones of the same release and file."""
    old = (Row(*cells) for cells in sections.rows(DOCUMENT, SECTION))
    by_file = {(row.suite, row.tests): row for row in [*old, *rows]}
    every = sorted(by_file.values(), key=lambda row: [int(part) for part in row.slurm.split(".")])
    sections.write(DOCUMENT, SECTION, measured.table(COLUMNS, every))


if __name__ == "__main__":
    sys.exit(main())
