"""A patch is data: what it wraps, for which torch, with which parameters, and what a run loses without it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Callable

from packaging.specifiers import SpecifierSet

if TYPE_CHECKING:
    from packaging.version import Version

Function = Callable[..., Any]


@dataclass(frozen=True)
class Patch:
    """A wrapper around one function of torch."""

    #: Its name in reports and warnings.
    name: str
    #: ``module:attribute`` or ``module:Class.attribute``.
    target: str
    #: The releases of torch it is for, such as ``>=2.0,<2.4``.
    torch: str
    #: The parameters that the function must have there.
    expects: tuple[str, ...]
    #: Makes the new function from the old one.
    wrap: Callable[[Function], Function]
    #: What a run loses without it.
    effect: str
    #: Whether only the old solution needs it: there the new one has ``--local_addr``.
    old_solution: bool = False

    def fits(self, release: Version) -> bool:
        """Whether this patch is for that release."""
        return SpecifierSet(self.torch).contains(release, prereleases=True)


@dataclass(frozen=True)
class Place:
    """Where a function of torch stands."""

    parent: Any
    attribute: str
    #: As it stands there: a function, a staticmethod or a classmethod.
    found: Any

    @property
    def function(self) -> Function:
        """The function itself."""
        function: Function = getattr(self.found, "__func__", self.found)
        return function

    def put(self, function: Function) -> None:
        """Set ``function`` there, in the same kind of descriptor."""
        kind = type(self.found)
        wrapped = kind(function) if kind in (staticmethod, classmethod) else function
        setattr(self.parent, self.attribute, wrapped)


class Missing(Exception):  # noqa: N818 (an answer, not an error)
    """The target is not there."""


def locate(target: str) -> Place:
    """Find ``module:attribute``.

    :raises Missing: with what is not there.
    """
    module_name, _, path = target.partition(":")
    try:
        parent: Any = import_module(module_name)
    except ImportError as error:
        raise Missing(f"{module_name} cannot be imported: {error}") from None
    *parents, attribute = path.split(".")
    for name in parents:
        parent = getattr(parent, name, None)
    found = vars(parent).get(attribute) if parent is not None else None
    if found is None:
        raise Missing(f"{module_name} has no {path}")
    return Place(parent, attribute, found)


def parameters_of(function: Function) -> tuple[str, ...]:
    """Return the names of a function's parameters."""
    return tuple(inspect.signature(function).parameters)
