"""The processes of a job, wherever they run: this machine sees into the cluster's namespaces."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Iterator, NamedTuple

LAUNCHERS = ("torchrun", "torchrun_jsc")


class Process(NamedTuple):
    """One process of a job."""

    pid: int
    node: str
    #: ``task`` is measure/faults/task.sh, ``agent`` the launcher, ``worker`` what it started.
    role: str
    #: Slurm's number of the job.
    job: str


def processes(directory: Path) -> Iterator[Process]:
    """Give those that live now of the job with this directory."""
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            pairs = (path / "environ").read_bytes().split(b"\0")
            environ = dict(os.fsdecode(pair).partition("=")[::2] for pair in pairs)
            words = [os.fsdecode(word) for word in (path / "cmdline").read_bytes().split(b"\0")]
            # A process that has ended, and whose parent does not know it yet, has no command line.
            if environ.get("FAULTS_DIR") == str(directory) and "SLURM_NODEID" in environ and any(words):
                role = _role(environ, words)
                yield Process(int(path.name), environ["SLURMD_NODENAME"], role, environ["SLURM_JOB_ID"])


def _role(environ: dict[str, str], words: list[str]) -> str:
    if "TORCHELASTIC_RUN_ID" in environ:
        return "worker"
    names = [Path(word).name for word in words]
    return "agent" if names[0].startswith("python") and set(LAUNCHERS).intersection(names) else "task"


def has_mapped(pid: int, library: str) -> bool:
    """Whether the process has loaded this library."""
    with suppress(OSError):
        return library in Path(f"/proc/{pid}/maps").read_text()
    return False


def listens(pid: int, port: int) -> bool:
    """Whether somebody listens on this port in the network namespace of the process."""
    end = f":{port:04X}"
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            lines = Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
            if any(fields[1].endswith(end) and fields[3] == "0A" for fields in map(str.split, lines)):
                return True
    return False


def of_node(pid: int) -> list[int]:
    """All processes in the network namespace of this one: those of its node, Slurm's daemons too."""
    mine = os.readlink(f"/proc/{pid}/ns/net")
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.readlink(path / "ns" / "net") == mine:
                found.append(int(path.name))
    return found
