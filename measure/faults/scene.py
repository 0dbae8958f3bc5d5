"""A job of several nodes that is hurt while it runs."""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Callable, Mapping, NamedTuple, Sequence

from faults.outcome import Outcome
from faults.processes import Process, processes

if TYPE_CHECKING:
    from slurm.lab import Cluster, Lab, Run

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[1]
TASK = str(HERE / "task.sh")
STILL = str(HERE / "still.py")
TRAIN = str(HERE / "train.py")

#: Plain torchrun works here too: the nodes reach one another by their own names. Launchers have time to end.
OPEN = {"OPEN_ETH": "1", "KILL_WAIT": "30"}
#: And Slurm ends what is left of a step.
TRACKED = {**OPEN, "PROCTRACK": "cgroup"}
PORT = 29500
ENDPOINT = f"jwb0001:{PORT}"
#: Seconds that torch waits for the store, by default.
READ_TIMEOUT = 60
#: Seconds after which a job that has not ended counts as hanging.
LIMIT = 300


def until(condition: Callable[[], object], what: str, seconds: float = 300) -> None:
    """Wait for a condition.

    :raises TimeoutError: where it does not come.
    """
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"no {what} after {seconds:.0f} s")
        time.sleep(0.1)


class Scene(NamedTuple):
    """Where one launcher meets one fault."""

    lab: Lab
    #: The launcher's path.
    launcher: str
    #: A directory of its own that all nodes see.
    directory: Path
    #: Those of the cluster.
    switches: Mapping[str, str]

    @property
    def cluster(self) -> Cluster:
        """The cluster, which is started where there is none."""
        return self.lab.cluster(dict(self.switches))

    def job(
        self,
        worker: str = STILL,
        *,
        nodes: int = 2,
        name: str = "job",
        more: Sequence[str] = (),
        around: Sequence[str] = (),
        env: dict[str, str] | None = None,
        kind: type[Job] | None = None,
    ) -> Job:
        """Start a job with the same arguments for both launchers.

        :param more: options of torchrun, the last of which count.
        :param around: the command in front of the launcher.
        """
        given = [f"--nnodes={nodes}", "--nproc-per-node=1", "--rdzv-backend=c10d", f"--rdzv-endpoint={ENDPOINT}"]
        command = [*around, self.launcher, *given, f"--rdzv-id={name}", *more, worker]
        return (kind or Job)(self, self.directory / name, command, nodes, env or {})

    def bare_job(self, name: str) -> Job:
        """Start a job of two nodes to which nothing is given."""
        command = [self.launcher, "--nnodes=auto", "--nproc-per-node=1", STILL]
        return Job(self, self.directory / name, command, 2, {})


class Job:
    """One job. It is over when :meth:`ended` has returned."""

    def __init__(
        self,
        scene: Scene,
        directory: Path,
        command: Sequence[str],
        nodes: int,
        env: dict[str, str],
    ) -> None:
        self.directory = directory
        self.nodes = [f"jwb{number:04}" for number in range(1, nodes + 1)]
        self._absent = env.get("FAULTS_ABSENT")
        self._cluster = scene.cluster
        directory.mkdir(parents=True)
        self.env = {"FAULTS_DIR": str(directory), "FAULTS_KEEP": " ".join(_kept()), **env}
        self._pool = ThreadPoolExecutor(1)
        self._run = self._start([TASK, *command], nodes)
        self._hurt = 0.0

    def _start(self, command: Sequence[str], nodes: int) -> Future[Run]:
        named = [f"--nodelist=jwb[0001-{nodes:04}]"]
        return self._pool.submit(
            self._cluster.srun, command, nodes=nodes, options=named, env=self.env, timeout=LIMIT
        )

    def processes(self, role: str, node: str | None = None) -> list[Process]:
        """Give the processes of one kind, on one node or all."""
        return [found for found in processes(self.directory) if found.role == role and node in (None, found.node)]

    def await_agent(self, node: str) -> int:
        """Return the process id of the launcher of a node, when it is there."""
        self.until(lambda: self.processes("agent", node), f"launcher on {node}")
        return self.processes("agent", node)[0].pid

    def await_workers(self, number: int) -> None:
        """Wait until so many workers have started since the job began."""
        self.until(lambda: len(list(self.directory.glob("started.*"))) >= number, f"{number} workers")

    def steps(self) -> int:
        """Return how far the training has come."""
        return int((self.directory / "steps.0").read_text() or 0)

    def trains(self) -> bool:
        """Whether both workers have done a step."""
        return len(list(self.directory.glob("started.*"))) == len(self.nodes)

    def is_over(self) -> bool:
        """Whether the job has ended."""
        return self._run.done()

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait for a condition while the job runs.

        :raises TimeoutError: where it does not come, or the job is over.
        """
        until(lambda: condition() or self._run.done(), what)
        if not condition():
            raise TimeoutError(f"the job ended, and no {what}\n{self._run.result()}")

    def kill(self, pid: int, number: int) -> None:
        """Send a signal; the time counts from here."""
        self.hurt()
        os.kill(pid, number)

    def hurt(self) -> None:
        """Count the time from here."""
        self._hurt = time.time()

    def stop(self) -> None:
        """Let the workers end, well."""
        (self.directory / "stop").touch()

    def exits(self) -> dict[str, Path]:
        """Give the files that say how launchers ended, by node."""
        numbers = {node: self.directory / f"exit.{number}" for number, node in enumerate(self.nodes)}
        return {node: path for node, path in numbers.items() if node != self._absent}

    def ended(self, *, without: str | None = None) -> Outcome:
        """Wait for the end, and say how it was.

        :param without: a node that does not live any more. The cluster is to be ended then.
        """
        exits = {node: path for node, path in self.exits().items() if node != without}
        if without is None:
            run = self._run.result()
        else:
            until(lambda: all(path.exists() for path in exits.values()), "end of the launchers", LIMIT)
            run = None
        seconds = max((path.stat().st_mtime for path in exits.values() if path.exists()), default=time.time())
        left = self._left(set(exits))
        if run is None:
            self._cluster.down()
            run = self._run.result()
        self._pool.shutdown()
        return Outcome(
            codes={node: int(path.read_text()) if path.exists() else None for node, path in exits.items()},
            seconds=max(0, seconds - self._hurt),
            signals=frozenset(path.read_text() for path in self.directory.glob("signals.*")),
            left=left,
            stderr=run.stderr,
            details=str(run),
        )

    def _left(self, nodes: set[str]) -> int:
        """Count launchers and workers that are still there; Slurm has a moment to end them."""

        def there() -> list[Process]:
            return [found for found in processes(self.directory) if found.node in nodes and found.role != "task"]

        try:
            until(lambda: not there(), "", 5)
        except TimeoutError:
            return len(there())
        return 0


def _kept() -> list[str]:
    """Directories under /tmp that a job cannot do without, if this tree or its Python lie there."""
    needed = [str(TOP), sys.prefix, *sys.path]
    return sorted({"/".join(path.split("/")[:3]) for path in needed if path.startswith("/tmp/")})
