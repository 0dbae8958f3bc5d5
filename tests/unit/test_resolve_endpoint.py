"""`resolve_endpoint` and its command."""

import copy
import ipaddress
import json
import pickle
import subprocess
import sys

import pytest

from surroundings import clean_environment, step
from torchrun_jsc import Endpoint, ResolveError, SettingError, interfaces, resolve_endpoint

STEP = step("a[01-02]", nodes=2, node=1, name="a02", per_node=4, local=1)


def task(endpoint="10.20.0.1", **more):
    return resolve_endpoint(endpoint, environ={**STEP, **more})


def test_all_fields():
    found = task()
    assert isinstance(found, Endpoint)
    assert (found.host, found.address, found.node) == ("10.20.0.1", "10.20.0.1", "a02")
    assert 20000 <= found.port < 29400
    assert (found.rank, found.world_size, found.local_rank, found.local_world_size) == (5, 8, 1, 4)
    assert (found.node_rank, found.nnodes, found.is_host) == (1, 2, False)
    assert str(found) == f"10.20.0.1:{found.port}"
    assert found.init_method == f"tcp://10.20.0.1:{found.port}"
    assert found.env() == {
        "MASTER_ADDR": "10.20.0.1",
        "MASTER_PORT": str(found.port),
        "RANK": "5",
        "WORLD_SIZE": "8",
        "LOCAL_RANK": "1",
        "LOCAL_WORLD_SIZE": "4",
        "NODE_RANK": "1",
    }
    assert found.reasons["rank"] == "the tasks counted node by node, from node 0"
    assert task(SLURM_DISTRIBUTION="cyclic").reasons["rank"] == "SLURM_PROCID"


def test_it_shows_what_it_is():
    assert repr(task("10.20.0.1:29500")) == "<Endpoint 10.20.0.1:29500 a02>"


def test_several_templates():
    # Such names are refused without asking anybody.
    with pytest.raises(ResolveError, match=r'host_template="a01\.\.x,a01\.\.y": cannot resolve'):
        resolve_endpoint(host_template=("{node}..x", "{node}..y"), environ=STEP)


def test_it_is_a_value():
    assert task() == task()
    assert hash(task()) == hash(task())
    assert task() != task(SLURM_PROCID="6", SLURM_LOCALID="2")
    with pytest.raises(AttributeError):
        task().port = 1


@pytest.fixture
def own():
    """An address of this machine that others can reach, and its interface."""
    for interface in interfaces():
        for address, _ in interface.addresses:
            if interface.is_up and not interface.is_loopback and not ipaddress.ip_address(address).is_link_local:
                return address, interface.name
    pytest.skip("this machine has no network")


def test_it_goes_to_another_process_whole(own):
    """With this node's own address, which is found where it is known."""
    found = task(f"[{own[0]}]:29500")
    arrived = pickle.loads(pickle.dumps(found))
    assert arrived.local_address == own[0]
    names = [name for name in dir(Endpoint) if not name.startswith("_") and name != "env"]
    assert {name: getattr(arrived, name) for name in names} == {name: getattr(found, name) for name in names}
    assert arrived == found
    assert (arrived.env(), repr(arrived)) == (found.env(), repr(found))
    assert pickle.loads(pickle.dumps(arrived)) == found


def test_a_pickle_that_is_none():
    with pytest.raises(ValueError, match="expected"):
        Endpoint._from_json("x")


def test_a_copy_is_the_same():
    found = task()
    assert copy.copy(found) is found
    assert copy.deepcopy({"endpoint": found})["endpoint"] is found


def test_the_address_of_this_node(own):
    """At an endpoint of its own it is the endpoint's host, and the interface is the one that has it."""
    address, interface = own
    found = task(f"[{address}]:29500")
    assert (found.local_address, found.interface) == (address, interface)
    assert task("127.0.0.1:29500").interface is None


def test_ipv6_stands_in_brackets():
    assert str(task("[fd00:20::1]:29500")) == "[fd00:20::1]:29500"
    assert task("fd00:20::1", MASTER_PORT="7").init_method == "tcp://[fd00:20::1]:7"
    assert task("fd00:20::1").env()["MASTER_ADDR"] == "fd00:20::1"


def test_keywords_override_the_environment():
    found = resolve_endpoint(
        "10.0.0.1", nodelist="b[7-9]", node_rank=2, host_node_rank=0, port=1234, timeout=1, environ=STEP
    )
    assert (str(found), found.node_rank, found.nnodes) == ("10.0.0.1:1234", 2, 3)
    moved = resolve_endpoint("10.0.0.1", host_node_rank=1, environ=STEP)
    assert (moved.rank, moved.is_host) == (1, False)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"port": 0}, 'port="0": not a whole number from 1 to 65535'),
        ({"port": True}, 'port="True": not a whole number'),
        ({"node_rank": -1}, 'node_rank="-1": not a whole number'),
        ({"timeout": 0}, 'timeout="0": not a number of seconds'),
        ({"host_template": "{nodes}i", "endpoint": None}, 'host_template="{nodes}i"'),
        ({"interface": "nope"}, 'interface="nope": no usable interface of a02 matches'),
        ({"host_node_rank": 2, "endpoint": None}, 'host_node_rank="2": the step has nodes 0 to 1'),
        ({"endpoint": "10.0.0.1:5", "port": 7}, 'port="7": endpoint has another one, 5'),
        ({"nodelist": "n["}, 'nodelist="n[": not a node list'),
        ({"endpoint": "h:x"}, 'endpoint="h:x": the port is not a number'),
    ],
)
def test_bad_arguments_are_named(keywords, message):
    with pytest.raises(SettingError) as caught:
        resolve_endpoint(**{"endpoint": "10.0.0.1", "environ": STEP, **keywords})
    assert str(caught.value).startswith(message)


def command(*args, **environ):
    return subprocess.run(
        [sys.executable, "-m", "torchrun_jsc.endpoint", *args],
        env={**clean_environment(), **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_prints_host_and_port():
    done = command("--endpoint", "10.20.0.1:29500", **STEP)
    assert (done.returncode, done.stdout, done.stderr) == (0, "10.20.0.1:29500\n", "")
    found = json.loads(command("--endpoint=10.20.0.1:29500", "--json", **STEP).stdout)
    assert (found["host"], found["port"], found["rank"], found["nnodes"]) == ("10.20.0.1", 29500, 5, 2)


def test_exports_are_quoted_for_a_shell():
    done = command("--export", "--port=29500", "--endpoint", "10.20.0.1", **STEP)
    script = f"{done.stdout}\nprintf '%s ' $MASTER_ADDR $MASTER_PORT $RANK"
    assert subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout.split() == [
        "10.20.0.1",
        "29500",
        "5",
    ]


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({}, 'SLURM_STEP_NODELIST="": not set'),
        ({**STEP, "SLURM_STEP_NODELIST": "n[1-"}, 'SLURM_STEP_NODELIST="n[1-": not a node list'),
        ({**STEP, "MASTER_PORT": "x"}, 'MASTER_PORT="x": not a port'),
        ({**STEP, "MASTER_ADDR": "a b"}, 'MASTER_ADDR="a b": '),
        ({**STEP, "MASTER_ADDR": "\x1b[31m"}, r'MASTER_ADDR="\u{1b}[31m": '),
        ({**STEP, "TORCHRUN_JSC_PORT": "\x1b[31m"}, r'TORCHRUN_JSC_PORT="\x1b[31m": '),
    ],
)
def test_the_command_fails_in_one_line(environ, message):
    done = command(**environ)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"torchrun_jsc: error: {message}")
    assert done.stderr.count("\n") == 1
    assert "\x1b" not in done.stderr
