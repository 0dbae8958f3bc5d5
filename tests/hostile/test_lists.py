"""Folding and expanding are each other's inverse on all lists that Slurm takes."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostile.inputs import is_harmless
from torchrun_jsc import HostlistError, expand_hostlist, fold_hostlist

NUMBER = st.builds("{:0{}}".format, st.integers(0, 120) | st.integers(990, 1010), st.integers(1, 5))
RANGE = NUMBER | st.builds(
    lambda first, more: f"{first}-{int(first) + more:0{len(first)}}", NUMBER, st.integers(0, 5)
)
BRACKET = st.lists(RANGE, min_size=1, max_size=4).map(lambda ranges: "[{}]".format(",".join(ranges)))
PLAIN = st.text("abn-.", min_size=1, max_size=3)
#: All that Slurm 22.05 takes; later releases take text behind a bracket too.
NAME = st.builds("{}{}{}".format, PLAIN, st.just("") | BRACKET.map("{}n".format), BRACKET | NUMBER | st.just(""))
OLD_NAME = st.builds("n{}{}".format, PLAIN, BRACKET | NUMBER | st.just(""))
LIST = st.lists(NAME, max_size=4).map(",".join)
OLD_LIST = st.lists(OLD_NAME, min_size=1, max_size=4).map(",".join)


@given(LIST)
def test_folding_is_the_inverse_of_expanding(expression: str) -> None:
    names = expand_hostlist(expression)
    folded = fold_hostlist(names)
    assert expand_hostlist(folded) == names
    # The folded form is the only one.
    assert fold_hostlist(expand_hostlist(folded)) == folded


@given(st.lists(st.text(min_size=1, max_size=8) | PLAIN | NUMBER, max_size=8))
def test_names_are_refused_or_come_back(names: list[str]) -> None:
    try:
        folded = fold_hostlist(names)
    except HostlistError as error:
        assert is_harmless(str(error))  # noqa: PT017
    else:
        assert expand_hostlist(folded) == names


@pytest.mark.skipif(shutil.which("scontrol") is None, reason="no scontrol here")
@settings(max_examples=40)
@given(OLD_LIST)
def test_as_scontrol_does(tmp_path_factory: pytest.TempPathFactory, expression: str) -> None:
    conf = tmp_path_factory.getbasetemp() / "slurm.conf"
    conf.write_text("ClusterName=x\nSlurmctldHost=localhost\n")

    def scontrol(what: str, text: str) -> str:
        command = ["scontrol", "show", what, text]
        env = {"SLURM_CONF": str(conf), "PATH": "/usr/bin:/bin"}
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.rstrip("\n")

    names = scontrol("hostnames", expression).split("\n")
    assert expand_hostlist(expression) == names
    assert fold_hostlist(names) == scontrol("hostlist", ",".join(names))
