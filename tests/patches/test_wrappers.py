"""What each wrapper makes of torch's function: every node publishes its own address, as it is written."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any, Callable

import pytest
from packaging.version import Version

from torchrun_jsc import patcher
from torchrun_jsc.patches import fq_hostname, host_check, next_rendezvous, node_desc, store_info
from torchrun_jsc.patches.table import PATCHES
from torchrun_jsc.torch_version import torch_version

Current = Callable[..., None]
ADDRESSES = ["n10i", "n10i.cluster", "10.78.0.10", "fd00::10"]


def wrapped(patch: Any, original: Any) -> Any:
    return patch.wrap(original)


class Store:
    def __init__(self) -> None:
        self.keys: dict[str, bytes] = {}
        self.asked: list[str] = []

    def set(self, key: str, value: bytes) -> None:
        self.keys[key] = value

    def get(self, key: str) -> bytes:
        self.asked.append(key)
        return self.keys[key]


@pytest.fixture(params=ADDRESSES)
def address(request: Any, current: Current) -> str:
    current(local_address=request.param)
    return str(request.param)


@pytest.fixture(autouse=True)
def no_reverse_look_ups(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a reverse look-up")

    for name in ("gethostbyaddr", "getnameinfo", "getfqdn"):
        monkeypatch.setattr(socket, name, refuse)


@pytest.mark.parametrize("patch", fq_hostname.PATCHES, ids=lambda patch: patch.label)
def test_host_name(patch: Any, address: str) -> None:
    assert wrapped(patch, lambda: "own-name")() == address


def build_without_address(rank: int, store: Any) -> str:
    if rank == 0:
        store.set("MASTER_ADDR", b"own-name")
        store.set("MASTER_PORT", b"1234")
    return "{}:{}".format(store.get("MASTER_ADDR").decode(), store.get("MASTER_PORT").decode())


def build_with_address(rank: int, store: Any, local_addr: str | None, server_port: int | None = None) -> Any:
    return rank, store, local_addr, server_port


class TestMetadataOf24:
    build = staticmethod(wrapped(store_info.PATCHES[0], build_without_address))

    def test_rank_0_publishes_its_own_address(self, address: str) -> None:
        store = Store()
        assert self.build(0, store) == f"{address}:1234"
        assert store.keys == {"MASTER_ADDR": address.encode(), "MASTER_PORT": b"1234"}

    @pytest.mark.usefixtures("address")
    def test_others_read_what_rank_0_published(self) -> None:
        store = Store()
        store.keys = {"MASTER_ADDR": b"n9i", "MASTER_PORT": b"1234"}
        assert self.build(1, store) == "n9i:1234"
        assert store.keys == {"MASTER_ADDR": b"n9i", "MASTER_PORT": b"1234"}
        assert store.asked == ["MASTER_ADDR", "MASTER_PORT"]


@pytest.mark.parametrize("patch", store_info.PATCHES[1:], ids=lambda patch: patch.label)
class TestMetadataSince25:
    def test_own_address(self, patch: Any, address: str) -> None:
        build = wrapped(patch, build_with_address)
        assert build(1, "store", None) == (1, "store", address, None)
        assert build(rank=1, store="store", local_addr=None) == (1, "store", address, None)

    @pytest.mark.usefixtures("address")
    def test_a_given_address_stays(self, patch: Any) -> None:
        build = wrapped(patch, build_with_address)
        assert build(0, "store", "given") == (0, "store", "given", None)
        assert build(0, "store", local_addr="given", server_port=7) == (0, "store", "given", 7)


@dataclass(frozen=True)
class OldDescription:
    fqdn: str
    pid: int
    local_id: int


class TestNodeMetadata:
    def test_before_20(self, address: str) -> None:
        generate = wrapped(node_desc.PATCHES[0], lambda _self: OldDescription("own-name", 5, 6))
        assert generate("generator") == OldDescription(address, 5, 6)

    def test_since_20(self, address: str) -> None:
        generate = wrapped(node_desc.PATCHES[1], lambda _self, local_addr=None: local_addr)
        assert generate("generator") == address
        assert generate("generator", None) == address
        assert generate("generator", "given") == "given"


@pytest.mark.parametrize("plan", [None, {"local_address": None}], ids=["no-launch", "no-address"])
def test_without_an_address_torch_decides(plan: dict[str, None] | None, current: Current) -> None:
    if plan is not None:
        current(**plan)
    for patch in fq_hostname.PATCHES:
        assert wrapped(patch, lambda: "own-name")() == "own-name"
    store = Store()
    assert TestMetadataOf24.build(0, store) == "own-name:1234"
    for patch in store_info.PATCHES[1:]:
        assert wrapped(patch, build_with_address)(0, store, None) == (0, store, None, None)
    description = OldDescription("own-name", 5, 6)
    assert wrapped(node_desc.PATCHES[0], lambda _self: description)("generator") is description
    assert wrapped(node_desc.PATCHES[1], lambda _self, local_addr=None: local_addr)("generator") is None


class TestHostCheck:
    check = staticmethod(wrapped(host_check.PATCHES[0], lambda host: f"torch on {host}"))

    @pytest.mark.parametrize("is_host", [True, False])
    def test_the_plan_answers(self, is_host: bool, current: Current) -> None:
        current(is_host=is_host, host="n1i")
        assert self.check("n1i") is is_host

    def test_torch_answers_for_other_names(self, current: Current) -> None:
        assert self.check("n1i") == "torch on n1i"
        current(is_host=True, host="n1i")
        assert self.check("n2i") == "torch on n2i"

    @pytest.mark.parametrize("plan", [{"is_host": None}, {"is_host": True, "untouched": "--standalone"}])
    def test_torch_answers_where_the_plan_does_not(self, plan: dict[str, Any], current: Current) -> None:
        current(host="n1i", **plan)
        assert self.check("n1i") == "torch on n1i"

    def test_an_unknown_own_name_is_no_error(self, current: Current) -> None:
        def original(_host: str) -> bool:
            raise socket.gaierror("my own name")

        current(host="n1i")
        assert wrapped(host_check.PATCHES[0], original)("n1i") is False


@pytest.mark.parametrize("address", ["198.51.100.7", "fd00::7"])
def test_real_torch_with_the_old_solution(address: str, current: Current, monkeypatch: pytest.MonkeyPatch) -> None:
    """All functions that this torch has publish the address."""
    monkeypatch.undo()  # torch before 2.5 looks up its own name all the same
    torch = torch_version()
    patcher.apply(PATCHES, torch, old_solution=True)
    current(local_address=address)

    from torch.distributed.elastic.agent.server import api as agent
    from torch.distributed.elastic.rendezvous import api, dynamic_rendezvous

    assert agent._get_fq_hostname() == address
    description = dynamic_rendezvous._NodeDescGenerator().generate()
    assert getattr(description, "addr" if torch.major >= 2 else "fqdn") == address
    if hasattr(api, "RendezvousStoreInfo"):
        from torch.distributed import HashStore

        # From 2.5 on the parameter is there, and torch passes its params' local_addr.
        more = () if (torch.major, torch.minor) == (2, 4) else (None,)
        assert api.RendezvousStoreInfo.build(0, HashStore(), *more).master_addr == address


class TestRoundOfTheRendezvous:
    """Workers of each round get a store of their own, so that none finds what its predecessor left."""

    class Handler:
        _bootstrap_store_info: Any = "of the first round"

    @staticmethod
    def remembered(handler: Any) -> Any:
        (renewal,) = (patch for patch in next_rendezvous.PATCHES if patch.name == "store renewal")
        assert not renewal.fits(Version("2.4.1"))
        assert renewal.fits(Version("2.5.0"))
        return wrapped(renewal, lambda self: self._bootstrap_store_info)(handler)

    def test_torch_forgets_the_first_one(self, current: Current) -> None:
        current(rank_order="torch")
        assert self.remembered(self.Handler()) is None

    @pytest.mark.parametrize("plan", [None, {"untouched": "--standalone", "rank_order": None}])
    def test_a_launch_that_is_left_alone(self, plan: dict[str, Any] | None, current: Current) -> None:
        if plan is not None:
            current(**plan)
        assert self.remembered(self.Handler()) == "of the first round"
