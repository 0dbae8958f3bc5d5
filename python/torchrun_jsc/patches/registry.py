"""The table of patches, and how they are applied, undone and reported."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

from packaging.version import Version

from torchrun_jsc.messages import warn
from torchrun_jsc.patches import (
    config_from_args,
    fq_hostname,
    host_check,
    launch_agent,
    nnodes,
    node_desc,
    parse_args,
    rendezvous_round,
    store_info,
)
from torchrun_jsc.patches.patch import Function, Missing, Patch, Place, locate, parameters_of
from torchrun_jsc.torch_version import release_of

PATCHES: tuple[Patch, ...] = (
    *parse_args.PATCHES,
    *nnodes.PATCHES,
    *config_from_args.PATCHES,
    *launch_agent.PATCHES,
    *host_check.PATCHES,
    *fq_hostname.PATCHES,
    *store_info.PATCHES,
    *node_desc.PATCHES,
    *rendezvous_round.PATCHES,
)


class _Applied(NamedTuple):
    patch: Patch
    #: The place as it was.
    place: Place
    #: What was put there.
    function: Function


#: What is applied now, by target.
_applied: dict[str, _Applied] = {}

#: What the old solution asked for.
_old_solution: list[Patch] = []


@dataclass(frozen=True)
class Row:
    """The state of one patch."""

    patch: Patch
    applied: bool
    #: Why it is not applied; empty where it is.
    reason: str


def apply(torch: Version, patches: tuple[Patch, ...] = PATCHES, *, old_solution: bool = False) -> list[Row]:
    """Apply what is for this release of torch; applying twice is applying once.

    A patch whose target is missing or has other parameters is not applied, and one warning says so.
    """
    rows = [_apply_one(patch, torch, old_solution=old_solution) for patch in patches]
    release = release_of(torch)
    for patch, reason in ((row.patch, row.reason) for row in rows):
        if patch.target not in _applied and patch.fits(release) and (old_solution or not patch.old_solution):
            warn(f"{patch.name} is not applied to torch {torch}: {reason}; {patch.effect}")
    if old_solution:
        _old_solution[:] = [patch for patch in patches if patch.old_solution and patch.fits(release)]
    return rows


def _apply_one(patch: Patch, torch: Version, *, old_solution: bool) -> Row:
    reason = "" if _is_applied(patch) else _why_not(patch, torch, old_solution=old_solution)
    if not reason and not _is_applied(patch):
        place = locate(patch.target)
        function = functools.wraps(place.function)(patch.wrap(place.function))
        place.put(function)
        _applied[patch.target] = _Applied(patch, place, function)
    return Row(patch, applied=not reason, reason=reason)


def _is_applied(patch: Patch) -> bool:
    applied = _applied.get(patch.target)
    return applied is not None and applied.patch == patch


def _why_not(patch: Patch, torch: Version, *, old_solution: bool) -> str:
    if not any(patch.fits(release) for release in _alike(torch)):
        return f"it is for torch {patch.torch}"
    if patch.old_solution and not old_solution:
        return "--local_addr does the same"
    if patch.target in _applied:
        return f"{_applied[patch.target].patch.name} is applied there"
    try:
        found = parameters_of(locate(patch.target).function)
    except Missing as error:
        return str(error)
    if found != patch.expects:
        return f"{patch.target} has the parameters ({', '.join(found)}), not ({', '.join(patch.expects)})"
    return ""


def _alike(torch: Version) -> list[Version]:
    """Return the releases whose functions this build may have.

    ``2.5.0a0`` of a vendor is a state of torch between 2.4 and 2.5; the parameters tell which of them a function is of.
    """
    release = release_of(torch)
    if not torch.is_prerelease:
        return [release]
    before = f"{release.major}.{release.minor - 1}" if release.minor else f"{release.major - 1}.99"
    return [release, Version(before)]


def undo() -> None:
    """Put back what was there before, unless somebody else has changed it since."""
    for _, place, function in reversed(list(_applied.values())):
        if _now_at(place) is function:
            setattr(place.parent, place.attribute, place.found)
    _applied.clear()
    _old_solution.clear()


def _now_at(place: Place) -> Function:
    """Return the function that stands at ``place`` now."""
    found = vars(place.parent).get(place.attribute)
    function: Function = getattr(found, "__func__", found)
    return function


def report(torch: Version, patches: tuple[Patch, ...] = PATCHES, *, old_solution: bool = False) -> list[Row]:
    """Say of each patch whether it is applied, and why not."""
    rows = []
    for patch in patches:
        applied = _is_applied(patch)
        reason = "" if applied else _why_not(patch, torch, old_solution=old_solution) or "it has not been applied yet"
        rows.append(Row(patch, applied=applied, reason=reason))
    return rows


def is_patched(target: str) -> bool:
    """Whether a function of torch is patched."""
    return target in _applied


def functions_publish() -> bool:
    """Whether torch's functions are patched to publish this node's address, as far as ``--local_addr`` could."""
    return bool(_old_solution) and all(is_patched(patch.target) for patch in _old_solution)
