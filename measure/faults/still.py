"""A worker without torch: it waits until it is told to stop, and ends by the first signal, which it notes."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

directory = Path(os.environ["FAULTS_DIR"])


def note(number: int, _: Any) -> None:
    (directory / "signals.{RANK}.{TORCHELASTIC_RESTART_COUNT}".format(**os.environ)).write_text(
        signal.Signals(number).name
    )
    sys.exit(128 + number)


for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, note)
(directory / "started.{}.{}".format(os.environ["RANK"], os.getpid())).touch()
while not (directory / "stop").exists():
    time.sleep(0.05)
