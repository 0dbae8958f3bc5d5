"""What a script pays for the call, as a whole process: every task of a job does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from row import Row, fastest

#: A step of two nodes and a name that every machine resolves. Not the first task of its node, which would be warned
#: that other nodes cannot reach this name.
STEP = {
    "SLURM_JOB_ID": "4711",
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_NODELIST": "n[1-2]",
    "SLURM_NODEID": "0",
    "SLURM_PROCID": "1",
    "SLURM_LOCALID": "1",
    "SLURM_NTASKS": "4",
    "SLURMD_NODENAME": "n1",
}
NOTHING = [sys.executable, "-c", "pass"]
CALL = [sys.executable, "-c", "from torchrun_jsc import resolve_endpoint; resolve_endpoint('localhost')"]


def run(command: list[str]) -> None:
    foreign = ("SLURM", "TORCHRUN_JSC", "MASTER_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    subprocess.run(command, env={**clean, **STEP}, check=True)


def rows() -> list[Row]:
    run(CALL)  # writes the byte code
    nothing, call = fastest([lambda: run(NOTHING), lambda: run(CALL)], 30)
    limit = (1.5 * nothing + 0.015) * 1000
    note = f"python -c pass: {nothing * 1000:.3g} ms"
    return [Row("process: import and one call", call * 1000, limit, "ms", note=note), file_calls()]


def file_calls() -> Row:
    what = "process: file-system calls more than python -c pass"
    if shutil.which("strace") is None:
        return Row(what, note="no strace (Debian: strace)")
    try:
        nothing, call = count(NOTHING), count(CALL)
    except subprocess.CalledProcessError:
        return Row(what, note="strace may not trace here")
    return Row(what, call - nothing, 119, note=f"python -c pass: {nothing}")


def count(command: list[str]) -> int:
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "log"
        run(["strace", "-f", "-qq", "-e", "trace=%file", "-e", "signal=none", "-o", str(log), *command])
        # A call that another thread interrupts takes two lines.
        return sum("resumed>" not in line for line in log.read_text(encoding="utf-8").splitlines())
