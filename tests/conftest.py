"""The `cluster` fixture: a real Slurm cluster on this machine (tests/slurm)."""

import os
import sys
from pathlib import Path
from typing import Iterator

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # whatever pytest's import mode

from slurm.lab import CannotRun, Cluster, Lab


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "cluster(**switches): settings of tests/slurm/cluster, as in OPEN_ETH='1'")


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    lab = Lab()
    yield lab
    lab.down()


@pytest.fixture
def cluster(request: pytest.FixtureRequest, lab: Lab) -> Cluster:
    """The cluster that the test's `cluster` mark describes. Skips where there can be none."""
    mark = request.node.get_closest_marker("cluster")
    try:
        return lab.cluster(dict(mark.kwargs) if mark else {})
    except CannotRun as reason:
        if os.environ.get("REQUIRE_SLURM") == "1":
            pytest.fail(str(reason), pytrace=False)
        pytest.skip(str(reason))
