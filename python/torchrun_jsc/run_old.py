"""``python -m torchrun_jsc.run_old``: as ``torchrun_jsc``, with the old solution; a name of releases up to 0.0.19."""

from __future__ import annotations

import os
import sys

from torchrun_jsc.cli import main as torchrun_jsc


def main() -> None:
    """Run torchrun with this process's arguments, as with ``TORCHRUN_JSC_PREFER_OLD_SOLUTION=1``."""
    os.environ["TORCHRUN_JSC_PREFER_OLD_SOLUTION"] = "1"
    torchrun_jsc()


if __name__ == "__main__":
    # The name in torchrun's usage line.
    sys.argv[0] = "torchrun_jsc"
    main()
