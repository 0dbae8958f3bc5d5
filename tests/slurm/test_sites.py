"""The batch scripts of docs/sites and of the README, on nodes that have that site's names and interface."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from documents.sites import DIRECTORY, SITES, value
from documents.tree import ROOT
from slurm.lab import REPORT

if TYPE_CHECKING:
    from pathlib import Path

    from slurm.lab import Cluster


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
    """A test for each site, those with one cluster one after the other."""
    mark = pytest.mark.cluster
    return [pytest.param(site, id=site["id"], marks=mark(**switches(site))) for site in sorted(SITES, key=like)]


def check(script: str, site: dict[str, Any], cluster: Cluster, directory: Path) -> None:
    """Run a script on the two nodes of a site, and check what its ranks were told."""
    (directory / "job.sh").write_text(script, encoding="utf-8")
    shutil.copy(REPORT, directory / "train.py")
    run = cluster.sbatch(directory / "job.sh", options=["--nodelist={}".format(",".join(site["nodes"]))])
    assert run.code == 0, str(run)
    ranks = run.ranks()
    world = 2 * int(value(site, "GPUs of a node"))
    assert [int(rank["RANK"]) for rank in ranks] == list(range(world)), str(run)
    assert {rank["WORLD_SIZE"] for rank in ranks} == {str(world)}, str(run)
    assert [rank["node"] for rank in ranks[:: world // 2]] == site["nodes"], str(run)
    master = value(site, "fast name").replace("{node}", site["nodes"][0])
    assert {rank["MASTER_ADDR"] for rank in ranks} == {master}, str(run)
    assert {rank["GLOO_SOCKET_IFNAME"] for rank in ranks} == {value(site, "interface")}, str(run)
    assert "torchrun_jsc: " not in run.stderr, str(run)


@pytest.mark.parametrize("site", parameters())
def test_script(site: dict[str, Any], cluster: Cluster, tmp_path: Path) -> None:
    check((DIRECTORY / f"{site['id']}.sh").read_text(encoding="utf-8"), site, cluster, tmp_path)


BOOSTER = next(site for site in SITES if site["id"] == "juwels-booster")


@pytest.mark.cluster(**switches(BOOSTER))
def test_the_script_of_the_readme(cluster: Cluster, tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    check(readme.partition("```bash\n")[2].partition("```")[0], BOOSTER, cluster, tmp_path)
