"""``python -m torchrun_jsc``, and the command ``torchrun_jsc``."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main() -> None:
    """Run torchrun with this process's arguments."""
    launcher()()


def launcher() -> Any:
    """Return what runs this process's arguments: torch's own main with the fixes, or alone.

    With ``--standalone`` nothing else of this package is loaded: torch looks up each module that is loaded and each
    file on the stack, again and again, and on the file system of a cluster each look-up is a round trip.
    """
    if _is_standalone(sys.argv[1:]):
        try:
            from torch.distributed.run import main as torchrun
        except ImportError:
            # The other way in says what is wrong with torch.
            pass
        else:
            return torchrun
    from torchrun_jsc.cli import main as torchrun_jsc

    return torchrun_jsc


def _is_standalone(args: list[str]) -> bool:
    """Whether this is a launch that the plan leaves to torch, as far as that can be seen without torch's parser.

    What follows an option may be its value, so only options up to the first other word count.
    """
    options = next((args[:place] for place, word in enumerate(args) if not word.startswith("-")), [])
    asks_for_more = any(name.startswith(("TORCHRUN_JSC_", "PET_")) for name in os.environ) or "auto" in " ".join(args)
    return "--standalone" in options and not asks_for_more


if __name__ == "__main__":
    # The name in torchrun's usage line.
    sys.argv[0] = "torchrun_jsc"
    # Not by main(), which would stay on the stack.
    launcher()()
