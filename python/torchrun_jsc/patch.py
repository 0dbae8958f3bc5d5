"""A patch is data: what it wraps, for which torch, what it relies on there, and what a run loses without it."""

from __future__ import annotations

import dis
import inspect
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Callable, Iterator

from packaging.specifiers import SpecifierSet

if TYPE_CHECKING:
    from types import CodeType

    from packaging.version import Version

Function = Callable[..., Any]

#: Releases that need no mark in the name of a patch: all that are supported.
_ALL = ">=1.9"


@dataclass(frozen=True)
class Patch:
    """A wrapper around one function of torch."""

    #: Its job. Patches of one name do the same in different releases; at most one of them is applied.
    name: str
    #: ``module:attribute`` or ``module:Class.attribute``. Patches with different jobs may share it.
    target: str
    #: The releases of torch it is for, such as ``>=2.0,<2.4``.
    torch: str
    #: The first parameters of the function; it may have more, if these are optional. The wrapper passes them on.
    expects: tuple[str, ...]
    #: Makes the new function from the old one.
    wrap: Callable[[Function], Function]
    #: What a run loses without it.
    effect: str
    #: What else of the target's module the wrapper relies on, each as ``Class.attribute``.
    uses: tuple[str, ...] = ()
    #: Whether only the old solution needs it: there the new one has ``--local_addr``.
    old_solution: bool = False

    @property
    def label(self) -> str:
        """Its name in reports and warnings."""
        return self.name if self.torch == _ALL else f"{self.name} ({self.torch})"

    def fits(self, release: Version) -> bool:
        """Whether this patch is for that release."""
        return SpecifierSet(self.torch).contains(release, prereleases=True)


@dataclass(frozen=True)
class Target:
    """A function of torch, and where it stands."""

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
    """The target is not there, or not as the patch needs it."""


def locate(target: str) -> Target:
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
    return Target(parent, attribute, found)


def check(patch: Patch) -> None:
    """See whether torch has what the patch relies on.

    :raises Missing: with what is not there, or other than expected.
    """
    parameters = inspect.signature(locate(patch.target).function).parameters
    names = tuple(parameters)
    more = list(parameters.values())[len(patch.expects) :]
    if names[: len(patch.expects)] != patch.expects or any(_is_required(parameter) for parameter in more):
        expected = ", ".join(patch.expects)
        raise Missing(f"{patch.target} has the parameters ({', '.join(names)}), not ({expected})")
    module_name, _, _ = patch.target.partition(":")
    module = import_module(module_name)
    for used in patch.uses:
        class_name, _, attribute = used.partition(".")
        if not _has(getattr(module, class_name, None), attribute):
            raise Missing(f"{module_name} has no {used}")


def _is_required(parameter: inspect.Parameter) -> bool:
    takes_any = parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return parameter.default is inspect.Parameter.empty and not takes_any


def _has(cls: Any, attribute: str) -> bool:
    """Whether objects of that class have the attribute.

    Without an object at hand: it is the class's own, a field of a dataclass, or one that a method sets.
    """
    if hasattr(cls, attribute) or attribute in getattr(cls, "__dataclass_fields__", ()):
        return True
    return any(_sets(code, attribute) for code in _methods_of(cls) if attribute in code.co_names)


def _methods_of(cls: Any) -> Iterator[CodeType]:
    for base in getattr(cls, "__mro__", ()):
        for member in vars(base).values():
            code = getattr(getattr(member, "__func__", member), "__code__", None)
            if code is not None:
                yield code


def _sets(code: CodeType, attribute: str) -> bool:
    return any(step.opname == "STORE_ATTR" and step.argval == attribute for step in dis.get_instructions(code))
