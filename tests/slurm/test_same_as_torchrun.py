"""What torchrun does right stays as it is: run both under Slurm and compare."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from slurm.lab import REPORT, TORCHRUN, TORCHRUN_JSC, Cluster, Run


def both(cluster: Cluster, arguments: list[str]) -> tuple[Run, Run]:
    """Run plain torchrun and torchrun_jsc side by side."""

    def run(launcher: str) -> Run:
        # Without labels, for which srun breaks long lines. Help is folded to the terminal's width.
        srun = ["srun", "--nodes=1", "--nodelist=jwb0001"]
        return cluster.head([*srun, launcher, *arguments], env={"COLUMNS": "1000"})

    with ThreadPoolExecutor() as pool:
        plain, ours = pool.map(run, [TORCHRUN, TORCHRUN_JSC])
    assert plain.code == ours.code, str(plain) + "\n" + str(ours)
    return plain, ours


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--help"], id="help"),
        pytest.param(["--an-option-of-the-future", "script.py"], id="unknown-option"),
        pytest.param(["--print-completion", "bash"], id="completion"),
    ],
)
def test_messages(cluster: Cluster, arguments: list[str]) -> None:
    plain, ours = both(cluster, arguments)
    assert ours.stdout.replace("torchrun_jsc", "torchrun") == plain.stdout
    assert ours.stderr.replace("torchrun_jsc", "torchrun") == plain.stderr


def test_a_value_with_blanks_and_braces(cluster: Cluster) -> None:
    help_text = cluster.srun([TORCHRUN, "--help"], nodes=1).stdout
    if "--log-line-prefix-template" not in help_text:
        pytest.skip("this torch has no --log-line-prefix-template")
    prefix = ["--log-line-prefix-template", "${role_name} of ${rank}: ", "--tee=3"]
    plain, ours = both(cluster, ["--standalone", *prefix, "--no-python", "echo", "text"])
    assert "default of 0: text" in ours.stdout, str(ours)
    assert ours.stdout == plain.stdout


def test_standalone(cluster: Cluster) -> None:
    """Also on a node that is not the first of its step."""
    other = ["sh", "-c", 'test "$SLURM_NODEID" = 0 || exec "$@"', "-", TORCHRUN_JSC]
    run = cluster.srun([*other, "--standalone", "--nproc-per-node=2", REPORT])
    assert run.code == 0, str(run)
    assert [(rank["node"], rank["RANK"]) for rank in run.ranks()] == [("jwb0002", "0"), ("jwb0002", "1")], str(run)


def test_exit_code_of_a_failed_worker(cluster: Cluster) -> None:
    _, ours = both(cluster, ["--standalone", "--no-python", "sh", "-c", "exit 3"])
    assert ours.code == 1, str(ours)
    assert "exitcode  : 3" in ours.stderr, str(ours)


def test_sigterm_to_the_launcher(cluster: Cluster) -> None:
    """It reaches the workers, and the launcher ends as torchrun's does."""
    # A launcher that gets the signal while it is still starting its workers does not end them (torch's own fault).
    worker = 'trap "echo told; exit 9" TERM; sleep 1; kill -TERM $PPID; while :; do sleep 0.1; done'
    plain, ours = both(cluster, ["--standalone", "--no-python", "sh", "-c", worker])
    assert ours.stdout == plain.stdout == "told\n", str(plain) + "\n" + str(ours)
    assert ours.code != 0
    assert "SignalException" in ours.stderr, str(ours)
