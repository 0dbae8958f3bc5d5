"""Every way to launch gets the fixes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from torchrun_jsc import _core

if TYPE_CHECKING:
    from pathlib import Path

WORKER = """\
import json, os, sys
import torch.distributed as dist
seen = {name: os.environ.get(name) for name in os.environ if name.startswith(("TORCHELASTIC_", "MASTER_", "RANK"))}
elastic = getattr(dist, "is_torchelastic_launched", lambda: None)()
print(json.dumps({"elastic": elastic, "argv": sys.argv[1:], **seen}))
"""


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


@pytest.mark.launches
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
