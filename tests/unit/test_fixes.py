"""`apply_fixes`: which torch is supported, and that every way to launch gets the fixes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Iterator

import pytest

import torchrun_jsc
from torchrun_jsc import TorchrunJscError, _core, apply_fixes, cli, patcher, patching, torch_version
from torchrun_jsc.patches.table import PATCHES

if TYPE_CHECKING:
    from pathlib import Path

WORKER = """\
import json, os, sys
import torch.distributed as dist
seen = {name: os.environ.get(name) for name in os.environ if name.startswith(("TORCHELASTIC_", "MASTER_", "RANK"))}
elastic = getattr(dist, "is_torchelastic_launched", lambda: None)()
print(json.dumps({"elastic": elastic, "argv": sys.argv[1:], **seen}))
"""


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in list(os.environ):
        if name.startswith(("SLURM", "PET_", "TORCH", "MASTER_")):
            monkeypatch.delenv(name)
    patcher.undo()
    yield
    patcher.undo()


def is_applied() -> bool:
    return any(row.applied for row in patcher.report())


class Installed:
    """Let the metadata say that this torch is installed; no function is patched."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.applied: list[str] = []
        self._monkeypatch = monkeypatch
        monkeypatch.setattr(patcher, "apply", lambda _table, torch, **_: self.applied.append(str(torch)))

    def __call__(self, version: Any) -> None:
        def answer(name: str) -> Any:
            assert name == "torch"
            if isinstance(version, Exception):
                raise version
            return version

        self._monkeypatch.setattr(torch_version, "version", answer)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Installed:
    return Installed(monkeypatch)


@pytest.mark.parametrize("version", ["1.8.1", "1.8.2+cu111", "1.0", "0.4.1"])
def test_torch_without_torchrun(version: str, installed: Installed, capfd: Any) -> None:
    installed(version)
    assert apply_fixes(strict=False) is False
    with pytest.raises(TorchrunJscError, match="has no torchrun API"):
        apply_fixes()
    with pytest.raises(SystemExit) as exit_:
        cli.main(["--standalone", "script.py"])
    assert exit_.value.code == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(
        "torchrun_jsc: error: PyTorch {} has no torchrun API".format(version.split("+", maxsplit=1)[0])
    )
    assert not installed.applied


@pytest.mark.parametrize(
    ("version", "read"),
    [
        ("1.9.0", "1.9.0"),
        ("1.9.0a0+gitd69c22d", "1.9.0a0"),
        ("2.6.0a0+git1a2b3c4", "2.6.0a0"),
        ("2.6.0a0+ecf3bae40a.nv25.01", "2.6.0a0"),
        ("2.15.0+cu132", "2.15.0"),
        ("2.16.0.dev20270101+cpu", "2.16.0.dev20270101"),
        ("2.99", "2.99"),
    ],
)
def test_supported(version: str, read: str, installed: Installed, capfd: Any) -> None:
    installed(version)
    assert apply_fixes() is True
    assert installed.applied == [read]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("version", ["3.0.0", "3.0.0a0+git1a2b", "3.0.0.dev20290101", "4.1"])
@pytest.mark.parametrize(("old_solution", "says"), [("0", "--local_addr"), ("1", "functions")])
def test_torch_3_is_tried_with_a_warning(  # noqa: PLR0917
    version: str, old_solution: str, says: str, installed: Installed, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    installed(version)
    monkeypatch.setenv("TORCHRUN_JSC_PREFER_OLD_SOLUTION", old_solution)
    assert apply_fixes() is True
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("torchrun_jsc: warning: PyTorch ")
    assert says in line
    assert installed.applied


@pytest.mark.parametrize("version", [torch_version.PackageNotFoundError("torch"), "main", None])
def test_no_torch(version: Any, installed: Installed) -> None:
    installed(version)
    assert apply_fixes(strict=False) is False
    with pytest.raises(TorchrunJscError, match="PyTorch"):
        apply_fixes(strict=True)


def test_twice_is_once(capfd: Any) -> None:
    from torch.distributed import run

    original = run.config_from_args
    assert apply_fixes() is True
    once = run.config_from_args
    assert once is not original
    assert apply_fixes(strict=False) is True
    assert run.config_from_args is once
    patcher.undo()
    assert run.config_from_args is original
    assert capfd.readouterr().err == ""


def test_the_names_of_0_0_19() -> None:
    assert torchrun_jsc.patching is patching
    assert torchrun_jsc.run.main is cli.main
    assert patching.get_torch_ver() == torch_version.torch_version()
    patching.fix_torch_run()
    assert is_applied()
    assert not patcher.functions_publish()
    patching.fix_torch_run_old()
    torch = torch_version.torch_version()
    applied = {row.patch for row in patcher.report() if row.applied}
    assert applied == {patch for patch in PATCHES if patch.fits(torch)}


def own_address() -> str:
    for interface in _core.interfaces():
        if interface.is_up and not interface.is_loopback:
            for address, _ in interface.addresses:
                if ":" not in address:
                    return address
    pytest.skip("this machine has no interface but loopback")


WAYS = {
    "sys.argv": """\
import sys
sys.argv = ["torchrun", *ARGV]
from torch.distributed.run import main
main()
""",
    "run.main": """\
from torch.distributed import run
run.main(ARGV)
""",
    "run.run": """\
from torch.distributed import run
run.run(run.get_args_parser().parse_args(ARGV))
""",
    "launch.main": """\
from torch.distributed import launch
launch.main(ARGV)
""",
    "elastic_launch of a function": """\
from torch.distributed.launcher import elastic_launch, LaunchConfig
config = LaunchConfig(
    min_nodes=1, max_nodes=1, nproc_per_node=1, rdzv_backend="c10d", rdzv_endpoint=ENDPOINT, run_id="7",
    start_method="spawn", monitor_interval=0.2, rdzv_configs={"read_timeout": 20},
)
if __name__ == "__main__":
    (line,) = elastic_launch(config, worker)().values()
    print(line)
""",
    "elastic_launch of a program": """\
import sys
from torch.distributed.launcher.api import elastic_launch, LaunchConfig
config = LaunchConfig(
    min_nodes=1, max_nodes=1, nproc_per_node=1, rdzv_backend="c10d", rdzv_endpoint=ENDPOINT, run_id="7",
    monitor_interval=0.2, rdzv_configs={"read_timeout": 20},
)
elastic_launch(config, sys.executable)("-W", "ignore", *ARGV[-2:])
""",
}

PROGRAM = """\
import json, os
def worker():
    import torch.distributed as dist
    seen = {{name: os.environ[name] for name in os.environ if name.startswith(("TORCHELASTIC_", "MASTER_", "RANK"))}}
    elastic = getattr(dist, "is_torchelastic_launched", lambda: None)()
    return json.dumps({{"elastic": elastic, "argv": ["x"], **seen}})

ENDPOINT = {endpoint!r}
ARGV = {argv!r}
if __name__ == "__main__":
    import torchrun_jsc
    torchrun_jsc.apply_fixes(strict=True)
    from torch.distributed.launcher import api
    launch_agent = api.launch_agent
    def see(config, *args, **kwargs):
        try:
            return launch_agent(config, *args, **kwargs)
        finally:
            from torchrun_jsc.launch import plan_of
            print("published", plan_of(config).local_address, plan_of(config).is_host)
    api.launch_agent = see
{way}
"""


@pytest.mark.parametrize("way", WAYS)
def test_ways_to_launch(way: str, tmp_path: Path) -> None:
    address = own_address()
    with socket.socket() as free:
        free.bind((address, 0))
        endpoint = f"{address}:{free.getsockname()[1]}"
    worker = tmp_path / "worker.py"
    worker.write_text(WORKER)
    argv = ["--nnodes=1", "--nproc_per_node=1", "--rdzv_backend=c10d", "--rdzv_endpoint=" + endpoint, "--rdzv_id=7"]
    if way == "launch.main":
        argv.append("--use_env")
    indented = "".join("    " + line for line in WAYS[way].splitlines(keepends=True))
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(endpoint=endpoint, argv=[*argv, str(worker), "x"], way=indented))
    run = subprocess.run(
        [sys.executable, "-W", "ignore", str(program)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert f"published {address} True" in lines
    (seen,) = (json.loads(line) for line in lines if line.startswith("{"))
    # torchrun alone gives the machine's own name, apart from 2.5, which gives the endpoint.
    assert seen["MASTER_ADDR"] == address
    assert seen["argv"] == ["x"]
    # What torchrun gives its workers, and what torch makes of it.
    assert seen["elastic"] in (True, None)
    assert seen["TORCHELASTIC_RUN_ID"] == "7"
    assert {"TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_USE_AGENT_STORE"} <= set(seen)
