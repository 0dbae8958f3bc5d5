"""Node lists from Python: the answers of a real Slurm, and what a list can do without being expanded."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from torchrun_jsc import Hostlist, HostlistError, expand_hostlist, fold_hostlist

CASES = json.loads((Path(__file__).parent.parent / "golden" / "hostlists.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=[case["expr"][:60] for case in CASES])
def test_golden(case):
    if case.get("error"):
        with pytest.raises(HostlistError):
            expand_hostlist(case["expr"])
        return
    hosts = expand_hostlist(case["expr"])
    if "hosts" in case:
        assert hosts == case["hosts"]
        return
    assert (len(hosts), hosts[0], hosts[-1]) == (case["count"], case["first"], case["last"])
    assert hashlib.sha256("\n".join(hosts).encode()).hexdigest() == case["sha256"]


@pytest.mark.skipif(shutil.which("scontrol") is None, reason="no scontrol here")
@pytest.mark.parametrize("expression", ["n[9-11],m[01,3]", "r[0-1]b[2-3]", "a,b,a", "x[007-012]y[1-2]z[3-4]"])
def test_the_same_as_the_scontrol_of_this_machine(expression, tmp_path):
    conf = tmp_path / "slurm.conf"
    conf.write_text("ClusterName=x\nSlurmctldHost=localhost\n")
    done = subprocess.run(
        ["scontrol", "show", "hostnames", expression],
        env={"SLURM_CONF": str(conf), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert expand_hostlist(expression) == done.stdout.split()


def test_a_bomb_costs_nothing_until_it_is_expanded():
    bomb = Hostlist("n[0-65535][0-65535]")
    assert len(bomb) == 65536**2
    assert bomb[-1] == "n6553565535"
    assert bomb[bomb.position("n1234")] == "n1234"
    assert bomb.position("m1") is None
    with pytest.raises(IndexError):
        bomb[65536**2]
    with pytest.raises(HostlistError, match="limit"):
        expand_hostlist("n[0-65535][0-65535]")


def test_a_list_is_a_sequence():
    assert list(Hostlist("n[1-3]")) == ["n1", "n2", "n3"]
    with pytest.raises(IndexError):
        Hostlist("n[1-3]")[-4]


def test_folding_is_the_inverse():
    for names in (["n1", "n2", "n3", "n5"], ["a", "b", "a"], ["n09", "n10", "n011"], []):
        assert expand_hostlist(fold_hostlist(names)) == names
    assert fold_hostlist(["n1", "n2", "n3", "n5"]) == "n[1-3,5]"
