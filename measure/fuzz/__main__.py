"""``python measure fuzz [TARGET ...]``: run each fuzz target for ``FUZZ_SECONDS`` (600) and note the result.

Stable Rust does. There is no sanitizer, which would have nothing to find in a crate without unsafe code, but debug
assertions are on, so that an overflow is a finding. So is an input that takes a minute or makes the process larger
than 256 MiB. Findings are in ``.build/fuzz/TARGET/findings``; what was mended goes into
``rust/tests/fuzz/corpus``, which `cargo test` replays with small changes.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import measured
import reliability

ROOT = Path(__file__).resolve().parents[2]
FUZZ = ROOT / "rust" / "fuzz"
CORPUS = ROOT / "rust" / "tests" / "fuzz" / "corpus"
BUILD = ROOT / ".build" / "fuzz"
INSTALLED = ROOT / ".build" / "cargo-fuzz"

TARGETS = ("hostlist", "endpoint", "interface", "plan", "environment")
COLUMNS = ("target", "seconds", "executions", "a second", "edges covered", "slowest", "memory", "findings", "run on")

LIMITS = ("-timeout=60", "-rss_limit_mb=256", "-max_len=4096", "-len_control=0")


def main() -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    chosen = parser.parse_args().targets or list(TARGETS)
    if set(chosen) - set(TARGETS):
        parser.error(f"the targets are {', '.join(TARGETS)}")
    seconds = int(os.environ.get("FUZZ_SECONDS") or 600)
    programs = {target: _program(target) for target in _built(chosen)}
    known = {row[0]: row for row in reliability.rows("fuzz")}
    findings = 0
    for target, program in programs.items():
        print(f"fuzz: {target} for {seconds} s", flush=True)
        known[target] = _row(target, _run(target, program, seconds), seconds)
        print("  " + ", ".join(f"{column} {cell}" for column, cell in zip(COLUMNS[1:], known[target][1:])), flush=True)
        findings += len(_findings(target))
        rows = [known[name] for name in TARGETS if name in known]
        reliability.write("fuzz", f"{measured.machine()}, {_rust()}.\n\n{measured.table(COLUMNS, rows)}")
    print(f"fuzz: {findings} findings")
    return 1 if findings else 0


def _built(targets: list[str]) -> list[str]:
    """Build all targets, and return those that are asked for."""
    path = f"{INSTALLED / 'bin'}:{os.environ['PATH']}"
    if shutil.which("cargo-fuzz", path=path) is None:
        install = ["cargo", "install", "--quiet", "--locked", "--root", str(INSTALLED), "cargo-fuzz"]
        subprocess.run(install, check=True)
    build = ["cargo", "fuzz", "build", "--fuzz-dir", str(FUZZ), "--sanitizer", "none", "--debug-assertions"]
    subprocess.run(build, cwd=ROOT, env={**os.environ, "PATH": path}, check=True)
    return list(targets)


def _program(target: str) -> Path:
    """The target's program, where building something else does not change it."""
    (built,) = (FUZZ / "target").glob(f"*/release/{target}")
    folder = BUILD / target
    for name in ("corpus", "findings"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy2(built, folder / "program"))


def _run(target: str, program: Path, seconds: int) -> str:
    """Run a target, and return what it said. A finding ends it."""
    folder = BUILD / target
    command = [
        str(program),
        # What is found is added to the first.
        str(folder / "corpus"),
        str(CORPUS / target),
        *LIMITS,
        f"-max_total_time={seconds}",
        "-print_final_stats=1",
        f"-artifact_prefix={folder / 'findings'}/",
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    said = done.stdout.decode(errors="replace")
    (folder / "log").write_text(said, encoding="utf-8")
    if done.returncode:
        print(said[-4000:], file=sys.stderr)
    return said


def _row(target: str, said: str, seconds: int) -> list[str]:
    def last(pattern: str) -> str:
        return (re.findall(pattern, said) or ["?"])[-1]

    return [
        target,
        str(seconds),
        last(r"number_of_executed_units:\s*(\d+)"),
        last(r"average_exec_per_sec:\s*(\d+)"),
        last(r"\bcov: (\d+)"),
        last(r"slowest_unit_time_sec:\s*(\d+)") + " s",
        last(r"peak_rss_mb:\s*(\d+)") + " MiB",
        str(len(_findings(target))),
        measured.today(),
    ]


def _findings(target: str) -> list[Path]:
    return sorted((BUILD / target / "findings").iterdir())


def _rust() -> str:
    version = subprocess.run(["rustc", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return "Rust " + version.split()[1]


if __name__ == "__main__":
    sys.exit(main())
