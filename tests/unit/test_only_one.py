"""Two launches on one node that would mix are refused."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from torchrun_jsc.errors import TorchrunJscError
from torchrun_jsc.preflight.only_one import only_one


def plan(**more: Any) -> Any:
    known = {"fills": {"rdzv_endpoint": ""}, "endpoint": "n1i:23456", "local_id": 0, "node": "n1"}
    return SimpleNamespace(**{**known, **more})


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such names")
def test_the_second_one_is_refused_as_long_as_the_first_one_runs() -> None:
    with only_one(plan(), "77"):
        with pytest.raises(
            TorchrunJscError, match="endpoint n1i:23456 and the id 77 runs on node n1 already"
        ), only_one(plan(), "77"):
            pass
        with pytest.raises(TorchrunJscError), only_one(plan(), "77"):
            pass
    with only_one(plan(), "77"):
        pass


@pytest.mark.parametrize(
    ("more", "run_id"), [({"endpoint": "n1i:23457"}, "77"), ({"local_id": 1}, "77"), ({}, "78"), ({"fills": {}}, "77")]
)
def test_what_does_not_mix_runs_side_by_side(more: dict[str, Any], run_id: str) -> None:
    with only_one(plan(), "77"), only_one(plan(**more), run_id):
        pass
