"""Programs that call torch's run() with a namespace of their own: what they set stays, and all nodes agree."""

from __future__ import annotations

from argparse import Namespace
from typing import Any, Callable

import pytest
from torch.distributed import launch, run

from torchrun_jsc import SettingError, apply_fixes
from torchrun_jsc.launch import plan_of

#: Nodes that are called by their addresses, which are nobody's (RFC 5737), so that no name service is asked.
NODES = ("198.51.100.7", "198.51.100.8")
PLACE = "198.51.100.9"

Config = Any
#: From what the launchers of two nodes give torch to their configs.
Told = Callable[[Callable[[int], Namespace]], "list[Config]"]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    def of(namespace: Callable[[int], Namespace]) -> list[Config]:
        apply_fixes()
        seen: list[Config] = []

        def elastic_launch(config: Config, **_: Any) -> Callable[..., None]:
            seen.append(config)
            return lambda *_: None

        monkeypatch.setattr(run, "elastic_launch", elastic_launch)
        for node, name in enumerate(NODES):
            monkeypatch.setenv("SLURM_NODEID", str(node))
            monkeypatch.setenv("SLURM_PROCID", str(node))
            monkeypatch.setenv("SLURMD_NODENAME", name)
            run.run(namespace(node))
        return seen

    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    monkeypatch.setenv("SLURM_STEP_ID", "0")
    monkeypatch.setenv("SLURM_STEP_NODELIST", "198.51.100.[7-8]")
    return of


def laid_over_defaults(**options: Any) -> Namespace:
    """As accelerate makes it."""
    namespace, _ = run.get_args_parser().parse_known_args(["train.py"])
    for name, value in options.items():
        setattr(namespace, name, value)
    return namespace


def made_by_hand(**options: Any) -> Namespace:
    """With torch's defaults, but not by its parser."""
    return Namespace(**{**vars(laid_over_defaults()), **options})


def ranks(configs: list[Config]) -> list[Any]:
    assert {config.rdzv_backend for config in configs} == {"static"}
    assert all(plan_of(config).untouched is not None for config in configs)
    return [config.rdzv_configs["rank"] for config in configs]


made = pytest.mark.parametrize("make", [laid_over_defaults, made_by_hand])


@made
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=str)
@pytest.mark.parametrize(
    "place", [{"rdzv_endpoint": f"{PLACE}:29511"}, {"master_addr": PLACE, "master_port": "29511"}], ids=str
)
def test_ranks_and_a_place_stay(told: Told, make: Any, order: tuple[int, int], place: dict[str, str]) -> None:
    configs = told(lambda node: make(nnodes="2", node_rank=order[node], **place))
    assert ranks(configs) == list(order)
    assert {config.rdzv_endpoint for config in configs} == {f"{PLACE}:29511"}
    assert {config.run_id for config in configs} == {"none"}


@made
@pytest.mark.parametrize(
    "nowhere",
    [{}, {"rdzv_endpoint": "None:29500"}, {"master_addr": "None", "master_port": "29500"}, {"rdzv_backend": "c10d"}],
    ids=str,
)
def test_ranks_without_a_place(told: Told, make: Any, nowhere: dict[str, str]) -> None:
    """accelerate writes None where it was given no address."""
    first, second = told(lambda node: make(nnodes="2", node_rank=node, **nowhere))
    assert first.rdzv_backend == second.rdzv_backend == "c10d"
    assert first.rdzv_endpoint == second.rdzv_endpoint
    assert first.rdzv_endpoint.startswith(f"{NODES[0]}:")
    assert first.run_id == second.run_id == "47110101"
    assert [plan_of(config).is_host for config in (first, second)] == [True, False]


@made
def test_neither_place_nor_step(told: Told, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_STEP_ID")
    monkeypatch.delenv("SLURM_STEP_NODELIST")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "198.51.100.[7-8]")
    for node in range(2):
        with pytest.raises(SettingError, match="no endpoint was given and this is no srun step"):
            told(lambda _, node=node: make(nnodes="2", node_rank=node, rdzv_endpoint="None:29500"))


@made
def test_c10d_with_an_endpoint(told: Told, make: Any) -> None:
    place = f"{PLACE}:29511"
    configs = told(lambda node: make(nnodes="2", node_rank=node, rdzv_backend="c10d", rdzv_endpoint=place))
    assert {(config.rdzv_backend, config.rdzv_endpoint) for config in configs} == {("c10d", place)}


def test_a_rank_beside_the_command_line(told: Told) -> None:
    """A program parses the arguments and sets the rank by itself."""

    def namespace(node: int) -> Namespace:
        parsed = run.parse_args(["--nnodes=2", f"--master_addr={PLACE}", "train.py"])
        parsed.node_rank = node
        return parsed

    first, second = told(namespace)
    assert first.rdzv_backend == second.rdzv_backend == "static"
    assert [config.rdzv_configs["rank"] for config in (first, second)] == [0, 1]
    assert {config.rdzv_endpoint for config in (first, second)} == {f"{PLACE}:29500"}


@pytest.mark.parametrize("imported", ["before", "after"])
def test_the_old_launcher(told: Told, imported: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`torch.distributed.launch` has a parser of its own, which it made of torchrun's when it was imported."""
    apply_fixes()
    if imported == "after":
        monkeypatch.setattr(launch, "get_args_parser", run.get_args_parser)
    command = ["--nnodes=2", f"--master_addr={PLACE}", "--use_env", "train.py"]
    configs = told(lambda node: launch.parse_args([f"--node_rank={1 - node}", *command]))
    assert ranks(configs) == [1, 0]


def test_programs_parse_by_torchs_parser(told: Told) -> None:
    """As on the command line, a rank that nobody gave is filled in."""
    command = ["--nnodes=2", f"--master_addr={PLACE}", "train.py"]
    first, second = told(lambda _: run.get_args_parser().parse_args(command))
    assert [config.rdzv_configs["rank"] for config in (first, second)] == [0, 1]
    assert plan_of(second).fills == {"node_rank": "1"}


@made
def test_a_rank_written_as_text(told: Told, make: Any) -> None:
    place = f"{PLACE}:29511"
    assert ranks(told(lambda node: make(nnodes="2", node_rank=str(node), rdzv_endpoint=place))) == ["0", "1"]


@made
def test_a_port_that_is_none(told: Told, make: Any) -> None:
    with pytest.raises(SettingError, match='--master_port="a": not a port'):
        told(lambda _: make(nnodes="2", rdzv_backend="c10d", rdzv_endpoint=PLACE, master_port="a"))
