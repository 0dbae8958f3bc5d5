"""The smallest script: what torchrun told it."""

from __future__ import annotations

import os

print("rank {} of {}".format(os.environ["RANK"], os.environ["WORLD_SIZE"]))
