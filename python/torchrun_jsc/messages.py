"""What is said on stderr: one line each, in one form."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable, NoReturn

    from torchrun_jsc.errors import TorchrunJscError

#: Exit status where the command line or the environment cannot be used; argparse has the same.
USAGE_ERROR = 2


def exit_with(error: TorchrunJscError) -> NoReturn:
    """Print ``error`` and exit with status 2."""
    print(f"torchrun_jsc: error: {error}", file=sys.stderr)
    sys.exit(USAGE_ERROR)


def show(text: str) -> None:
    """Print what was asked for beside the program's own output."""
    for line in text.splitlines():
        print(f"torchrun_jsc: {line}".rstrip(), file=sys.stderr)


def warn(*lines: str) -> None:
    """Print a line for each warning."""
    for line in lines:
        print(f"torchrun_jsc: warning: {line}", file=sys.stderr)


def warn_once_a_node(lines: Iterable[str]) -> None:
    """Print warnings that all tasks of a node share, from the first of them."""
    if os.environ.get("SLURM_LOCALID", "0") == "0":
        warn(*lines)
