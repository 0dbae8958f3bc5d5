"""`apply_fixes`: which torch is supported, and that it is done once."""

from __future__ import annotations

from typing import Any

import pytest

import torchrun_jsc
from torchrun_jsc import TorchrunJscError, apply_fixes, cli, patcher, patching, torch_version
from torchrun_jsc.patches.table import PATCHES


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
