"""The names under which releases up to 0.0.19 had the fixes; new programs call :func:`torchrun_jsc.apply_fixes`."""

from __future__ import annotations

from torchrun_jsc import patcher
from torchrun_jsc.fixes import apply_fixes
from torchrun_jsc.patches.table import PATCHES
from torchrun_jsc.torch_version import torch_version as get_torch_ver

__all__ = ["fix_torch_run", "fix_torch_run_old", "get_torch_ver"]


def fix_torch_run() -> None:
    """Patch this process; the old solution only where it is asked for."""
    apply_fixes()


def fix_torch_run_old() -> None:
    """Patch this process with the old solution."""
    apply_fixes()
    patcher.apply(PATCHES, get_torch_ver(), old_solution=True)
