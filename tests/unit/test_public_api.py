"""The public names are this list, and importing them is cheap."""

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
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        torchrun_jsc.nothing  # noqa: B018


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
