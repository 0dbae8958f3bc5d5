"""What all tests share: clean surroundings, a real Slurm cluster, and which of them run side by side."""

from __future__ import annotations

from typing import Iterator

import pytest

from slurm.lab import CannotRun, Cluster, Lab
from surroundings import foreign, is_required
from torchrun_jsc import patcher


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "cluster(**switches): settings of tests/slurm/cluster, as in OPEN_ETH='1'")
    config.addinivalue_line("markers", "launches: starts a job on this machine, which takes seconds")
    # pytest-xdist's own, also where that is not installed.
    config.addinivalue_line("markers", "xdist_group(name): tests that one process runs")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that use clusters may run beside others, file by file: each process has a cluster of its own. So may those
    that install another release of torch.

    All others stay together, since some launch on this machine itself and want the same port.
    """
    for item in items:
        apart = {"lab", "installed"}.intersection(getattr(item, "fixturenames", ()))
        item.add_marker(pytest.mark.xdist_group(item.path.name if apart else "here"))


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing foreign is set and nothing of torch patched, before and after each test."""
    for name in foreign():
        monkeypatch.delenv(name)
    patcher.undo()
    yield
    patcher.undo()


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
        if is_required(newer=mark is not None and "SLURM_ROOT" in mark.kwargs):
            pytest.fail(str(reason), pytrace=False)
        pytest.skip(str(reason))
