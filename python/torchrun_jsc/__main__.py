"""``python -m torchrun_jsc``."""

from __future__ import annotations

import sys

from torchrun_jsc.cli import main

if __name__ == "__main__":
    # The name in torchrun's usage line.
    sys.argv[0] = "torchrun_jsc"
    main()
