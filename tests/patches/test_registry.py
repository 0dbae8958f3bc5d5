"""Each patch at each boundary of releases: applied, not applied, not twice, undone, refused."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Callable, Dict

import pytest
from packaging.version import Version

from torchrun_jsc import patches
from torchrun_jsc.patches import PATCHES
from torchrun_jsc.patches.patch import Patch, locate

TorchLike = Callable[[str], Dict[str, ModuleType]]

ALWAYS = {
    "given options",
    "nnodes=auto",
    "command line",
    "host check",
    "places of nodes",
    "rank order",
}

#: Beside those, with the new solution and with the old one.
BY_RELEASE = [
    (
        ["1.9.0", "1.9.1", "1.13.1"],
        {"launch (>=1.9,<2.13)", "host name (>=1.9,<2.0)", "node metadata (>=1.9,<2.0)"},
        {"launch (>=1.9,<2.13)", "host name (>=1.9,<2.0)", "node metadata (>=1.9,<2.0)"},
    ),
    (
        ["2.0.0", "2.3.1"],
        {"launch (>=1.9,<2.13)"},
        {"launch (>=1.9,<2.13)", "host name (>=2.0,<2.4)", "node metadata (>=2.0)"},
    ),
    (
        ["2.4.0", "2.4.1"],
        {"launch (>=1.9,<2.13)", "host name (>=2.4,<2.5)", "rendezvous metadata (>=2.4,<2.5)"},
        {
            "launch (>=1.9,<2.13)",
            "host name (>=2.4,<2.5)",
            "rendezvous metadata (>=2.4,<2.5)",
            "node metadata (>=2.0)",
        },
    ),
    (
        ["2.5.0", "2.5.1"],
        {"launch (>=1.9,<2.13)"},
        {"launch (>=1.9,<2.13)", "host name (>=2.5)", "rendezvous metadata (>=2.5,<2.6)", "node metadata (>=2.0)"},
    ),
    (
        ["2.6.0", "2.12.1"],
        {"launch (>=1.9,<2.13)"},
        {"launch (>=1.9,<2.13)", "host name (>=2.5)", "rendezvous metadata (>=2.6)", "node metadata (>=2.0)"},
    ),
    (
        ["2.13.0", "2.15.0", "2.99", "3.0.0", "3.7"],
        {"launch (>=2.13)"},
        {"launch (>=2.13)", "host name (>=2.5)", "rendezvous metadata (>=2.6)", "node metadata (>=2.0)"},
    ),
]
BOUNDARIES = [(version, new, old) for versions, new, old in BY_RELEASE for version in versions]


def names(rows: Any) -> set[str]:
    return {row.patch.name for row in rows if row.applied}


def functions(targets: set[str]) -> dict[str, Any]:
    return {target: locate(target).found for target in targets}


@pytest.mark.parametrize("old_solution", [False, True], ids=["new", "old"])
@pytest.mark.parametrize(("version", "new", "old"), BOUNDARIES, ids=[version for version, _, _ in BOUNDARIES])
def test_what_is_applied(  # noqa: PLR0917 (pytest passes them by name)
    version: str, new: set[str], old: set[str], old_solution: bool, torch_like: TorchLike, capfd: Any
) -> None:
    torch_like(version)
    wanted = ALWAYS | (old if old_solution else new)
    targets = {patch.target for patch in PATCHES if patch.name in wanted}
    before = functions(targets)

    assert names(patches.apply(Version(version), old_solution=old_solution)) == wanted
    assert names(patches.report(Version(version), old_solution=old_solution)) == wanted
    applied = functions(targets)
    assert all(applied[target] is not before[target] for target in targets)
    assert patches.functions_publish() == old_solution or version.startswith("1.")

    # Twice is once.
    assert names(patches.apply(Version(version), old_solution=old_solution)) == wanted
    assert functions(targets) == applied

    patches.undo()
    assert functions(targets) == before
    assert not names(patches.report(Version(version)))
    assert capfd.readouterr() == ("", "")


def test_the_old_solution_can_come_later(torch_like: TorchLike) -> None:
    torch_like("2.6.0")
    patches.apply(Version("2.6.0"))
    assert not patches.functions_publish()
    patches.apply(Version("2.6.0"), old_solution=True)
    assert patches.functions_publish()


def newest_for(patch: Patch) -> str:
    return [version for version, _, _ in BOUNDARIES if patch.fits(Version(version))][-1]


def replace(modules: dict[str, ModuleType], target: str, function: Any) -> None:
    module, _, path = target.partition(":")
    *classes, name = path.split(".")
    parent: Any = modules[module]
    for each in classes:
        parent = getattr(parent, each)
    if function is None:
        delattr(parent, name)
    else:
        setattr(parent, name, staticmethod(function) if classes else function)


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.name)
@pytest.mark.parametrize("missing", [False, True], ids=["other-parameters", "missing"])
def test_a_changed_target_is_left_alone(patch: Patch, missing: bool, torch_like: TorchLike, capfd: Any) -> None:
    version = newest_for(patch)
    modules = torch_like(version)

    def changed(everything_is: Any, new: Any) -> None:
        """Parameters that no release has."""

    replace(modules, patch.target, None if missing else changed)
    rows = patches.apply(Version(version), old_solution=True)
    assert patch.name not in names(rows)
    if not missing:
        assert locate(patch.target).function is changed
    # One line, which says which fix is missing and what that means.
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"torchrun_jsc: warning: {patch.name} is not applied to torch {version}: ")
    assert line.endswith(patch.effect)
    expected = (
        "has no" if missing else "has the parameters (everything_is, new), not ({})".format(", ".join(patch.expects))
    )
    assert expected in line
    # The rest is not affected.
    assert len(names(rows)) == len({row.patch.target for row in rows if row.patch.fits(Version(version))}) - 1


def test_a_missing_module_is_a_missing_target(torch_like: TorchLike, capfd: Any) -> None:
    torch_like("2.15.0")
    gone = Patch("gone", "torch.distributed.no_such:thing", ">=1.9", (), lambda original: original, "nothing works")
    (row,) = patches.apply(Version("2.15.0"), (gone,))
    assert "torch.distributed.no_such cannot be imported" in row.reason
    assert capfd.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("version", "like", "applied"),
    [
        # A vendor's state of torch between two releases has the functions of the one or the other.
        ("2.6.0a0", "2.6.0", "launch (>=1.9,<2.13)"),
        ("2.5.0a0", "2.4.1", "rendezvous metadata (>=2.4,<2.5)"),
        ("2.4.0a0", "2.4.1", "rendezvous metadata (>=2.4,<2.5)"),
        ("2.13.0a0", "2.12.1", "launch (>=1.9,<2.13)"),
        ("2.13.0a0", "2.13.0", "launch (>=2.13)"),
        ("2.0.0a0", "1.13.1", "node metadata (>=1.9,<2.0)"),
        ("2.0.0a0", "1.13.1", "host name (>=1.9,<2.0)"),
        ("2.16.0.dev20270101", "2.15.0", "launch (>=2.13)"),
    ],
)
def test_a_build_between_releases(version: str, like: str, applied: str, torch_like: TorchLike, capfd: Any) -> None:
    torch_like(like)
    assert applied in names(patches.apply(Version(version)))
    assert capfd.readouterr().err == ""


def test_undo_leaves_what_others_changed(torch_like: TorchLike) -> None:
    modules = torch_like("2.15.0")
    patches.apply(Version("2.15.0"))
    run = modules["torch.distributed.run"]
    theirs = run.config_from_args = lambda _args: None
    patches.undo()
    assert run.config_from_args is theirs


def test_a_patched_function_keeps_its_name_and_the_original(torch_like: TorchLike) -> None:
    modules = torch_like("2.15.0")
    run = modules["torch.distributed.run"]
    original = run.config_from_args
    patches.apply(Version("2.15.0"))
    assert run.config_from_args.__name__ == "config_from_args"
    assert run.config_from_args.__wrapped__ is original


@pytest.mark.parametrize("old_solution", [False, True], ids=["new", "old"])
def test_the_torch_that_is_here(old_solution: bool, capfd: Any) -> None:
    from torchrun_jsc.torch_version import torch_version

    torch = torch_version()
    wanted = {p.name for p in PATCHES if p.fits(torch) and (old_solution or not p.old_solution)}
    assert names(patches.apply(torch, old_solution=old_solution)) == wanted
    assert capfd.readouterr().err == ""
