"""Drives tests/slurm/cluster from Python."""

from __future__ import annotations

import ipaddress
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, NamedTuple, Sequence

from surroundings import clean_environment

HERE = Path(__file__).resolve().parent
CLUSTER = str(HERE / "cluster")
BUILD = HERE.parent.parent / ".build"
REPORT = str(HERE / "report.py")
WORKER = str(HERE / "worker.py")
FORKED = str(HERE / "forked.py")

# The Slurm of all clusters but those of a test that is about another one. Read before tests take it for a job's.
ROOT = os.environ.get("SLURM_ROOT", "")

# Not resolved: a link to the interpreter is what makes a virtual environment.
BIN = Path(sys.executable).parent
TORCHRUN = str(BIN / "torchrun")
TORCHRUN_JSC = str(BIN / "torchrun_jsc")

FAST = (ipaddress.ip_network("10.20.0.0/24"), ipaddress.ip_network("fd00:20::/64"))

# `cluster up` ends with this status where there can be no cluster.
CANNOT_RUN = 3


class CannotRun(Exception):  # noqa: N818 (a reason to skip, not an error)
    """This machine cannot have a cluster; says why."""


class Run(NamedTuple):
    """A finished command. Lines of a task start with its number, as in `0: text`."""

    command: str
    code: int
    stdout: str
    stderr: str
    #: Seconds from the start to each line of both, with the line.
    seen: Sequence[tuple[float, str]] = ()

    def __str__(self) -> str:
        parts = (self.command, f"exit code {self.code}", "--- stdout", self.stdout, "--- stderr", self.stderr)
        return "\n".join(parts)

    def ranks(self) -> list[dict]:
        """What the workers reported, by rank."""
        lines = [line.partition("{") for line in self.stdout.splitlines()]
        reports = [json.loads(brace + text) for _, brace, text in lines if brace]
        return sorted(reports, key=lambda report: int(report["RANK"]))

    def errors(self, task: int) -> list[str]:
        """What one task wrote to stderr."""
        label = f"{task}: "
        return [line[len(label) :] for line in self.stderr.splitlines() if line.startswith(label)]

    def seconds_until(self, text: str) -> float:
        """From the start to the first line that has `text`."""
        return min(after for after, line in self.seen if text in line)


class Reader:
    """Reads a pipe to its end, and notes when each line came."""

    def __init__(self, pipe: IO[str]) -> None:
        self.seen: list[tuple[float, str]] = []
        self._pipe = pipe
        self._start = time.monotonic()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._pipe:
            for line in self._pipe:
                self.seen.append((time.monotonic() - self._start, line))

    def text(self) -> str:
        """All of it; waits for the end."""
        self._thread.join()
        return "".join(line for _, line in self.seen)


def environment(lab: Path) -> dict[str, str]:
    """What tests/slurm/cluster needs to find its commands and the cluster in `lab`."""
    return {"PATH": "{}:{}".format(BIN, os.environ["PATH"]), "LAB": str(lab)}


def down(env: dict[str, str]) -> None:
    subprocess.run([CLUSTER, "down"], env=env, check=True, timeout=60)


class Cluster:
    """A running cluster; `switches` are the settings that tests/slurm/cluster describes."""

    def __init__(self, switches: dict[str, str], lab: Path) -> None:
        self.switches = switches
        self.env = environment(lab)
        self._start()

    def _start(self) -> None:
        env = {**self.env, "SLURM_ROOT": ROOT, **self.switches}
        up = subprocess.run([CLUSTER, "up"], env=env, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
        if up.returncode == CANNOT_RUN:
            raise CannotRun(up.stderr.strip())
        if up.returncode:
            raise RuntimeError(up.stderr)

    def down(self) -> None:
        down(self.env)

    def head(
        self,
        command: Sequence[str],
        *,
        env: dict[str, str] | None = None,
        timeout: float = 120,
        cwd: Path | None = None,
    ) -> Run:
        """Run a command on the head node. If it hangs, the cluster is started anew and TimeoutError raised."""
        return self._run(["head"], command, env=env, timeout=timeout, cwd=cwd)

    def node(self, name: str, command: Sequence[str], *, timeout: float = 120) -> Run:
        """Run a command on a node, outside any job; otherwise as `head`."""
        return self._run(["node", name], command, env=None, timeout=timeout, cwd=None)

    def _run(
        self,
        where: Sequence[str],
        command: Sequence[str],
        *,
        env: dict[str, str] | None,
        timeout: float,
        cwd: Path | None,
    ) -> Run:
        process = subprocess.Popen(
            [CLUSTER, *where, *command],
            env={**clean_environment(), "OMP_NUM_THREADS": "1", **self.env, **(env or {})},
            cwd=cwd or HERE,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        stdout, stderr = Reader(process.stdout), Reader(process.stderr)
        try:
            process.wait(timeout)
        except BaseException as error:
            # Ending the whole cluster is the one way that leaves no process of the job behind.
            self.down()
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            self._start()
            late = Run(shlex.join(command), -1, stdout.text(), stderr.text())
            raise TimeoutError(f"no end after {timeout} s: {late}") from None
        texts = stdout.text(), stderr.text()
        return Run(shlex.join(command), process.returncode, *texts, [*stdout.seen, *stderr.seen])

    def srun(
        self,
        command: Sequence[str],
        *,
        nodes: int = 2,
        options: Sequence[str] = (),
        env: dict[str, str] | None = None,
        timeout: float = 120,
    ) -> Run:
        """Run a command once on each node, or as often as `options` say."""
        tasks = [] if any("ntasks" in option for option in options) else ["--ntasks-per-node=1"]
        # The file of hosts says how many there are, and Slurm 26.05 takes no other word for it.
        size = [] if "--distribution=arbitrary" in options else [f"--nodes={nodes}"]
        srun = ["srun", "--label", *size, *tasks, *options]
        return self.head([*srun, *command], env=env, timeout=timeout)

    def sbatch(self, script: Path, *, options: Sequence[str] = (), timeout: float = 120) -> Run:
        """Run a batch script in its own directory. The result is that of the script, not of sbatch."""
        # `sbatch --wait` looks for the job's end at intervals of up to half a minute.
        steps = (
            'id=$(sbatch --parsable --output=out --error=err "$@" "$0")',
            "srun --quiet --dependency=afterany:$id true",
            'scontrol show job --oneliner $id | grep -o "ExitCode=[0-9]*"',
        )
        shell = ["sh", "-c", " && ".join(steps), str(script), *options]
        run = self.head(shell, cwd=script.parent, timeout=timeout)
        if run.code:
            return run
        code = int(run.stdout.partition("=")[2])
        out, err = ((script.parent / name).read_text(encoding="utf-8") for name in ("out", "err"))
        return Run(str(script), code, out, err)

    def is_fast(self, host: str) -> bool:
        """Whether a name or an address is on the fast network, by the head's hosts file."""
        for line in self.head(["cat", "/etc/hosts"]).stdout.splitlines():
            address, *names = line.split()
            if host in names:
                host = address
                break
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        return any(address in network for network in FAST)


class Lab:
    """Keeps one cluster up for consecutive tests that want the same one."""

    def __init__(self) -> None:
        self._cluster: Cluster | None = None
        # One directory for each run of the tests, so that two at once do not share a cluster.
        self._lab = BUILD / f"test-{os.getpid()}"
        for left in BUILD.glob("test-*"):
            if not Path("/proc", left.name[len("test-") :]).exists():
                down(environment(left))

    def cluster(self, switches: dict[str, str]) -> Cluster:
        if self._cluster is None or self._cluster.switches != switches:
            self.down()
            self._cluster = Cluster(switches, self._lab)
        return self._cluster

    def down(self) -> None:
        if self._cluster is not None:
            self._cluster.down()
            self._cluster = None
