"""The mark of tests that take long, where others of their kind always run."""

from __future__ import annotations

import pytest

from surroundings import runs_all

takes_long = pytest.mark.skipif(not runs_all(), reason="REQUIRE_SLURM=all runs those that take long")
