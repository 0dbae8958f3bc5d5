"""torchrun for clusters whose nodes have several networks.

Importing this imports neither torch nor what only the launcher needs.
"""

from __future__ import annotations

from torchrun_jsc._core import (
    Endpoint,
    Hostlist,
    Interface,
    __version__,
    expand_hostlist,
    fold_hostlist,
    interfaces,
)
from torchrun_jsc.errors import HostlistError, ResolveError, SettingError, TorchrunJscError
from torchrun_jsc.resolve import resolve_endpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchrun_jsc.cli import main
    from torchrun_jsc.fixes import apply_fixes

__all__ = [
    "Endpoint",
    "Hostlist",
    "HostlistError",
    "Interface",
    "ResolveError",
    "SettingError",
    "TorchrunJscError",
    "__version__",
    "apply_fixes",
    "expand_hostlist",
    "fold_hostlist",
    "interfaces",
    "main",
    "resolve_endpoint",
]

#: What is imported when it is asked for: the launcher's part, and modules that releases up to 0.0.19 imported here.
_LATE = {
    "apply_fixes": ("torchrun_jsc.fixes", "apply_fixes"),
    "main": ("torchrun_jsc.cli", "main"),
    "patching": ("torchrun_jsc.patching", ""),
    "run": ("torchrun_jsc.run", ""),
}


def __getattr__(name: str) -> object:
    """Import the rest of the public names when they are asked for."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module_name, attribute = _LATE[name]
    module = import_module(module_name)
    return getattr(module, attribute) if attribute else module
