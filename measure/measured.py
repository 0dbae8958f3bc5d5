"""What all commands that measure write into documents: a table, and when and on what it was made."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Iterable, Sequence


def table(columns: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """Return a table. No cell may have a vertical bar."""
    return "".join("| " + " | ".join(cells) + " |\n" for cells in (columns, ["---"] * len(columns), *body))


def machine() -> str:
    """Return on what and with what the command runs."""
    gibibytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} CPUs ({_processor()}), {gibibytes:.0f} GiB, Linux {platform.release().partition('-')[0]}, "
        f"{_slurm()}torch {version('torch').partition('+')[0]}, Python {platform.python_version()}"
    )


def today() -> str:
    """Return the date."""
    return datetime.now(timezone.utc).date().isoformat()


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())


def _slurm() -> str:
    if shutil.which("slurmctld") is None:
        return ""
    said = subprocess.run(["slurmctld", "-V"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return f"Slurm {said.split()[-1]}, "
