"""The command runs torchrun with the fixes, or alone where they have nothing to do."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from torchrun_jsc import __main__ as command
from torchrun_jsc import cli

ALONE = ["--standalone", "--nproc-per-node=2", "train.py", "--nnodes", "2"]


@pytest.mark.parametrize(
    "args",
    [
        ["--nproc-per-node=2", "train.py"],
        ["--nnodes=2", "train.py", "--standalone"],
        ["--nproc-per-node", "2", "--standalone", "train.py"],
        ["--standalone", "--nnodes=auto", "train.py"],
        ["--standalone", "--nnodes", "auto", "train.py"],
        ["--standalone"],
        [],
    ],
    ids=" ".join,
)
def test_the_fixes_are_there(args: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["torchrun_jsc", *args])
    assert command.launcher() is cli.main


@pytest.mark.parametrize("variable", ["TORCHRUN_JSC_EXPLAIN", "TORCHRUN_JSC_PORT", "PET_NNODES"])
def test_a_variable_is_read(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["torchrun_jsc", *ALONE])
    monkeypatch.setenv(variable, "1")
    assert command.launcher() is cli.main


def test_a_torch_without_torchrun_is_reported_by_the_fixes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["torchrun_jsc", *ALONE])
    monkeypatch.setitem(sys.modules, "torch.distributed.run", None)
    assert command.launcher() is cli.main


def test_a_job_on_one_machine_loads_nothing_else() -> None:
    code = (
        "import json, sys; from torchrun_jsc.__main__ import launcher; run = launcher();"
        "print(json.dumps([run.__module__, [name for name in sys.modules if name.startswith('torchrun_jsc')]]))"
    )
    done = subprocess.run([sys.executable, "-c", code, *ALONE], stdout=subprocess.PIPE, check=True, text=True)
    assert json.loads(done.stdout) == ["torch.distributed.run", ["torchrun_jsc", "torchrun_jsc.__main__"]]
