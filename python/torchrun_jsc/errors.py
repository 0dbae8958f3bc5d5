"""What can go wrong: each class says what a caller may do about it."""

from __future__ import annotations


class TorchrunJscError(RuntimeError):
    """A launch that cannot work, with the reason in one or two lines."""


class HostlistError(TorchrunJscError, ValueError):
    """A node list that Slurm would not expand."""


class ResolveError(TorchrunJscError, OSError):
    """A host name without a usable address."""

    # OSError's constructor would otherwise take the message apart.
    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        return self.message


class SettingError(TorchrunJscError, ValueError):
    """An environment variable or an option with a value that cannot be used."""
