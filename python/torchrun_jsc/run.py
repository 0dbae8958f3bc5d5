"""``python -m torchrun_jsc.run``: the name that releases up to 0.0.19 had for ``python -m torchrun_jsc``."""

from __future__ import annotations

import sys

from torchrun_jsc.cli import main

__all__ = ["main", "torch_run_main"]


def torch_run_main() -> None:
    """Run torchrun with this process's arguments and no further fixes."""
    from torch.distributed.run import main as torchrun

    torchrun()


if __name__ == "__main__":
    # The name in torchrun's usage line.
    sys.argv[0] = "torchrun_jsc"
    main()
