"""Input that nobody means: no traceback of ours, nothing raw on the terminal, nothing on stdout."""

import os
import subprocess
import sys
from typing import NamedTuple

import pytest

from surroundings import STEP, clean_environment
from torchrun_jsc import HostlistError, cli, expand_hostlist, explain, fold_hostlist
from torchrun_jsc.messages import is_first_of_node, plain


def run(module, *args, **environ):
    command = [sys.executable, "-m", f"torchrun_jsc{module}", *args]
    return subprocess.run(command, env={**clean_environment(), **environ}, capture_output=True, check=False)


@pytest.mark.parametrize("name", ["SLURM_STEP_NODELIST", "SLURM_NODEID", "MASTER_ADDR", "TORCHRUN_JSC_PORT"])
def test_bytes_that_are_no_text(name):
    done = run(".endpoint", **{**STEP, name: os.fsdecode(b"z\xff\x1b[31m")})
    assert (done.returncode, done.stdout) == (2, b""), done
    assert done.stderr.startswith(b"torchrun_jsc: error: " + name.encode() + b'="z'), done
    assert b"\x1b" not in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_lists_that_are_no_text():
    assert expand_hostlist("n\udcff") == ["n\\udcff"]
    assert fold_hostlist(["n\udcff"]) == "n\\udcff"
    with pytest.raises(HostlistError):
        expand_hostlist("n[\udcff]")


def test_without_stderr_only_a_failure_goes_to_stdout():
    """A shell's `eval` runs it."""
    code = "import os, sys; os.close(2); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    command = [sys.executable, "-c", code, "-m", "torchrun_jsc.endpoint", "--export"]
    done = subprocess.run(command, env={**STEP, "MASTER_ADDR": "$(x)"}, stdout=subprocess.PIPE, check=False)
    assert (done.returncode, done.stdout) == (2, b"(exit 2)\n")


def test_help_in_ascii():
    assert run(".endpoint", "--help", PYTHONIOENCODING="ascii").returncode == 0


@pytest.mark.parametrize(("value", "first"), [("", True), ("0", True), (" 00", True), ("1", False), ("10", False)])
def test_the_first_task_of_a_node(monkeypatch, value, first):
    monkeypatch.setenv("SLURM_LOCALID", value)
    assert is_first_of_node() is first


def test_what_a_terminal_would_act_on_is_written_out():
    assert plain("a\x1b[31m\u202e\udcff é") == "a\\x1b[31m\\u202e\\udcff é"


def test_long_values_are_shortened():
    done = run(".endpoint", **{**STEP, "SLURM_STEP_NODELIST": "n" * 100_000 + "["})
    assert done.returncode == 2, done
    assert done.stderr.startswith(b'torchrun_jsc: error: SLURM_STEP_NODELIST="nnn'), done
    assert done.stderr.endswith(b"at byte 100000\n"), done
    assert len(done.stderr) < 1100


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def ended(capfd):
    """Run the main of a module here, since starting it takes seconds for torch."""
    def run_main(main, *arguments):
        try:
            main(list(arguments))
            code = 0
        except SystemExit as stop:
            code = stop.code
        return Ended(code, *capfd.readouterr())

    return run_main


@pytest.mark.parametrize(
    "arguments",
    [
        ["--node-rank=-1"],
        ["--node-rank=99999999999999999999"],
        ["--nnodes=1:99999999999999999999", "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0"],
    ],
)
def test_numbers_that_torch_takes(ended, arguments):
    done = ended(explain.main, *arguments, "script.py")
    assert done.code == 0, done
    assert "left to torch" in done.out


@pytest.mark.parametrize(
    ("arguments", "as_json"),
    [
        (["--json", "--nnodes=1"], True),
        (["--nnodes=1", "--json"], True),
        (["--nnodes", "1", "--json", "script.py", "--json"], True),
        (["--nnodes=1", "script.py", "--json"], False),
    ],
)
def test_explains_own_option_stands_anywhere_before_the_script(ended, arguments, as_json):
    done = ended(explain.main, *arguments)
    assert done.code == 0, done
    assert done.out.startswith("{\n") is as_json


def test_explain_leaves_complaints_to_torch(ended):
    done = ended(explain.main, "--made-up=1")
    assert done.code == 2, done
    assert "--made-up" in done.err
    assert "--json" not in done.err


def test_explain_shows_no_control_characters(ended):
    options = ["--nnodes=2", "--rdzv-backend=static", "--rdzv-id=\x1b[31m", "--master-addr=10.0.0.1"]
    done = ended(explain.main, *options, "script.py")
    assert done.code == 0, done
    assert "\x1b" not in done.out + done.err


def test_nnodes_auto_needs_a_step(ended, monkeypatch):
    monkeypatch.setenv("SLURM_NODELIST", "a[01-02]")
    done = ended(cli.main, "--nnodes=auto", "script.py")
    assert done.code == 2, done
    assert done.err.startswith("torchrun_jsc: error: --nnodes=auto: not in a Slurm step")
