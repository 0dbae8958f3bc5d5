"""The command ``torchrun_jsc``: torchrun's own main, after the fixes."""

from __future__ import annotations

from torchrun_jsc.errors import TorchrunJscError
from torchrun_jsc.fixes import apply_fixes
from torchrun_jsc.messages import exit_with


def main(args: list[str] | None = None) -> None:
    """Run torchrun with ``args`` (default: this process's own).

    Exits with status 2 and one line on stderr where the launch cannot work.
    """
    try:
        apply_fixes()
        from torch.distributed.run import main as torchrun

        torchrun(args)
    except TorchrunJscError as error:
        exit_with(error)
