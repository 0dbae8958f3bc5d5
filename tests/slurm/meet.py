"""A worker that waits for those of other launches, so that all of them run at once; then it reports.

meet.py DIRECTORY NUMBER: each worker leaves a file, and goes on when there are so many.
"""

import os
import sys
import time
from pathlib import Path

from report import report

directory, number = Path(sys.argv[1]), int(sys.argv[2])
launch = "{SLURM_JOB_ID}.{SLURM_STEP_ID}".format(**os.environ)
(directory / "{}.{}".format(launch, os.environ["RANK"])).touch()
end = time.monotonic() + 60
while len(list(directory.iterdir())) < number:
    if time.monotonic() > end:
        sys.exit(f"meet.py: only {sorted(path.name for path in directory.iterdir())} came")
    time.sleep(0.05)
report(launch=launch)
