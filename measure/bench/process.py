"""What a script pays for the call, as a whole process: every task of a job does."""

from __future__ import annotations

import subprocess
import sys

from bench.filecalls import NO_STRACE, file_calls_of
from bench.row import Row, fastest
from surroundings import clean_environment, step

#: A step of two nodes and a name that every machine resolves. Not the first task of its node, which would be warned
#: that other nodes cannot reach this name.
STEP = {**clean_environment(), **step("n[1-2]", nodes=2, node=0, name="n1", per_node=2, local=1)}
NOTHING = [sys.executable, "-c", "pass"]
CALL = [sys.executable, "-c", "from torchrun_jsc import resolve_endpoint; resolve_endpoint('localhost')"]


def run(command: list[str]) -> None:
    subprocess.run(command, env=STEP, check=True)


def rows() -> list[Row]:
    run(CALL)  # writes the byte code
    nothing, call = fastest([lambda: run(NOTHING), lambda: run(CALL)], 30)
    limit = (1.5 * nothing + 0.015) * 1000
    note = f"python -c pass: {nothing * 1000:.3g} ms"
    return [Row("process: import and one call", call * 1000, limit, "ms", note=note), file_calls()]


def file_calls() -> Row:
    what = "process: file-system calls more than python -c pass"
    try:
        nothing, call = file_calls_of(NOTHING, STEP), file_calls_of(CALL, STEP)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return Row(what, note=NO_STRACE)
    return Row(what, call - nothing, 119, note=f"python -c pass: {nothing}")
