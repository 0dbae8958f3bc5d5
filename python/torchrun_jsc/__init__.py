"""torchrun for clusters whose nodes have several networks."""

from __future__ import annotations

from torchrun_jsc._core import __version__, expand_hostlist, fold_hostlist, interfaces
from torchrun_jsc.cli import main
from torchrun_jsc.errors import HostlistError, ResolveError, SettingError, TorchrunJscError
from torchrun_jsc.fixes import apply_fixes

__all__ = [
    "HostlistError",
    "ResolveError",
    "SettingError",
    "TorchrunJscError",
    "__version__",
    "apply_fixes",
    "expand_hostlist",
    "fold_hostlist",
    "interfaces",
    "main",
]
