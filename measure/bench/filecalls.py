"""File-system calls: on a parallel file system each is a round trip."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Mapping, Sequence

#: Why there is no number where counting raises.
NO_STRACE = "no strace that may trace here (Debian: strace)"


def file_calls_of(command: Sequence[str], env: Mapping[str, str]) -> int:
    """Count those of a command and of all that it starts.

    :raises FileNotFoundError: without strace.
    :raises subprocess.CalledProcessError: where it may not trace, or the command fails.
    """
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "log"
        strace = ["strace", "-f", "-qq", "-e", "trace=%file", "-e", "signal=none", "-o", str(log)]
        subprocess.run([*strace, *command], env=env, stdout=subprocess.DEVNULL, check=True)
        # A call that another thread interrupts takes two lines.
        return sum("resumed>" not in line for line in log.read_text(encoding="utf-8", errors="replace").splitlines())
