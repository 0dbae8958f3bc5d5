"""torch's version, from its metadata: importing torch takes a second and thousands of file accesses."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from packaging.version import InvalidVersion, Version

from torchrun_jsc.errors import TorchrunJscError

#: The first torch with torchrun's programming interface.
OLDEST = Version("1.9")
#: The first torch that is not known to work.
UNTRIED = Version("3")


def torch_version() -> Version:
    """Return the version of torch that is installed, without a vendor's mark (``2.6.0a0`` for ``2.6.0a0+git1a2b``).

    :raises TorchrunJscError: where there is none, or one whose version cannot be read.
    """
    try:
        text = version("torch")
    except PackageNotFoundError:
        raise TorchrunJscError("PyTorch is not installed here") from None
    try:
        return Version(Version(text).public)
    except (InvalidVersion, TypeError):
        # Metadata that is broken gives None.
        raise TorchrunJscError(f"cannot read the version of PyTorch: {text!r}") from None


def supported_version() -> Version:
    """Return the version of torch that is installed.

    :raises TorchrunJscError: as :func:`torch_version`, and where it is too old.
    """
    torch = torch_version()
    if release_of(torch) < OLDEST:
        raise TorchrunJscError(
            f"PyTorch {torch} has no torchrun API, which torchrun_jsc is made for: {OLDEST} is the first that has"
        )
    return torch


def release_of(torch: Version) -> Version:
    """Return the release that a build leads to: 2.6.0 for ``2.6.0a0``."""
    return Version(torch.base_version)
