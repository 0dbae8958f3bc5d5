"""torchrun for clusters whose nodes have several networks.

Importing this imports nothing: the parts of it are imported when they are asked for.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchrun_jsc._core import (
        Endpoint,
        Hostlist,
        Interface,
        __version__,
        expand_hostlist,
        fold_hostlist,
        interfaces,
    )
    from torchrun_jsc.cli import main
    from torchrun_jsc.errors import HostlistError, ResolveError, SettingError, TorchrunJscError
    from torchrun_jsc.fixes import apply_fixes
    from torchrun_jsc.resolve import resolve_endpoint

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

_IN_CORE = {"Endpoint", "Hostlist", "Interface", "__version__", "expand_hostlist", "fold_hostlist", "interfaces"}
_IN_ERRORS = {"HostlistError", "ResolveError", "SettingError", "TorchrunJscError"}


def __dir__() -> list[str]:
    """Return the public names too, those that have not been asked for yet among them."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> object:
    """Import a public name when it is asked for, or a module that releases up to 0.0.19 imported here."""
    place: object
    if name in _IN_CORE:
        import torchrun_jsc._core as place
    elif name in _IN_ERRORS:
        import torchrun_jsc.errors as place
    elif name == "resolve_endpoint":
        import torchrun_jsc.resolve as place
    elif name == "apply_fixes":
        import torchrun_jsc.fixes as place
    elif name == "main":
        import torchrun_jsc.cli as place
    elif name == "run":
        import torchrun_jsc.run as place

        return place
    elif name == "patching":
        import torchrun_jsc.patching as place

        return place
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(place, name)
    return globals()[name]
