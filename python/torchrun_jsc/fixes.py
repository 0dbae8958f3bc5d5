"""Patch this process, for the command line and for programs that drive torchrun themselves."""

from __future__ import annotations

import sys

from torchrun_jsc import patches
from torchrun_jsc.errors import TorchrunJscError
from torchrun_jsc.torch_version import OLDEST, UNTRIED, torch_version


def apply_fixes(strict: bool = True) -> bool:
    """Make every launch of this process with torchrun's functions get the fixes; a second call changes nothing.

    :param strict: raise where torch is not supported, and not only say so.
    :returns: whether the installed release of torch is supported.
    :raises TorchrunJscError: with ``strict``, where it is not.
    """
    try:
        torch = torch_version()
        if torch < OLDEST:
            raise TorchrunJscError(f"PyTorch {torch} has no torchrun API: {OLDEST} is the first that has")
    except TorchrunJscError:
        if strict:
            raise
        return False
    if torch >= UNTRIED:
        print(
            f"torchrun_jsc: warning: PyTorch {torch} is newer than this version knows; trying what fits {UNTRIED}'s "
            "predecessors",
            file=sys.stderr,
        )
    patches.apply(torch)
    return True
