"""Where the system hides what Linux usually shows, as macOS and bare sandboxes do, a launch works as with torchrun."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Callable, Sequence

import pytest

from slurm.lab import REPORT, TORCHRUN_JSC
from surroundings import clean_environment, step

if TYPE_CHECKING:
    from pathlib import Path

WITHOUT_PROC = [
    *("unshare", "--mount", "--net", "sh", "-c"),
    'ip link set lo up && ip address add 10.20.0.1/24 dev lo && mount -t tmpfs none /proc && exec "$@"',
    "-",
]
#: A launch of one node that is told nothing but where its store is.
LAUNCH = ["--nnodes=1", "--nproc-per-node=2", "--rdzv-backend=c10d", "--rdzv-id=1", "--rdzv-endpoint=10.20.0.1:29500"]

#: For a system that does not let a program see its interfaces.
NO_INTERFACES = """\
#include <errno.h>
int getifaddrs(void **list) { (void)list; errno = EACCES; return -1; }
"""

#: The only node of a step.
ALONE = step("n1", nodes=1, node=0, name="n1")

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def blind(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library in which listing the interfaces fails."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    library = tmp_path_factory.mktemp("blind") / "blind.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)], input=NO_INTERFACES, text=True, check=True
    )
    return library


@pytest.fixture(params=["no /proc", "no /proc and no interfaces"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    """Run a command where these are missing."""
    if subprocess.run([*WITHOUT_PROC, "true"], capture_output=True, check=False).returncode:
        pytest.skip("/proc cannot be hidden here")
    preload = {}
    if request.param != "no /proc":
        preload["LD_PRELOAD"] = str(request.getfixturevalue("blind"))

    def command(words: Sequence[str], **env: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*WITHOUT_PROC, *words],
            env={**clean_environment(), **preload, "OMP_NUM_THREADS": "1", **env},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done
        assert "Traceback" not in done.stderr, done
        return done

    return command


def reports(done: subprocess.CompletedProcess[str]) -> list[dict]:
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_that_it_is_hidden(run: Run, request: pytest.FixtureRequest) -> None:
    look = (
        "import os; from torchrun_jsc import _core\n"
        "try: print(os.listdir('/proc'), len(_core.interfaces()) > 0)\n"
        "except OSError: print(os.listdir('/proc'), 'refused')\n"
    )
    expected = "[] True" if request.node.callspec.params["run"] == "no /proc" else "[] refused"
    assert run([sys.executable, "-c", look]).stdout.strip() == expected


@pytest.mark.launches
def test_a_launch_of_two_workers(run: Run) -> None:
    done = run([TORCHRUN_JSC, *LAUNCH, REPORT], **ALONE)
    assert sorted(report["RANK"] for report in reports(done)) == ["0", "1"], done
    assert "torchrun_jsc: " not in done.stderr, done


@pytest.mark.launches
def test_a_strict_preflight(run: Run) -> None:
    done = run([TORCHRUN_JSC, *LAUNCH, REPORT], TORCHRUN_JSC_PREFLIGHT="strict", **ALONE)
    assert sorted(report["RANK"] for report in reports(done)) == ["0", "1"], done
    assert "torchrun_jsc: preflight: all 1 nodes reach one another" in done.stderr.splitlines(), done


def test_explain(run: Run) -> None:
    plan = json.loads(run([sys.executable, "-m", "torchrun_jsc.explain", "--json", *LAUNCH], **ALONE).stdout)
    assert (plan["node"], plan["node_rank"], plan["is_host"]) == ("n1", 0, True)
    assert plan["local_address"] == "10.20.0.1"


def test_an_endpoint_for_a_script(run: Run) -> None:
    words = [sys.executable, "-m", "torchrun_jsc.endpoint", "--export"]
    lines = run(words, **{**ALONE, "MASTER_ADDR": "10.20.0.1", "MASTER_PORT": "29500"}).stdout
    assert "MASTER_ADDR=10.20.0.1" in lines
    assert "RANK=0" in lines
