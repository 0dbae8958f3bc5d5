"""The cluster is what the other tests take it for."""

import contextlib
import subprocess
from pathlib import Path

import pytest

from slurm.lab import CLUSTER, Cluster


def running(text: str) -> bool:
    """Whether a process of this machine has `text` in its command line."""
    found = False
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has just ended
            found = found or text.encode() in path.read_bytes()
    return found


def reach(cluster: Cluster, address: str) -> bool:
    """Whether the first node's connection to a closed port is refused, that is, its packets arrive."""
    probe = f"import socket; socket.create_connection(('{address}', 1), 5)"
    return "ConnectionRefusedError" in cluster.srun(["python3", "-c", probe], nodes=1).stderr


def test_nodes_have_their_own_names_in_order(cluster: Cluster) -> None:
    run = cluster.srun(["sh", "-c", "echo $SLURM_NODEID $(hostname) $(hostname -f)"], nodes=4)
    assert sorted(run.stdout.splitlines()) == [
        "{0}: {0} jwb000{1} jwb000{1}.lab.test".format(k, k + 1) for k in range(4)
    ]


def test_eth0_is_closed_and_ib0_open(cluster: Cluster) -> None:
    assert not reach(cluster, "jwb0002")
    assert reach(cluster, "jwb0002i")


@pytest.mark.cluster(OPEN_ETH="1")
def test_eth0_can_be_open(cluster: Cluster) -> None:
    assert reach(cluster, "jwb0002")


@pytest.mark.cluster(NODES="b.cl a.cl", DOCKER0="1", HOSTS="own", LOOPBACK_NAME="1", ALIAS="trainer", IPV6="1")
def test_switches(cluster: Cluster) -> None:
    # Slurm sorts the nodes by name, so the first task is on the second node.
    run = cluster.srun(["sh", "-c", "getent hosts a.cl b.cl; ip -br -4 address show docker0"])
    seen = {line[3:].split()[0] for line in run.stdout.splitlines() if line.startswith("0")}
    assert seen == {"127.0.1.1", "10.10.0.2", "docker0"}, str(run)
    alias = cluster.srun(["getent", "hosts", "trainer"], nodes=1, options=["--nodelist=b.cl"])
    assert alias.stdout.split() == ["0:", "10.20.0.1", "bi.cl", "bi", "trainer"], str(alias)
    assert reach(cluster, "fd00:20::1")


def test_jobs_of_several_components_and_steps(cluster: Cluster) -> None:
    show = 'echo "$SLURM_NODEID $(hostname)"'
    het = cluster.head(["salloc", "-Q", "-N1", ":", "-N2", "srun", "--het-group=1", "sh", "-c", show])
    assert sorted(het.stdout.splitlines()) == ["0 jwb0002", "1 jwb0003"], str(het)
    step = cluster.head(["salloc", "-Q", "-N4", "srun", "--relative=2", "-N2", "sh", "-c", show])
    assert sorted(step.stdout.splitlines()) == ["0 jwb0003", "1 jwb0004"], str(step)


def test_a_second_cluster_does_not_see_the_first(cluster: Cluster, tmp_path: Path) -> None:
    second = Cluster({"NODES": "jwb0001 other"}, lab=tmp_path / "lab")
    try:
        assert sorted(second.srun(["hostname"]).stdout.split()) == ["0:", "1:", "jwb0001", "other"]
        assert cluster.srun(["hostname"], nodes=4).code == 0
    finally:
        second.down()
    assert not (tmp_path / "lab").exists()
    assert not running(str(tmp_path))


def test_up_removes_what_a_killed_run_left(cluster: Cluster) -> None:
    again = Cluster(cluster.switches, Path(cluster.env["LAB"]))
    assert again.srun(["hostname"], nodes=4).code == 0


def test_a_job_that_hangs_is_ended(cluster: Cluster) -> None:
    with pytest.raises(TimeoutError):
        cluster.srun(["sleep", "1234.5"], timeout=1)
    assert not running("1234.5")
    assert cluster.srun(["true"]).code == 0


def test_cannot_run_without_root() -> None:
    # The other user reads the script from stdin, since this tree may lie below a directory that only root may enter.
    other = ["setpriv", "--reuid=65534", "bash", "-s", "up"]
    with Path(CLUSTER).open() as script:
        run = subprocess.run(other, cwd="/", stdin=script, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (3, "cluster: cannot run here: not root\n")
