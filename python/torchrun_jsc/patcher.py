"""Apply a table of patches to torch, undo them, and say what became of each."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import NamedTuple, Sequence

from packaging.version import Version

from torchrun_jsc.messages import warn
from torchrun_jsc.patch import Function, Missing, Patch, Target, check, locate
from torchrun_jsc.torch_version import release_of


class _Applied(NamedTuple):
    patch: Patch
    #: The target as it was.
    target: Target
    #: What was put there.
    function: Function


@dataclass(frozen=True)
class Row:
    """The state of one patch."""

    patch: Patch
    applied: bool
    #: Why it is not applied; empty where it is.
    reason: str


@dataclass
class _State:
    """What this process has done to torch."""

    #: What is applied, by name, in the order in which it was.
    applied: dict[str, _Applied] = field(default_factory=dict)
    #: What became of the table that was handed in last.
    rows: list[Row] = field(default_factory=list)
    #: Those of them that only the old solution needs, for this release.
    publishing: list[Patch] = field(default_factory=list)
    #: Whether the old solution was asked for.
    old_solution: bool = False


_state = _State()


def apply(table: Sequence[Patch], torch: Version, *, old_solution: bool = False) -> list[Row]:
    """Apply what is for this release of torch; applying twice is applying once.

    A patch that finds torch other than it expects is not applied; one warning says so, and what the run loses.

    :param table: of patches that share a target, the last is outermost.
    :param old_solution: also apply what only the old solution needs; later calls keep to that.
    """
    _state.old_solution = _state.old_solution or old_solution
    _state.rows = [_apply_one(patch, torch) for patch in table]
    _state.publishing = [patch for patch in table if patch.old_solution and patch.fits(release_of(torch))]
    _warn_of([row for row in _state.rows if not has(row.patch.name) and _is_missed(row.patch, table, torch)], torch)
    return report()


def _warn_of(missed: list[Row], torch: Version) -> None:
    """Say in one line for each cause what a run loses."""
    for reason in dict.fromkeys(row.reason for row in missed):
        lost = [row.patch for row in missed if row.reason == reason]
        said = "is not applied to torch" if len(lost) == 1 else "are not applied to torch"
        names, effects = ", ".join(patch.label for patch in lost), "; ".join(patch.effect for patch in lost)
        warn(f"{names} {said} {torch}: {reason}; {effects}")


def _apply_one(patch: Patch, torch: Version) -> Row:
    reason = _why_not(patch, torch)
    if not reason and not _is_applied(patch):
        target = locate(patch.target)
        function = functools.wraps(target.function)(patch.wrap(target.function))
        target.put(function)
        _state.applied[patch.name] = _Applied(patch, target, function)
    return Row(patch, applied=not reason, reason=reason)


def _is_applied(patch: Patch) -> bool:
    applied = _state.applied.get(patch.name)
    return applied is not None and applied.patch == patch


def _is_wanted(patch: Patch) -> bool:
    return _state.old_solution or not patch.old_solution


def _is_missed(patch: Patch, table: Sequence[Patch], torch: Version) -> bool:
    """Whether torch needs this patch. A build between two releases may still be the first, which needs no patch."""
    alternatives = [other for other in table if other.name == patch.name and _is_wanted(other)]
    is_needed = all(any(other.fits(release) for other in alternatives) for release in _alike(torch))
    return is_needed and _is_wanted(patch) and patch.fits(release_of(torch))


def _why_not(patch: Patch, torch: Version) -> str:
    """Return why the patch cannot be applied; empty where it can, or is."""
    if _is_applied(patch):
        return ""
    if not any(patch.fits(release) for release in _alike(torch)):
        return f"it is for torch {patch.torch}"
    if not _is_wanted(patch):
        return "--local_addr does the same"
    if patch.name in _state.applied:
        return f"{_state.applied[patch.name].patch.label} is applied there"
    try:
        check(patch)
    except Missing as error:
        return str(error)
    return ""


def _alike(torch: Version) -> list[Version]:
    """Return the releases whose functions this build may have.

    ``2.5.0a0`` of a vendor is a state of torch between 2.4 and 2.5; what a patch expects tells which of them it is.
    """
    release = release_of(torch)
    if not torch.is_prerelease:
        return [release]
    before = f"{release.major}.{release.minor - 1}" if release.minor else f"{release.major - 1}.99"
    return [release, Version(before)]


def undo() -> None:
    """Put back what was there before, unless somebody else has changed it since."""
    for _, target, function in reversed(list(_state.applied.values())):
        if _now_at(target) is function:
            setattr(target.parent, target.attribute, target.found)
    _state.applied.clear()
    _state.rows = []
    _state.publishing = []
    _state.old_solution = False


def _now_at(target: Target) -> Function:
    """Return the function that stands there now."""
    found = vars(target.parent).get(target.attribute)
    function: Function = getattr(found, "__func__", found)
    return function


def report() -> list[Row]:
    """Say of each patch of the table that was handed in last whether it is applied, and why not."""
    return list(_state.rows)


def has(name: str) -> bool:
    """Whether a patch of that name is applied."""
    return name in _state.applied


def is_old_solution() -> bool:
    """Whether the old solution was asked for."""
    return _state.old_solution


def functions_publish() -> bool:
    """Whether torch's functions are patched to publish this node's address, as far as ``--local_addr`` could."""
    return bool(_state.publishing) and all(has(patch.name) for patch in _state.publishing)
