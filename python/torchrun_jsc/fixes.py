"""Patch this process, for the command line and for programs that drive torchrun themselves."""

from __future__ import annotations

import os
import sys

from torchrun_jsc.errors import TorchrunJscError


def apply_fixes(strict: bool = True) -> bool:
    """Make every launch of this process with torchrun's functions get the fixes; a second call changes nothing.

    ``TORCHRUN_JSC_PREFER_OLD_SOLUTION`` is read here, the other settings when something is launched.

    :param strict: raise where torch is not supported, and not only say so.
    :returns: whether the installed release of torch is supported.
    :raises TorchrunJscError: with ``strict``, where it is not.
    :raises SettingError: where the variable has a value that cannot be used.
    """
    # Late, so that a script that only asks for its endpoint does not pay for reading metadata and versions.
    from torchrun_jsc import patches
    from torchrun_jsc.settings import PREFER_OLD_SOLUTION
    from torchrun_jsc.torch_version import OLDEST, UNTRIED, release_of, torch_version

    try:
        torch = torch_version()
        if release_of(torch) < OLDEST:
            raise TorchrunJscError(
                f"PyTorch {torch} has no torchrun API, which torchrun_jsc is made for: {OLDEST} is the first that has"
            )
    except TorchrunJscError:
        if strict:
            raise
        return False
    old_solution: bool = PREFER_OLD_SOLUTION.read(os.environ)
    if release_of(torch) >= UNTRIED:
        solution = "the functions of its predecessors" if old_solution else "--local_addr as in its predecessors"
        print(
            f"torchrun_jsc: warning: PyTorch {torch} is newer than this version of torchrun_jsc knows; using {solution}",
            file=sys.stderr,
        )
    patches.apply(torch, old_solution=old_solution)
    return True
