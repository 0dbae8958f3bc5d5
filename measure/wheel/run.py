"""What the installed package must do in an environment without torch: `python run.py VERSION`."""

import os
import platform
import subprocess
import sys
import sysconfig
from pathlib import Path

import torchrun_jsc

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))
from surroundings import step

STEP = step("a[01-02]", nodes=2, node=1, name="a02", per_node=4, local=1)


def run(*module_and_arguments):
    """Run a module of the package, and nothing of this tree."""
    command = [sys.executable, "-W", "error", "-m", *module_and_arguments]
    environment = {"PATH": os.environ["PATH"]}
    done = subprocess.run(command, env=environment, cwd=sys.prefix, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


assert torchrun_jsc.__version__ == sys.argv[1]
assert torchrun_jsc.__file__.startswith(sys.prefix), torchrun_jsc.__file__

names = torchrun_jsc.expand_hostlist("jwb[0098-0101],login")
assert names == ["jwb0098", "jwb0099", "jwb0100", "jwb0101", "login"]
assert torchrun_jsc.fold_hostlist(names) == "jwb[0098-0101],login"
assert any(interface.is_loopback for interface in torchrun_jsc.interfaces())

endpoint = torchrun_jsc.resolve_endpoint("192.0.2.1:29500", environ=STEP)
assert (str(endpoint), endpoint.rank, endpoint.world_size) == ("192.0.2.1:29500", 5, 8)
assert (endpoint.node, endpoint.node_rank, endpoint.nnodes, endpoint.is_host) == ("a02", 1, 2, False)

code, out, err = run("torchrun_jsc.endpoint", "--help")
assert (code, err) == (0, "")
assert out.startswith("usage: python -m torchrun_jsc.endpoint ")
assert run("torchrun_jsc", "x.py") == (2, "", "torchrun_jsc: error: PyTorch is not installed here\n")

threads = "free-threaded " if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
if threads:
    assert not sys._is_gil_enabled(), "importing the package switched the GIL on"
print(f"torchrun_jsc {sys.argv[1]} runs in {threads}Python {platform.python_version()} on {platform.machine()}")
