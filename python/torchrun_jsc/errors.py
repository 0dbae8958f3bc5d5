"""What can go wrong: each class says what a caller may do about it."""

from __future__ import annotations


class TorchrunJscError(RuntimeError):
    """A launch that cannot work, with the reason in one or two lines."""


class HostlistError(TorchrunJscError, ValueError):
    """A node list that Slurm would not expand."""


class ResolveError(TorchrunJscError, OSError):
    """A host name without a usable address."""

    def __str__(self) -> str:
        """Return the message; OSError's own would make an error number of it."""
        return str(self.args[0])


class SettingError(TorchrunJscError, ValueError):
    """An environment variable or an option with a value that cannot be used."""
