"""What is known of an object of torch's, noted beside it.

Written into the object it would go along with copies, which are changed and launched as something else, and a plan
cannot be pickled.
"""

from __future__ import annotations

import weakref
from typing import Any, Generic, TypeVar

Noted = TypeVar("Noted")


class Beside(Generic[Noted]):
    """Notes on objects, by identity: equal ones have notes of their own. A note ends with its object."""

    def __init__(self) -> None:
        """Begin without notes."""
        # The reference keeps the id from being another object's; some of torch's objects cannot be hashed.
        self._notes: dict[int, tuple[weakref.ref[Any], Noted]] = {}

    def get(self, thing: Any) -> Noted | None:
        """Return what was noted on ``thing``, or None."""
        _, note = self._notes.get(id(thing), (None, None))
        return note

    def set(self, thing: Any, note: Noted) -> None:
        """Note it, in place of what was noted before."""
        key = id(thing)
        self._notes[key] = (weakref.ref(thing, lambda _: self._notes.pop(key, None)), note)
