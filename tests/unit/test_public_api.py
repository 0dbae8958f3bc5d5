"""The public names and what they take are these lists, and importing them is cheap."""

import inspect
import json
import subprocess
import sys

import pytest

import torchrun_jsc

PUBLIC = [
    "Endpoint",
    "Hostlist",
    "HostlistError",
    "Interface",
    "ResolveError",
    "SettingError",
    "TorchrunJscError",
    "__version__",
    "apply_fixes",
    "expand_hostlist",
    "fold_hostlist",
    "interfaces",
    "main",
    "resolve_endpoint",
]


def test_the_public_names_are_this_list():
    assert torchrun_jsc.__all__ == PUBLIC
    assert all(hasattr(torchrun_jsc, name) for name in PUBLIC)
    assert set(PUBLIC) < set(dir(torchrun_jsc))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        torchrun_jsc.nothing  # noqa: B018


def test_interfaces_of_this_machine():
    loopback = next(interface for interface in torchrun_jsc.interfaces() if interface.is_loopback)
    assert (loopback.name, loopback.link_type, loopback.is_up) == ("lo", 772, True)
    assert (loopback.index, loopback.is_running, ("127.0.0.1", 8) in loopback.addresses) == (1, True, True)
    assert repr(loopback).startswith("<Interface lo 127.0.0.1/8")


#: What a caller may pass, as `inspect` writes it, without the annotations.
SIGNATURES = {
    "apply_fixes": "(strict=True)",
    "expand_hostlist": "(expression)",
    "fold_hostlist": "(names)",
    "interfaces": "()",
    "main": "(args=None)",
    "resolve_endpoint": "(endpoint=None, *, nodelist=None, node_rank=None, host_node_rank=None, host_template=None, "
    "interface=None, port=None, timeout=None, environ=None)",
}

#: What the values have, beside what every object has.
MEMBERS = {
    "Endpoint": [
        "address", "env", "host", "host_node", "init_method", "interface", "is_host", "local_address", "local_rank",
        "local_world_size", "nnodes", "node", "node_rank", "port", "rank", "reasons", "warnings", "world_size",
    ],
    "Hostlist": ["__getitem__", "__len__", "position"],
    "Interface": ["addresses", "index", "is_loopback", "is_running", "is_up", "link_type", "name"],
}  # fmt: skip

ERRORS = {
    "HostlistError": {"TorchrunJscError", "ValueError"},
    "ResolveError": {"TorchrunJscError", "OSError"},
    "SettingError": {"TorchrunJscError", "ValueError"},
    "TorchrunJscError": {"RuntimeError"},
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(name):
    signature = inspect.signature(getattr(torchrun_jsc, name))
    bare = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
    assert str(inspect.Signature(bare)) == SIGNATURES[name]


@pytest.mark.parametrize("name", MEMBERS)
def test_members(name):
    public = {member for member in vars(getattr(torchrun_jsc, name)) if not member.startswith("_")}
    assert public | {member for member in MEMBERS[name] if member.startswith("__")} == set(MEMBERS[name])
    assert all(hasattr(getattr(torchrun_jsc, name), member) for member in MEMBERS[name])


def test_nothing_public_is_in_none_of_these_lists():
    assert set(PUBLIC) == {"__version__", *SIGNATURES, *MEMBERS, *ERRORS}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    assert {base.__name__ for base in getattr(torchrun_jsc, name).__bases__} == ERRORS[name]


def modules_after(statement):
    code = f"import sys; {statement}; import json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "statement",
    ["import torchrun_jsc", "from torchrun_jsc import resolve_endpoint", "from torchrun_jsc import apply_fixes"],
)
def test_importing_does_not_import_torch(statement):
    assert "torch" not in modules_after(statement)


def test_importing_resolve_endpoint_reads_few_files():
    new = modules_after("from torchrun_jsc import resolve_endpoint") - modules_after("pass")
    assert {name for name in new if not name.startswith("torchrun_jsc")} == {"__future__"}


def test_errors_can_be_caught_as_what_they_are_by_nature():
    for expression, error in [("n[1-", ValueError), ("n[0-65535][0-65535]", ValueError)]:
        with pytest.raises(torchrun_jsc.HostlistError) as caught:
            torchrun_jsc.expand_hostlist(expression)
        assert isinstance(caught.value, error)
        assert isinstance(caught.value, torchrun_jsc.TorchrunJscError)
        assert expression in str(caught.value)
    with pytest.raises(torchrun_jsc.ResolveError) as caught:
        torchrun_jsc.resolve_endpoint("no-such-host.invalid:1", environ={})
    assert isinstance(caught.value, OSError)
    assert str(caught.value).startswith('endpoint="no-such-host.invalid": cannot resolve it on node ')
