"""The releases of torch that are run, and the Pythons that have wheels of them."""

from __future__ import annotations

from typing import NamedTuple


class Torch(NamedTuple):
    """One release."""

    version: str
    #: Pythons with a wheel of it, the one to use first. They differ, so that the package meets many of them.
    pythons: tuple[str, ...]
    #: What it needs and does not ask for.
    extra: tuple[str, ...] = ()

    def at_least(self, major: int, minor: int) -> bool:
        """Whether this is that release or a later one."""
        if self.version == NIGHTLY:
            return True
        found = self.version.split(".")
        return (int(found[0]), int(found[1])) >= (major, minor)

    @property
    def line(self) -> str:
        """``major.minor``."""
        return ".".join(self.version.split(".")[:2])


NIGHTLY = "nightly"
NIGHTLY_INDEX = "https://download.pytorch.org/whl/nightly/cpu"

# Wheels of torch before 2.3 were built against numpy 1.
_OLD_NUMPY = ("numpy<2",)

TORCHES = (
    Torch("1.9.1", ("3.8", "3.9"), _OLD_NUMPY),
    # It has wheels for 3.11, with which torchrun itself fails: https://github.com/meta-llama/llama/issues/86
    Torch("1.13.1", ("3.10", "3.9", "3.8"), _OLD_NUMPY),
    Torch("2.0.1", ("3.8", "3.11", "3.10", "3.9"), _OLD_NUMPY),
    Torch("2.3.1", ("3.11", "3.12", "3.10", "3.9", "3.8")),
    Torch("2.4.1", ("3.12", "3.11", "3.10", "3.9", "3.8")),
    Torch("2.5.1", ("3.9", "3.11", "3.10", "3.12", "3.13")),
    # With Python 3.9 it imports a package that it does not ask for; this project does.
    Torch("2.6.0", ("3.9", "3.11", "3.10", "3.12", "3.13")),
    Torch("2.8.0", ("3.13", "3.11", "3.10", "3.12", "3.9")),
    Torch("2.11.0", ("3.10", "3.11", "3.12", "3.13", "3.14")),
    Torch("2.13.0", ("3.12", "3.11", "3.10", "3.13", "3.14")),
    Torch("2.14.1", ("3.13", "3.11", "3.10", "3.12", "3.14")),
    Torch("2.15.0", ("3.11", "3.12", "3.13", "3.14")),
)

#: What a change must not break: the first and last release of each way to the workers' address.
CI = ("1.13.1", "2.4.1", "2.5.1", TORCHES[-1].version)


def find(version: str) -> Torch:
    """Return the release with that version; any other one is tried with the Pythons of its successor."""
    for torch in TORCHES:
        if torch.version == version:
            return torch
    if version == NIGHTLY:
        return TORCHES[-1]._replace(version=NIGHTLY)
    wanted = number_of(version)
    later = [torch for torch in TORCHES if number_of(torch.version) >= wanted]
    return (later or TORCHES[-1:])[0]._replace(version=version)


def number_of(version: str) -> tuple[int, ...]:
    """Return a version as numbers that sort."""
    return tuple(int(part) for part in version.split(".")[:3])
