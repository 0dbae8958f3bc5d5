"""A plugin of pytest that puts torchrun_jsc in the place of torchrun, if UPSTREAM_LAUNCHER says so."""

from __future__ import annotations

import os

from torch.distributed import run

import torchrun_jsc

torchrun = run.main


# Of this module and not of a function, so that a process that a test starts finds it by its name.
def main(args: list[str] | None = None) -> None:
    """Run torchrun_jsc; it looks up torchrun's own function when it is called."""
    run.main = torchrun
    try:
        torchrun_jsc.main(args)
    finally:
        run.main = main


def pytest_configure() -> None:
    if os.environ["UPSTREAM_LAUNCHER"] == "torchrun_jsc":
        run.main = main
        # For tests of torch.distributed.launch and of torch.distributed.launcher.api.
        torchrun_jsc.apply_fixes()
