"""Shell lines of the README and of docs/ that start something on two nodes: all is well there, or one node refuses."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from documents.shell_blocks import to_run
from slow import takes_long
from slurm import broken
from slurm.lab import REPORT

if TYPE_CHECKING:
    from pathlib import Path

    from documents.shell_blocks import Recipe
    from slurm.lab import Cluster, Run

NODES = ["jwb0001", "jwb0002"]

HEAD = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n"
EXPLAIN = "srun python -m torchrun_jsc.explain --nnodes=auto\n"

#: Starts a command on a node, as ssh does.
AGENT = """\
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
pid=$(cat "$LAB/slurmd.$1.pid")
shift
exec nsenter --target "$pid" --mount --net --uts sh -c "cd '$PWD' && $*"
"""

#: Where a launcher looks for that command, and what it wants where the tests run as root.
LAUNCHERS = {
    "OMPI_MCA_plm_rsh_agent": "{agent}",
    "OMPI_MCA_plm": "rsh",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "HYDRA_LAUNCHER": "ssh",
    "HYDRA_LAUNCHER_EXEC": "{agent}",
}


def parameters() -> list[Any]:
    """Each recipe, on nodes that are called as it says."""
    marks = {True: [pytest.mark.cluster(SUFFIX="-ib0")], False: []}
    return [pytest.param(recipe, id=recipe.name, marks=marks["-ib0" in recipe.text]) for recipe in to_run()]


each = pytest.mark.parametrize("recipe", parameters())


def under_mpi(recipe: Recipe, cluster: Cluster, directory: Path, path: str) -> Run:
    """Run it on the head node, which is in no job, as a node where a job of PBS begins."""
    installed = {"mpirun": "mpirun.openmpi", "mpiexec": "mpiexec.hydra"}
    for name, program in installed.items():
        if name in recipe.text and shutil.which(program) is None:
            pytest.skip(f"no {program}")
        # No link: Hydra looks for its proxy where it was started.
        command = directory / "bin" / name
        command.write_text(f'#!/bin/sh\nexec {program} "$@"\n', encoding="utf-8")
        command.chmod(0o755)
    hosts = directory / "hosts"
    hosts.write_text("\n".join([*NODES, ""]), encoding="utf-8")
    agent = directory / "agent"
    agent.write_text(AGENT, encoding="utf-8")
    agent.chmod(0o755)
    env = {name: value.format(agent=agent) for name, value in LAUNCHERS.items()}
    env.update(PATH=path, PBS_NODEFILE=str(hosts), PBS_O_WORKDIR=str(directory))
    return cluster.head(["bash", "-c", recipe.text], env=env, cwd=directory, timeout=60)


def under_slurm(recipe: Recipe, cluster: Cluster, directory: Path, path: str) -> Run:
    """Submit it, in a script where it is none, and with a command where it only prepares one."""
    script = recipe.text if recipe.text.startswith("#!") else HEAD + recipe.text
    if "srun" not in script:
        script += EXPLAIN
    (directory / "job.sh").write_text(script, encoding="utf-8")
    options = ["--nodelist={}".format(",".join(NODES)), f"--export=ALL,PATH={path}"]
    # Nodes that wait for another one do so for minutes.
    return cluster.sbatch(directory / "job.sh", options=options, timeout=60)


def run(recipe: Recipe, cluster: Cluster, directory: Path, bad_node: str = "") -> Run:
    shutil.copy(REPORT, directory / "train.py")
    path = broken.path(directory / "bin", bad_node)
    is_mpi = re.search("mpirun|mpiexec", recipe.text) is not None
    return (under_mpi if is_mpi else under_slurm)(recipe, cluster, directory, path)


@each
def test_all_is_well(recipe: Recipe, cluster: Cluster, tmp_path: Path) -> None:
    done = run(recipe, cluster, tmp_path)
    assert done.code == 0, str(done)
    assert "torchrun_jsc: " not in done.stderr, str(done)
    master = NODES[0] + cluster.switches.get("SUFFIX", "i")
    if "train.py" not in recipe.text:
        assert re.search(rf"\b{master}:\d+", done.stdout), str(done)
        return
    ranks = done.ranks()
    workers = re.search(r"--nproc-per-node=(\d+)", recipe.text)
    world = 2 * int(workers[1] if workers else 1)
    assert [int(rank["RANK"]) for rank in ranks] == list(range(world)), str(done)
    assert [rank["node"] for rank in ranks[:: world // 2]] == NODES, str(done)
    assert {rank["MASTER_ADDR"] for rank in ranks} == {master}, str(done)


@takes_long
@each
def test_one_node_refuses(recipe: Recipe, cluster: Cluster, tmp_path: Path) -> None:
    """The job ends with what that node says, once, and no script starts there."""
    done = run(recipe, cluster, tmp_path, bad_node=NODES[1])
    assert done.code != 0, str(done)
    (said,) = [line for line in done.stderr.splitlines() if "torchrun_jsc: " in line]
    assert broken.REFUSAL in said, str(done)
    assert NODES[1] not in {rank["node"] for rank in done.ranks()}, str(done)
