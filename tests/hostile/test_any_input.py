"""Any environment and any arguments: a plan, torchrun's own answer, or one line of ours and exit status 2."""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Callable, Iterator, NamedTuple
from unittest import mock

import pytest
from hypothesis import event, example, given
from torch.distributed import run as torch_run

import torchrun_jsc
from hostile.inputs import ARGUMENTS, ENDPOINT_ARGUMENTS, ENVIRONMENTS, VALUES, is_harmless
from surroundings import STEP
from torchrun_jsc import cli, endpoint, explain, patcher
from torchrun_jsc.errors import TorchrunJscError

OURS = str(Path(torchrun_jsc.__file__).parent)
TORCHS = str(Path(torch_run.__file__).parent.parent)
MIB = 2**20

# torch warns of much, and the tests' own settings make errors of warnings.
pytestmark = pytest.mark.filterwarnings("ignore")

#: What Python reports when a process or a shell is started.
STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "pty.spawn")


class Outcome(NamedTuple):
    """How a call ended."""

    code: Any
    out: str
    err: str
    error: BaseException | None

    def what(self) -> tuple[Any, ...]:
        """What a user sees of torchrun's own answer."""
        return self.code, type(self.error), str(self.error)


_started: list[str] = []
sys.addaudithook(lambda event, _: _started.append(event) if event in STARTS else None)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is launched, and what torch writes goes to a directory of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(torch_run, "elastic_launch", lambda **_: lambda *_: None)
    yield
    assert not Path(tmp_path, "shell").exists()


def outcome(environ: dict[str, str], call: Callable[[], object]) -> Outcome:
    out, err = io.StringIO(), io.StringIO()
    code, caught = 0, None
    _started.clear()
    with mock.patch.dict(os.environ, environ, clear=True), redirect_stdout(out), redirect_stderr(err):
        try:
            call()
        except SystemExit as stop:
            code = stop.code
        except Exception as error:  # noqa: BLE001
            caught = error
    assert _started == []
    return Outcome(code, out.getvalue(), err.getvalue(), caught)


def whose(error: BaseException) -> str:
    """Whose code raised it: the innermost frame that is ours or torch's tells."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.startswith(OURS):
            return "ours"
        if frame.filename.startswith(TORCHS):
            return "torch's"
    return "nobody's"


def check(found: Outcome) -> bool:
    """Whether it is torch's own answer. Ours must be a success, or one line and exit status 2."""
    if found.error is not None:
        event(f"torch's {type(found.error).__name__}")
        assert whose(found.error) == "torch's", "".join(traceback.format_exception(None, found.error, None))
        return True
    lines = [line for line in found.err.split("\n") if line]
    ours = [line for line in lines if line.startswith("torchrun_jsc: ")]
    assert all(line.isprintable() for line in ours), ours
    errors = [line for line in ours if line.startswith("torchrun_jsc: error: ")]
    if errors:
        assert (found.code, len(errors), lines[-1]) == (2, 1, errors[0]), found
        assert re.match(r'torchrun_jsc: error: [\w -]+(=\S+|=".*")?: ', errors[0]), errors
    event(f"exit status {found.code}, {'an error of ours' if errors else 'no error of ours'}")
    return bool(found.code) and not errors


def peak() -> int:
    """The most memory that this process has had since the last call, in bytes."""
    status = Path("/proc/self/status").read_text()
    (kib,) = re.findall(r"VmHWM:\s+(\d+) kB", status)
    Path("/proc/self/clear_refs").write_text("5")
    return int(kib) * 1024


@pytest.fixture(scope="module")
def torch_is_imported() -> None:
    """And has used what it uses."""
    outcome(STEP, lambda: explain.main(["--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=10.20.0.1:1", "x.py"]))
    outcome(STEP, lambda: torch_run.main(["--nonsense"]))


@pytest.mark.usefixtures("torch_is_imported")
@given(ENVIRONMENTS, ARGUMENTS)
@example({**STEP, "SLURM_STEP_NODELIST": "[0-65535]" * 5}, ["--nnodes=auto", "x.py"])
@example({**STEP, "SLURM_STEP_NODELIST": "n[0-9][0-65535]"}, ["--nnodes=auto", "--rdzv-endpoint=n00:1", "x.py"])
def test_the_launcher(environ: dict[str, str], argv: list[str]) -> None:
    peak()
    before = peak()
    found = outcome(environ, lambda: cli.main(list(argv)))
    assert peak() - before < 50 * MIB
    if check(found):
        patcher.undo()
        assert found.what() == outcome(environ, lambda: torch_run.main(list(argv))).what()
    else:
        # The workers' output is all there is, but for --help.
        assert not found.out or found.out.startswith("usage: "), found


@pytest.mark.usefixtures("torch_is_imported")
@given(ENVIRONMENTS, ARGUMENTS)
def test_explain(environ: dict[str, str], argv: list[str]) -> None:
    found = outcome(environ, lambda: explain.main(list(argv)))
    if not check(found):
        assert all(line.isprintable() for line in found.out.split("\n")), found


@given(ENVIRONMENTS, ENDPOINT_ARGUMENTS)
def test_the_endpoints_command(environ: dict[str, str], argv: list[str]) -> None:
    found = outcome(environ, lambda: endpoint.main(list(argv)))
    assert found.error is None, found
    check(found)
    assert found.code == 0 or found.out in ("", "(exit 2)\n"), found
    assert all(line.isprintable() for line in found.out.split("\n")), found


@given(ENVIRONMENTS, VALUES, VALUES, VALUES, VALUES)
def test_a_scripts_call(environ: dict[str, str], name: str, nodelist: str, number: str, template: str) -> None:
    def call() -> None:
        torchrun_jsc.resolve_endpoint(name, environ=environ)
        torchrun_jsc.resolve_endpoint(
            nodelist=nodelist, host_template=template, node_rank=number, interface=name, environ=environ
        )

    found = outcome({}, call)
    assert found.error is None or isinstance(found.error, TorchrunJscError), found
    # An exception's text ends on a terminal too.
    assert is_harmless(str(found.error)), found
