"""What is said on stderr: one line each, in one form."""

from __future__ import annotations

import os
import sys

from torchrun_jsc._core import is_first_of_node as is_first_task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn, Sequence

    from torchrun_jsc.errors import TorchrunJscError

#: Exit status where the command line or the environment cannot be used; argparse has the same.
USAGE_ERROR = 2

#: Characters of a line; of longer ones the middle, which is somebody's long value, is left out.
_LONGEST = 1000


def plain(text: str) -> str:
    """Return ``text`` with what a terminal would act on, and what is no character, written out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _shortened(text: str) -> str:
    """Return ``text`` with its start and its end, where the name and the reason are."""
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]} ... {text[-half:]}"


def _say(line: str) -> None:
    """Print a line, if there is a stderr: print() would take stdout in its place."""
    if sys.stderr is None:
        return
    try:  # noqa: SIM105 (contextlib is one more file to read)
        print(f"torchrun_jsc: {_shortened(plain(line))}".rstrip(), file=sys.stderr)
    except OSError:
        # A full disk. What is done, and the exit status, are the same.
        pass


def exit_with(error: TorchrunJscError) -> NoReturn:
    """Print ``error`` and exit with status 2."""
    _say(f"error: {error}")
    sys.exit(USAGE_ERROR)


def show(text: str) -> None:
    """Print what was asked for beside the program's own output."""
    for line in text.splitlines():
        _say(line)


def warn(*lines: str) -> None:
    """Print a line for each warning."""
    for line in lines:
        _say(f"warning: {line}")


def is_first_of_node() -> bool:
    """Whether this is the first task of its node, as far as Slurm says."""
    return is_first_task(os.environ)


def warn_once_a_node(lines: Sequence[str]) -> None:
    """Print warnings that all tasks of a node share, from the first of them."""
    if lines and is_first_of_node():
        warn(*lines)
