"""Each patch at each boundary of releases: applied, not applied, not twice, undone, refused."""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any, Callable, Dict

import pytest
from packaging.version import Version

from torchrun_jsc import patcher
from torchrun_jsc.patch import Patch, locate
from torchrun_jsc.patches.table import PATCHES

TorchLike = Callable[[str], Dict[str, ModuleType]]

ALWAYS = {
    "given options",
    "nnodes=auto",
    "command line",
    "launch",
    "host check",
    "late host",
    "nodes that have not come",
    "places of nodes",
    "strict preflight",
    "read timeout",
    "store reached",
    "rank order",
}

#: Beside those, with the new solution and with the old one.
BY_RELEASE = [
    (
        ["1.9.0", "1.9.1", "1.13.1"],
        {"host name (>=1.9,<2.0)", "node metadata (>=1.9,<2.0)"},
        {"host name (>=1.9,<2.0)", "node metadata (>=1.9,<2.0)"},
    ),
    (
        ["2.0.0", "2.3.1"],
        set(),
        {"host name (>=2.0,<2.4)", "node metadata (>=2.0)"},
    ),
    (
        ["2.4.0", "2.4.1"],
        {"host name (>=2.4,<2.5)", "rendezvous metadata (>=2.4,<2.5)"},
        {"host name (>=2.4,<2.5)", "rendezvous metadata (>=2.4,<2.5)", "node metadata (>=2.0)"},
    ),
    (
        ["2.5.0", "2.5.1", "2.6.0", "2.12.1", "2.13.0", "2.15.0", "2.99", "3.0.0", "3.7"],
        {"store renewal (>=2.5)"},
        {"store renewal (>=2.5)", "host name (>=2.5)", "rendezvous metadata (>=2.5)", "node metadata (>=2.0)"},
    ),
]
BOUNDARIES = [(version, new, old) for versions, new, old in BY_RELEASE for version in versions]


def names(rows: Any) -> set[str]:
    return {row.patch.label for row in rows if row.applied}


def functions(targets: set[str]) -> dict[str, Any]:
    return {target: locate(target).found for target in targets}


@pytest.mark.parametrize("old_solution", [False, True], ids=["new", "old"])
@pytest.mark.parametrize(("version", "new", "old"), BOUNDARIES, ids=[version for version, _, _ in BOUNDARIES])
def test_what_is_applied(  # noqa: PLR0917 (pytest passes them by name)
    version: str, new: set[str], old: set[str], old_solution: bool, torch_like: TorchLike, capfd: Any
) -> None:
    torch_like(version)
    wanted = ALWAYS | (old if old_solution else new)
    targets = {patch.target for patch in PATCHES if patch.label in wanted}
    before = functions(targets)

    assert names(patcher.apply(PATCHES, Version(version), old_solution=old_solution)) == wanted
    assert names(patcher.report()) == wanted
    applied = functions(targets)
    assert all(applied[target] is not before[target] for target in targets)
    assert patcher.functions_publish() == old_solution or version.startswith("1.")

    # Twice is once.
    assert names(patcher.apply(PATCHES, Version(version), old_solution=old_solution)) == wanted
    assert functions(targets) == applied

    patcher.undo()
    assert functions(targets) == before
    assert not names(patcher.report())
    assert capfd.readouterr() == ("", "")


def test_the_old_solution_can_come_later(torch_like: TorchLike) -> None:
    torch_like("2.6.0")
    patcher.apply(PATCHES, Version("2.6.0"))
    assert not patcher.functions_publish()
    patcher.apply(PATCHES, Version("2.6.0"), old_solution=True)
    assert patcher.functions_publish()


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


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.label)
@pytest.mark.parametrize("missing", [False, True], ids=["other-parameters", "missing"])
def test_a_changed_target_is_left_alone(patch: Patch, missing: bool, torch_like: TorchLike, capfd: Any) -> None:
    version = newest_for(patch)
    modules = torch_like(version)

    def changed(everything_is: Any, new: Any) -> None:
        """Parameters that no release has."""

    replace(modules, patch.target, None if missing else changed)
    rows = patcher.apply(PATCHES, Version(version), old_solution=True)
    fitting = [each for each in PATCHES if each.fits(Version(version))]
    lost = [each for each in fitting if each.target == patch.target]
    assert names(rows) == {each.label for each in fitting} - {each.label for each in lost}
    if not missing:
        assert locate(patch.target).function is changed
    # One line, which says which fixes are missing and what that means.
    (line,) = capfd.readouterr().err.splitlines()
    verb = "is" if len(lost) == 1 else "are"
    labels = ", ".join(each.label for each in lost)
    assert line.startswith(f"torchrun_jsc: warning: {labels} {verb} not applied to torch {version}: ")
    assert line.endswith("; ".join(each.effect for each in lost))
    expected = (
        "has no" if missing else "has the parameters (everything_is, new), not ({})".format(", ".join(patch.expects))
    )
    assert expected in line


USED = sorted({(used, patch.target.partition(":")[0]) for patch in PATCHES for used in patch.uses})


def rename(module: ModuleType, source: str, old: str, new: str) -> None:
    """Make the module anew, with another name for a private attribute."""
    changed, times = re.subn(rf"\b{old}\b", new, source)
    assert times
    exec(changed, vars(module))


@pytest.mark.parametrize(("used", "module"), USED)
def test_a_renamed_attribute_is_one_warning(used: str, module: str, torch_like: TorchLike, capfd: Any) -> None:
    users = [patch for patch in PATCHES if used in patch.uses]
    version = newest_for(users[0])
    modules = torch_like(version)
    cls, _, attribute = used.partition(".")
    if attribute == "__dataclass_fields__":
        setattr(modules[module], cls, type(cls, (), {}))
    else:
        rename(modules[module], modules[module].__source__, attribute, "renamed")
    rows = patcher.apply(PATCHES, Version(version))
    lost = [patch for patch in users if patch.fits(Version(version))]
    assert lost
    assert not names(rows) & {patch.label for patch in lost}
    # Whatever else is for this release is there.
    wanted = {patch.label for patch in PATCHES if patch.fits(Version(version)) and not patch.old_solution}
    assert names(rows) == wanted - {patch.label for patch in lost}
    (line,) = capfd.readouterr().err.splitlines()
    assert f"{module} has no {used}; " in line
    assert line.endswith("; ".join(patch.effect for patch in lost))


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.label)
def test_a_new_optional_parameter_is_passed_on(patch: Patch, torch_like: TorchLike, capfd: Any) -> None:
    version = newest_for(patch)
    modules = torch_like(version)
    source = "def function({}, *, new=None): return new".format(", ".join(patch.expects))
    made: dict[str, Any] = {}
    exec(source.replace("(, ", "("), made)
    replace(modules, patch.target, made["function"])
    assert patch.label in names(patcher.apply(PATCHES, Version(version), old_solution=True))
    assert capfd.readouterr().err == ""


def test_patches_that_share_a_target_are_undone(torch_like: TorchLike) -> None:
    modules = torch_like("2.15.0")
    handler = modules["torch.distributed.elastic.rendezvous.dynamic_rendezvous"].DynamicRendezvousHandler
    original = handler.next_rendezvous
    patcher.apply(PATCHES, Version("2.15.0"))
    jobs = [patch for patch in PATCHES if patch.target.endswith(":DynamicRendezvousHandler.next_rendezvous")]
    wrapped, depth = handler.next_rendezvous, 0
    while wrapped is not original:
        wrapped, depth = wrapped.__wrapped__, depth + 1
    assert depth == len(jobs) == 6
    assert handler("node", None).next_rendezvous() == "the round"
    patcher.undo()
    assert handler.next_rendezvous is original


def test_a_missing_module_is_a_missing_target(torch_like: TorchLike, capfd: Any) -> None:
    torch_like("2.15.0")
    gone = Patch("gone", "torch.distributed.no_such:thing", ">=1.9", (), lambda original: original, "nothing works")
    (row,) = patcher.apply((gone,), Version("2.15.0"))
    assert "torch.distributed.no_such cannot be imported" in row.reason
    assert capfd.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("version", "like", "applied"),
    [
        # A vendor's state of torch between two releases has the functions of the one or the other.
        ("2.6.0a0", "2.6.0", "launch"),
        ("2.5.0a0", "2.4.1", "rendezvous metadata (>=2.4,<2.5)"),
        ("2.4.0a0", "2.4.1", "rendezvous metadata (>=2.4,<2.5)"),
        ("2.13.0a0", "2.12.1", "launch"),
        ("2.13.0a0", "2.13.0", "launch"),
        ("2.0.0a0", "1.13.1", "node metadata (>=1.9,<2.0)"),
        ("2.0.0a0", "1.13.1", "host name (>=1.9,<2.0)"),
        ("2.16.0.dev20270101", "2.15.0", "launch"),
    ],
)
def test_a_build_between_releases(version: str, like: str, applied: str, torch_like: TorchLike, capfd: Any) -> None:
    torch_like(like)
    assert applied in names(patcher.apply(PATCHES, Version(version)))
    assert capfd.readouterr().err == ""


def test_undo_leaves_what_others_changed(torch_like: TorchLike) -> None:
    modules = torch_like("2.15.0")
    patcher.apply(PATCHES, Version("2.15.0"))
    run = modules["torch.distributed.run"]
    theirs = run.config_from_args = lambda _args: None
    patcher.undo()
    assert run.config_from_args is theirs


def test_a_patched_function_keeps_its_name_and_the_original(torch_like: TorchLike) -> None:
    modules = torch_like("2.15.0")
    run = modules["torch.distributed.run"]
    original = run.config_from_args
    patcher.apply(PATCHES, Version("2.15.0"))
    assert run.config_from_args.__name__ == "config_from_args"
    assert run.config_from_args.__wrapped__ is original


@pytest.mark.parametrize("old_solution", [False, True], ids=["new", "old"])
def test_the_torch_that_is_here(old_solution: bool, capfd: Any) -> None:
    from torchrun_jsc.torch_version import torch_version

    torch = torch_version()
    wanted = {p.label for p in PATCHES if p.fits(torch) and (old_solution or not p.old_solution)}
    assert names(patcher.apply(PATCHES, torch, old_solution=old_solution)) == wanted
    assert capfd.readouterr().err == ""
