"""The table of patches, and how they are applied, undone and reported."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from typing import Dict, List, Tuple

from packaging.version import Version

from torchrun_jsc.patches import config_from_args, host_check, launch_agent, nnodes, parse_args
from torchrun_jsc.patches.patch import Function, Missing, Patch, Place, locate, parameters_of

PATCHES: Tuple[Patch, ...] = (
    *parse_args.PATCHES,
    *nnodes.PATCHES,
    *config_from_args.PATCHES,
    *launch_agent.PATCHES,
    *host_check.PATCHES,
)

#: What is applied now: the place as it was, and the function put there.
_applied: Dict[str, Tuple[Place, Function]] = {}


@dataclass(frozen=True)
class Row:
    """The state of one patch."""

    patch: Patch
    applied: bool
    #: Why it is not applied; empty where it is.
    reason: str


def apply(torch: Version, patches: Tuple[Patch, ...] = PATCHES) -> List[Row]:
    """Apply what is for this release of torch; applying twice is applying once.

    A patch whose target is missing or has other parameters is not applied, and one warning says so.
    """
    rows = [_apply_one(patch, torch) for patch in patches]
    for row in rows:
        if not row.applied and row.patch.fits(torch):
            print(
                f"torchrun_jsc: warning: {row.patch.name} is not applied to torch {torch}: {row.reason}; "
                f"{row.patch.effect}",
                file=sys.stderr,
            )
    return rows


def _apply_one(patch: Patch, torch: Version) -> Row:
    if patch.name in _applied:
        return Row(patch, applied=True, reason="")
    reason = _why_not(patch, torch)
    if reason:
        return Row(patch, applied=False, reason=reason)
    place = locate(patch.target)
    function = functools.wraps(place.function)(patch.wrap(place.function))
    place.put(function)
    _applied[patch.name] = (place, function)
    return Row(patch, applied=True, reason="")


def _why_not(patch: Patch, torch: Version) -> str:
    if not patch.fits(torch):
        return f"it is for torch {patch.torch}"
    try:
        found = parameters_of(locate(patch.target).function)
    except Missing as error:
        return str(error)
    if found != patch.expects:
        return f"{patch.target} has the parameters ({', '.join(found)}), not ({', '.join(patch.expects)})"
    return ""


def undo() -> None:
    """Put back what was there before, unless somebody else has changed it since."""
    for place, function in reversed(list(_applied.values())):
        now = locate_again(place)
        if now is function:
            setattr(place.parent, place.attribute, place.found)
    _applied.clear()


def locate_again(place: Place) -> Function:
    """Return the function that stands at ``place`` now."""
    found = vars(place.parent).get(place.attribute)
    function: Function = getattr(found, "__func__", found)
    return function


def report(torch: Version, patches: Tuple[Patch, ...] = PATCHES) -> List[Row]:
    """Say of each patch whether it is applied, and why not."""
    return [
        Row(patch, applied=True, reason="")
        if patch.name in _applied
        else Row(patch, applied=False, reason=_why_not(patch, torch) or "it has not been applied yet")
        for patch in patches
    ]
