"""The batch scripts of docs/sites and of the README, on nodes that have that site's names and interface."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from documents.sites import DIRECTORY, SITES, value
from documents.tree import ROOT
from slow import takes_long
from slurm import broken
from slurm.lab import REPORT

if TYPE_CHECKING:
    from slurm.lab import Cluster, Run

TELL = Path(REPORT).read_text(encoding="utf-8")

#: As `init_process_group` waits for ranks that do not come.
WAIT = "import signal\n\nsignal.pause()\n"


def like(site: dict[str, Any]) -> tuple[str, str]:
    """What decides the cluster: sites that are alike share one."""
    return value(site, "fast name"), value(site, "interface")


def switches(site: dict[str, Any]) -> dict[str, str]:
    """The cluster of all sites that are like this one."""
    fast_name, interface = like(site)
    group = [other for other in SITES if like(other) == like(site)]
    partitions = [value(other, "partition") for other in group]
    return {
        "NODES": " ".join(node for other in group for node in other["nodes"]),
        "SUFFIX": fast_name[len("{node}") :],
        "OWN_NAME": "fast" if fast_name == "{node}" else "slow",
        "FAST": interface,
        "PARTITIONS": " ".join(sorted({name for name in partitions if not name.startswith("-")})),
        "CPUS": "288",
        "GPUS": "8",
    }


def parameters() -> list[Any]:
    """A test for each site, those with one cluster one after the other; the first of them always runs."""
    return [
        pytest.param(
            site, id=site["id"], marks=[pytest.mark.cluster(**switches(site)), *([takes_long] if number else [])]
        )
        for _, group in groupby(sorted(SITES, key=like), key=like)
        for number, site in enumerate(group)
    ]


def submit(
    script: str, site: dict[str, Any], cluster: Cluster, directory: Path, *, train: str = TELL, bad_node: str = ""
) -> Run:
    """Run a script on the two nodes of a site, on one of which this package may be broken."""
    (directory / "job.sh").write_text(script, encoding="utf-8")
    (directory / "train.py").write_text(train, encoding="utf-8")
    nodes = "--nodelist={}".format(",".join(site["nodes"]))
    export = "--export=ALL,PATH={}".format(broken.path(directory / "bin", bad_node))
    # What tells the system at the site itself.
    export += "".join(f",{name}={values[0]}" for name, values in site.get("systems", {}).items())
    # Nodes that wait for another one do so for minutes.
    return cluster.sbatch(directory / "job.sh", options=[nodes, export], timeout=60)


def check(script: str, site: dict[str, Any], cluster: Cluster, directory: Path) -> list[dict]:
    """Run a script on the two nodes of a site, and check what its ranks were told."""
    run = submit(script, site, cluster, directory)
    assert run.code == 0, str(run)
    ranks = run.ranks()
    world = 2 * int(value(site, "GPUs of a node"))
    assert [int(rank["RANK"]) for rank in ranks] == list(range(world)), str(run)
    assert {rank["WORLD_SIZE"] for rank in ranks} == {str(world)}, str(run)
    assert [rank["node"] for rank in ranks[:: world // 2]] == site["nodes"], str(run)
    master = value(site, "fast name").replace("{node}", site["nodes"][0])
    assert {rank["MASTER_ADDR"] for rank in ranks} == {master}, str(run)
    assert {rank["GLOO_SOCKET_IFNAME"] for rank in ranks} == {value(site, "interface")}, str(run)
    # Each rank sees the device that it takes.
    assert all(int(rank["LOCAL_RANK"]) < len(rank["CUDA_VISIBLE_DEVICES"].split(",")) for rank in ranks), str(run)
    assert "torchrun_jsc: " not in run.stderr, str(run)
    return ranks


def check_refusal(script: str, site: dict[str, Any], cluster: Cluster, directory: Path) -> None:
    """Where the second node refuses, the first one does not wait for it."""
    run = submit(script, site, cluster, directory, train=WAIT, bad_node=site["nodes"][1])
    assert run.code != 0, str(run)
    assert run.stdout == "", str(run)
    said = [line for line in run.stderr.splitlines() if "torchrun_jsc: " in line]
    tasks = 1 if "torchrun_jsc --nnodes" in script else int(value(site, "GPUs of a node"))
    assert 1 <= len(said) <= tasks, str(run)
    assert all(broken.REFUSAL in line for line in said), str(run)


@pytest.mark.parametrize("site", parameters())
def test_script(site: dict[str, Any], cluster: Cluster, tmp_path: Path) -> None:
    check((DIRECTORY / f"{site['id']}.sh").read_text(encoding="utf-8"), site, cluster, tmp_path)


@takes_long
@pytest.mark.parametrize("site", parameters())
def test_script_ends_where_one_node_refuses(site: dict[str, Any], cluster: Cluster, tmp_path: Path) -> None:
    check_refusal((DIRECTORY / f"{site['id']}.sh").read_text(encoding="utf-8"), site, cluster, tmp_path)


BOOSTER = next(site for site in SITES if site["id"] == "juwels-booster")


def readme() -> str:
    """The batch script of the README."""
    return (ROOT / "README.md").read_text(encoding="utf-8").partition("```bash\n")[2].partition("```")[0]


@pytest.mark.cluster(**switches(BOOSTER))
@pytest.mark.parametrize("cpus", ["48", None])
def test_the_script_of_the_readme(cluster: Cluster, tmp_path: Path, cpus: str | None) -> None:
    """With --cpus-per-task, which its step gets, and without, where it goes on all the same."""
    option = "#SBATCH --cpus-per-task=48\n"
    assert option in readme()
    ranks = check(readme() if cpus else readme().replace(option, ""), BOOSTER, cluster, tmp_path)
    assert {rank["SLURM_CPUS_PER_TASK"] for rank in ranks} <= {cpus, None if cpus else "1"}, ranks


@pytest.mark.cluster(**switches(BOOSTER))
def test_the_script_of_the_readme_ends_where_one_node_refuses(cluster: Cluster, tmp_path: Path) -> None:
    check_refusal(readme(), BOOSTER, cluster, tmp_path)
