"""The faults of torchrun_jsc 0.0.19, the Python original: none of them is here.

Most need no second node: they are about what torch is told. tests/slurm and measure/matrix have those of several nodes.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

import torchrun_jsc
from surroundings import step
from torchrun_jsc import _core, apply_fixes, cli
from torchrun_jsc.launch import plan_of, running
from torchrun_jsc.torch_version import torch_version

HERE = Path(__file__).resolve().parent
SCRIPT = str(HERE / "script.py")
TORCH = torch_version()
HAS_LOCAL_ADDR = TORCH.major >= 2

#: Nobody's address (RFC 5737); a literal, so that no name service is asked.
NOBODYS = "198.51.100.7"
C10D = ("--nnodes=2", "--rdzv_backend=c10d")


def own_addresses() -> list[str]:
    """Addresses by which other nodes could reach this one."""
    return [
        address
        for interface in _core.interfaces()
        if interface.is_up and not interface.is_loopback
        for address, _ in interface.addresses
        if not address.startswith("fe80")
    ]


def bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


OWN = own_addresses()
needs_own_address = pytest.mark.skipif(not OWN, reason="this machine has no interface but loopback")


def node(rank: int, **more: str) -> dict[str, str]:
    """The environment of the launcher on a node of a step of two; node 0 is said to host."""
    place = step("n[1-2]", nodes=2, node=rank, name=f"n{rank + 1}")
    return {**place, "TORCHRUN_JSC_HOST_NODE_RANK": "0", **more}


Told = Callable[..., Any]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """Give the LaunchConfig with which torch launches."""

    def of(*argv: str, env: dict[str, str] | None = None) -> Any:
        for name, value in (env or {}).items():
            monkeypatch.setenv(name, value)
        apply_fixes()
        from torch.distributed import run

        seen: list[Any] = []

        def elastic_launch(config: Any, **_: Any) -> Callable[..., Any]:
            seen.append(config)
            return lambda *args: seen.extend(args)

        monkeypatch.setattr(run, "elastic_launch", elastic_launch)
        run.run(run.parse_args([*argv]))
        config, *config.script_args = seen
        return config

    return of


def local_addr(config: Any) -> str | None:
    """What the node publishes, as far as torch has an option for it."""
    published = plan_of(config).local_address
    if HAS_LOCAL_ADDR:
        assert config.local_addr == published
    return published


def launch(*argv: str, env: dict[str, str] | None = None, timeout: float = 200) -> subprocess.CompletedProcess[str]:
    """Run the command itself."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "torchrun_jsc", *argv],
        env={**os.environ, "OMP_NUM_THREADS": "1", **(env or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def test_a_node_publishes_its_own_address_and_not_the_hosts(told: Told) -> None:
    assert local_addr(told(*C10D, f"--rdzv_endpoint={NOBODYS}:29500", SCRIPT, env=node(0))) == NOBODYS


def test_also_where_another_node_becomes_rank_0(told: Told) -> None:
    config = told(*C10D, f"--rdzv_endpoint={NOBODYS}:29500", SCRIPT, env=node(1))
    assert config.rdzv_configs["is_host"] is False
    assert local_addr(config) in [None, *OWN]


@pytest.mark.parametrize("conf", [(), ("--rdzv_conf", "x=1"), ("--rdzv_conf=x=1",)], ids=["none", "words", "word"])
def test_options_as_two_words(conf: tuple[str, ...], told: Told) -> None:
    endpoint = f"{NOBODYS}:29700"
    words = ["--nnodes", "2", "--nproc_per_node", "1", "--rdzv_backend", "c10d", "--rdzv_endpoint", endpoint]
    config = told(*words, *conf, SCRIPT, env=node(0))
    assert config.rdzv_endpoint == endpoint
    assert config.rdzv_configs["is_host"] is True
    assert config.rdzv_configs.get("x") == ("1" if conf else None)
    assert local_addr(config) == NOBODYS


@pytest.mark.parametrize(
    "argv",
    [("--standalone",), ("--nnodes=1", "--rdzv_backend=c10d", "--rdzv_endpoint=localhost:0"), ()],
    ids=["standalone", "port-0", "plain"],
)
def test_a_launch_on_one_node_of_a_step_is_left_alone(argv: tuple[str, ...], told: Told) -> None:
    env = node(1)
    del env["TORCHRUN_JSC_HOST_NODE_RANK"]
    config = told(*argv, SCRIPT, env=env)
    assert "is_host" not in config.rdzv_configs
    assert getattr(config, "local_addr", None) is None


@pytest.mark.launches
def test_a_launch_on_one_node_of_a_step_runs() -> None:
    run = launch("--standalone", SCRIPT, env=node(1))
    assert (run.returncode, run.stdout) == (0, "rank 0 of 1\n"), run.stderr


@pytest.mark.parametrize("endpoint", ["[2001:db8::2]:29667", "[2001:db8::2]"])
def test_an_ipv6_endpoint(endpoint: str, told: Told) -> None:
    config = told(*C10D, "--rdzv_endpoint=" + endpoint, SCRIPT, env=node(0))
    assert local_addr(config) == "2001:db8::2"
    assert config.rdzv_configs["is_host"] is True
    from torch.distributed.elastic.rendezvous.utils import parse_rendezvous_endpoint

    assert parse_rendezvous_endpoint(config.rdzv_endpoint, 29400)[0] == "2001:db8::2"


def test_rdzv_conf_in_the_environment(told: Told) -> None:
    env = node(0, PET_RDZV_CONF="timeout=9,read_timeout=3")
    config = told(*C10D, f"--rdzv_endpoint={NOBODYS}:29500", SCRIPT, env=env)
    assert config.rdzv_configs["is_host"] is True
    assert config.rdzv_configs["read_timeout"] == "3"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--rdzv_conf", "x"],
        ["--rdzv-conf=x"],
        ["--rdzv_configuration", "f"],
        ["--rdzv_endpoint=elsewhere:1", "--local_addr", "y", "--standalone"],
    ],
    ids=lambda arguments: arguments[0],
)
@pytest.mark.parametrize("env", [{}, {"PET_RDZV_CONF": "timeout=9"}], ids=["argument", "environment"])
def test_the_scripts_arguments_are_not_the_launchers(arguments: list[str], env: dict[str, str], told: Told) -> None:
    config = told(*C10D, f"--rdzv_endpoint={NOBODYS}:29500", SCRIPT, *arguments, env=node(0, **env))
    assert config.script_args[-len(arguments) :] == arguments
    assert config.rdzv_configs["is_host"] is True
    assert local_addr(config) == NOBODYS


def test_of_a_repeated_option_the_last_one_counts(told: Told) -> None:
    config = told(*C10D, "--rdzv_endpoint=" + NOBODYS, "--rdzv_conf=a=1", "--rdzv_conf=b=2", SCRIPT, env=node(0))
    assert config.rdzv_configs["is_host"] is True
    assert config.rdzv_configs["b"] == "2"
    assert "a" not in config.rdzv_configs


@pytest.mark.parametrize("conf", [["--rdzv_conf", ""], ["--rdzv_conf="]])
def test_an_empty_option(conf: list[str], told: Told) -> None:
    config = told(*C10D, "--rdzv_endpoint=" + NOBODYS, *conf, SCRIPT, env=node(0))
    assert config.rdzv_configs["is_host"] is True


@pytest.mark.parametrize("conf", [["--rdzv_c=a=1"], ["--rdzv_c", "a=1"]])
def test_an_abbreviated_option(conf: list[str], told: Told) -> None:
    config = told(*C10D, "--rdzv_en=" + NOBODYS, *conf, SCRIPT, env=node(0))
    assert config.rdzv_configs["is_host"] is True
    assert config.rdzv_configs["a"] == "1"
    assert local_addr(config) == NOBODYS


def test_dashes_are_torchs_matter(told: Told, capfd: Any) -> None:
    """Releases before 2.0 do not know them, and say so."""
    argv = [*C10D, f"--rdzv-endpoint={NOBODYS}:1", "--rdzv-conf", "a=1", SCRIPT]
    if HAS_LOCAL_ADDR:
        assert told(*argv, env=node(0)).rdzv_configs["a"] == "1"
        return
    with pytest.raises(SystemExit) as exit_:
        told(*argv, env=node(0))
    assert exit_.value.code == 2
    assert "unrecognized arguments" in capfd.readouterr().err


@pytest.mark.parametrize("old_solution", ["0", "1"])
@pytest.mark.parametrize("arg_patching", ["0", "1"])
def test_an_address_without_a_name(
    old_solution: str, arg_patching: str, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise socket.herror(1, "Unknown host")

    for name in ("gethostbyaddr", "getnameinfo"):
        monkeypatch.setattr(socket, name, refuse)
    env = node(0, TORCHRUN_JSC_PREFER_OLD_SOLUTION=old_solution, TORCHRUN_JSC_PREFER_ARG_PATCHING=arg_patching)
    address = OWN[0] if OWN else NOBODYS
    config = told(*C10D, f"--rdzv_endpoint={bracketed(address)}:29667", SCRIPT, env=env)
    assert plan_of(config).local_address == address or (arg_patching == "0" and not OWN)
    if HAS_LOCAL_ADDR:
        # The old solution gives it by torch's functions, and the argument stays as it was.
        assert config.local_addr == (None if old_solution == "1" else plan_of(config).local_address)
    assert ("is_host" in config.rdzv_configs) == (arg_patching == "1")


def test_no_endpoint_without_argument_patching(told: Told) -> None:
    config = told(SCRIPT, env={"TORCHRUN_JSC_PREFER_ARG_PATCHING": "0"})
    assert "is_host" not in config.rdzv_configs


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PREFER_ARG_PATCHING", "maybe"),
        ("PREFER_OLD_SOLUTION", "2"),
        ("NODE_RANK", "first"),
        ("NODE_RANK", "-1"),
        ("HOST_NODE_RANK", "1.0"),
    ],
)
def test_meaningless_settings_are_refused(name: str, value: str, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    monkeypatch.setenv("TORCHRUN_JSC_" + name, value)
    with pytest.raises(SystemExit) as exit_:
        cli.main([*C10D, f"--rdzv_endpoint={NOBODYS}:29500", SCRIPT])
    assert exit_.value.code == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f'torchrun_jsc: error: TORCHRUN_JSC_{name}="{value}": not ')


@pytest.mark.parametrize(
    "settings",
    [
        {"NODE_RANK": " 0", "HOST_NODE_RANK": "00"},
        {"NODE_RANK": "00", "HOST_NODE_RANK": ""},
        {"NODE_RANK": "", "HOST_NODE_RANK": " 0 "},
        {"PREFER_ARG_PATCHING": "true"},
        {"PREFER_ARG_PATCHING": ""},
        {"PREFER_ARG_PATCHING": "Yes "},
    ],
    ids=str,
)
def test_spellings_of_settings(settings: dict[str, str], told: Told) -> None:
    env = node(0, **{"TORCHRUN_JSC_" + name: value for name, value in settings.items()})
    config = told(*C10D, f"--rdzv_endpoint={NOBODYS}:29500", SCRIPT, env=env)
    # With nothing but empty settings the address decides, which is nobody's.
    assert config.rdzv_configs["is_host"] is any(
        env.get("TORCHRUN_JSC_" + n, "").strip() for n in ("NODE_RANK", "HOST_NODE_RANK")
    )


@pytest.mark.parametrize(
    ("conf", "is_host"),
    [
        ("a=1, is_host=0", "0"),
        ("is_host=1,is_host=0", "0"),
        ("is_host=0,is_host=1", "1"),
        (" is_host = no ", "no"),
    ],
)
def test_the_users_own_is_host(conf: str, is_host: str, told: Told) -> None:
    config = told(*C10D, f"--rdzv_endpoint={NOBODYS}:29500", "--rdzv_conf", conf, SCRIPT, env=node(0))
    assert config.rdzv_configs["is_host"] == is_host
    assert plan_of(config).is_host is (is_host == "1")
    assert plan_of(config).reasons["is_host"] == "is_host in --rdzv_conf"


@pytest.mark.parametrize("conf", ["a=1,", "a", "a=", ",a=1"])
def test_torchs_message_for_what_it_cannot_read(conf: str, told: Told) -> None:
    with pytest.raises(ValueError, match=r"rendezvous configuration|must"):
        told(*C10D, f"--rdzv_endpoint={NOBODYS}:29500", "--rdzv_conf", conf, SCRIPT, env=node(0))


def test_a_file_as_the_store(told: Told, tmp_path: Path) -> None:
    endpoint = str(tmp_path / "store")
    config = told(*C10D, "--rdzv_endpoint=" + endpoint, "--rdzv_conf=store_type=file", SCRIPT, env=node(0))
    assert config.rdzv_endpoint == endpoint
    assert "is_host" not in config.rdzv_configs
    assert getattr(config, "local_addr", None) is None


@pytest.mark.parametrize("backend", ["etcd", "etcd-v2"])
def test_the_etcd_server_is_no_node(backend: str, told: Told) -> None:
    env = node(0)
    del env["TORCHRUN_JSC_HOST_NODE_RANK"]
    config = told("--nnodes=2", "--rdzv_backend=" + backend, f"--rdzv_endpoint={NOBODYS}:2379", SCRIPT, env=env)
    assert local_addr(config) in [None, *OWN]
    assert "is_host" not in config.rdzv_configs


def test_of_two_agents_on_the_host_node_one_hosts(told: Told) -> None:
    endpoint = f"--rdzv_endpoint={NOBODYS}:29500"
    assert told(*C10D, endpoint, SCRIPT, env=node(0)).rdzv_configs["is_host"] is True
    assert told(*C10D, endpoint, SCRIPT, env=node(0, SLURM_LOCALID="1")).rdzv_configs["is_host"] is False


@needs_own_address
def test_two_agents_without_slurm_keep_torchs_retry(told: Told) -> None:
    """An explicit is_host=1 switches it off."""
    config = told(*C10D, f"--rdzv_endpoint={bracketed(OWN[0])}:29500", SCRIPT)
    assert "is_host" not in config.rdzv_configs
    assert plan_of(config).is_host is True
    assert matches(config, OWN[0])


@pytest.mark.launches
@pytest.mark.parametrize("argv", [("--standalone",), ("--nnodes=1",)], ids=["standalone", "static"])
def test_run_path(argv: tuple[str, ...]) -> None:
    run = launch(*argv, "--run_path", SCRIPT)
    assert (run.returncode, run.stdout) == (0, "rank 0 of 1\n"), run.stderr


def test_help_is_torchruns(capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.distributed import run

    monkeypatch.setattr(sys, "argv", ["torchrun_jsc"])
    # Some releases of torch return where argparse would exit with 0, and so does this.
    with contextlib.suppress(SystemExit):
        cli.main(["--help"])
    out = capfd.readouterr().out
    assert out == run.get_args_parser().format_help()
    assert "--max_restarts" in out or "--max-restarts" in out


@pytest.mark.launches
@pytest.mark.parametrize(
    "command",
    [
        ["-m", "torchrun_jsc"],
        ["-m", "torchrun_jsc.run"],
        ["-m", "torchrun_jsc.run_old"],
        [str(Path(torchrun_jsc.__file__).with_name("run.py"))],
    ],
    ids=["package", "run", "run_old", "file"],
)
def test_ways_to_start_it(command: list[str]) -> None:
    words = [sys.executable, "-W", "ignore", *command, "--standalone", SCRIPT]
    run = subprocess.run(words, capture_output=True, text=True, timeout=200, check=False)
    assert (run.returncode, run.stdout) == (0, "rank 0 of 1\n"), run.stderr


@pytest.mark.parametrize(
    "statement",
    [
        "import torchrun_jsc",
        "from torchrun_jsc import resolve_endpoint, apply_fixes",
        "import torchrun_jsc; torchrun_jsc.apply_fixes; torchrun_jsc.main",
        "import torchrun_jsc.run, torchrun_jsc.run_old, torchrun_jsc.patching",
        "import torchrun_jsc; torchrun_jsc.run.main; torchrun_jsc.patching.fix_torch_run",
        "import torchrun_jsc.patching; torchrun_jsc.patching.get_torch_ver()",
    ],
)
def test_importing_it_does_not_import_torch(statement: str) -> None:
    words = [sys.executable, "-c", statement + "; import sys; sys.exit('torch' in sys.modules)"]
    run = subprocess.run(words, stderr=subprocess.PIPE, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")


def matches(config: Any, host: str) -> Any:
    """What torch's check of the host machine says in this launch."""
    from torch.distributed.elastic.rendezvous import c10d_rendezvous_backend

    with running(config, frozenset()):
        return c10d_rendezvous_backend._matches_machine_hostname(host)


def open_files() -> int:
    """How many this process has, where the system tells."""
    place = Path("/proc/self/fd")
    return len(list(place.iterdir())) if place.exists() else 0


@pytest.mark.parametrize("address", OWN or [pytest.param("", marks=needs_own_address)])
@pytest.mark.parametrize("slurm", [True, False], ids=["slurm", "no-slurm"])
def test_every_address_of_every_interface_is_this_node(address: str, slurm: bool, told: Told) -> None:
    env = node(1) if slurm else {}
    before = open_files()
    config = told(
        *C10D,
        f"--rdzv_endpoint={bracketed(address)}:29500",
        SCRIPT,
        env={**env, "TORCHRUN_JSC_PREFER_ARG_PATCHING": "0"},
    )
    # Node ranks say that node 0 hosts; they are not used.
    assert matches(config, address) is True
    assert "is_host" not in config.rdzv_configs
    assert open_files() <= before


@pytest.mark.parametrize("slurm", [True, False], ids=["slurm", "no-slurm"])
def test_an_address_of_no_interface_is_not_this_node(slurm: bool, told: Told) -> None:
    env = node(0) if slurm else {}
    endpoint = f"--rdzv_endpoint={NOBODYS}:29500"
    config = told(*C10D, endpoint, SCRIPT, env={**env, "TORCHRUN_JSC_PREFER_ARG_PATCHING": "0"})
    assert "is_host" not in config.rdzv_configs
    assert matches(config, NOBODYS) is False


def test_blanks_around_the_endpoint(told: Told) -> None:
    config = told(*C10D, "--rdzv_endpoint", f" {NOBODYS}:1 ", SCRIPT, env=node(0))
    assert local_addr(config) == NOBODYS


@needs_own_address
def test_the_endpoint_says_who_hosts(told: Told) -> None:
    """And not the node with id 0, where nobody set a rank."""
    env = node(1)
    del env["TORCHRUN_JSC_HOST_NODE_RANK"]
    config = told(*C10D, f"--rdzv_endpoint={bracketed(OWN[0])}:29500", SCRIPT, env=env)
    assert config.rdzv_configs["is_host"] is True


def test_the_static_backend_stays_as_it_was(told: Told) -> None:
    config = told("--nnodes=2", "--node_rank=1", "--master_addr=" + NOBODYS, "--master_port=29501", SCRIPT, env=node(1))
    assert config.rdzv_backend == "static"
    assert config.rdzv_endpoint == f"{NOBODYS}:29501"
    assert "is_host" not in config.rdzv_configs


@needs_own_address
@pytest.mark.skipif(not HAS_LOCAL_ADDR, reason="torch has the option since 2.0")
def test_the_users_own_address_stays(told: Told) -> None:
    config = told(*C10D, "--rdzv_endpoint=" + NOBODYS, "--local_addr=" + OWN[-1], SCRIPT, env=node(0))
    assert config.local_addr == OWN[-1]
