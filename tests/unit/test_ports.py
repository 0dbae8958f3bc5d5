"""The port that comes from the ids of job and step, as a script sees it."""

from __future__ import annotations

import pytest

from surroundings import STEP
from torchrun_jsc import resolve_endpoint


def port(**ids):
    # An address, so that no name is looked up.
    return resolve_endpoint("10.20.0.1", environ={**STEP, **ids}).port


def test_many_jobs_have_many_ports():
    ports = {port(SLURM_JOB_ID=str(job)) for job in range(1_000_000, 1_010_000)}
    assert len(ports) >= 6000
    assert min(ports) >= 20000
    assert max(ports) < 29400


def test_it_is_the_same_on_all_tasks_of_a_step():
    ports = {
        port(SLURM_NODEID=str(node), SLURMD_NODENAME=f"a0{node + 1}", SLURM_PROCID=str(task), SLURM_LOCALID="0")
        for node in (0, 1)
        for task in range(8)
    }
    assert len(ports) == 1


def test_neighbours_do_not_meet():
    """Jobs, steps and array tasks that may share a node."""
    jobs = [port(SLURM_JOB_ID=str(job), SLURM_STEP_ID=str(step)) for job in range(11, 31) for step in range(10)]
    assert len(set(jobs)) == len(jobs)
    tasks = [port(SLURM_JOB_ID=f"1234_{task}") for task in range(500)]
    assert len(set(tasks)) == len(tasks)


def test_it_depends_on_the_cluster():
    assert port() != port(SLURM_CLUSTER_NAME="other")


@pytest.mark.parametrize(
    ("job", "step"), [("1234_7", "0"), ("88.batch", "batch"), ("4294967295", "4294967294"), ("0", "0"), ("x", "-1")]
)
def test_unusual_ids_have_a_port(job, step):
    assert 20000 <= port(SLURM_JOB_ID=job, SLURM_STEP_ID=step) < 29400


def test_no_ids():
    """A step without ids still has its port, the same everywhere."""
    without = {name: value for name, value in STEP.items() if name not in ("SLURM_JOB_ID", "SLURM_STEP_ID")}
    assert resolve_endpoint("10.20.0.1", environ=without).port == resolve_endpoint("10.20.0.1", environ=without).port


def test_the_users_port_comes_first():
    environ = {**STEP, "TORCHRUN_JSC_PORT": "12345"}
    assert resolve_endpoint("10.20.0.1", environ=environ).port == 12345
    assert resolve_endpoint("10.20.0.1", environ={**environ, "MASTER_PORT": "23456"}).port == 23456
    assert resolve_endpoint("10.20.0.1", port=34567, environ={**environ, "MASTER_PORT": "23456"}).port == 34567
    assert resolve_endpoint("10.20.0.1:45678", environ=environ).port == 45678
