"""Patch this process, for the command line and for programs that drive torchrun themselves."""

from __future__ import annotations

import os

from torchrun_jsc.errors import TorchrunJscError
from torchrun_jsc.messages import warn_once_a_node


def apply_fixes(strict: bool = True) -> bool:
    """Make every launch of this process with torchrun's functions get the fixes; a second call changes nothing.

    ``TORCHRUN_JSC_PREFER_OLD_SOLUTION`` is read here, the other settings when something is launched.

    :param strict: raise where torch is not supported, and not only say so.
    :returns: whether the installed release of torch is supported.
    :raises TorchrunJscError: with ``strict``, where it is not.
    :raises SettingError: where the variable has a value that cannot be used.
    """
    # Late, so that a script that only asks for its endpoint does not pay for reading metadata and versions.
    from torchrun_jsc import patcher
    from torchrun_jsc.patches.table import PATCHES
    from torchrun_jsc.settings import PREFER_OLD_SOLUTION
    from torchrun_jsc.torch_version import UNTRIED, release_of, supported_version

    try:
        torch = supported_version()
    except TorchrunJscError:
        if strict:
            raise
        return False
    old_solution: bool = PREFER_OLD_SOLUTION.read(os.environ)
    if release_of(torch) >= UNTRIED:
        solution = "torch's functions" if old_solution else "--local_addr"
        warn_once_a_node([f"PyTorch {torch} is newer than torchrun_jsc knows; using {solution} as in its predecessors"])
    patcher.apply(PATCHES, torch, old_solution=old_solution)
    return True
