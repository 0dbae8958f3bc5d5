"""``python3 measure matrix [RELEASE ...]``: run the rows of these releases of torch (default: all) and note the result.

``--ci`` runs the releases that a change must not break, and notes nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import nullcontext
from pathlib import Path

from matrix import table
from matrix.environment import BUILD, Unavailable, environment, installed
from matrix.modes import CI_MODES, MODES, Mode
from matrix.run import Row, run, shown
from matrix.versions import CI, NIGHTLY, TORCHES, Torch, find
from slurm.lab import CannotRun, Cluster


def main() -> int:
    parser = argparse.ArgumentParser(prog="matrix", description=__doc__)
    parser.add_argument("releases", nargs="*", metavar="RELEASE", help=f"such as 2.4.1, or {NIGHTLY}")
    parser.add_argument("--list", action="store_true", help="print the releases, and the nightly build, as JSON")
    parser.add_argument("--ci", action="store_true", help=f"run {', '.join(CI)}; note nothing")
    parser.add_argument("--mode", action="append", help="run only this mode (repeatable)")
    parser.add_argument("--bin", type=Path, help="use the environment with this bin directory for the one RELEASE")
    parser.add_argument("--keep-going", action="store_true", help="exit with 0 whatever failed")
    arguments = parser.parse_args()
    if arguments.list:
        print(json.dumps([*(torch.version for torch in TORCHES), NIGHTLY]))
        return 0
    modes = [
        mode for mode in (CI_MODES if arguments.ci else MODES) if not arguments.mode or mode.name in arguments.mode
    ]
    releases = CI if arguments.ci else arguments.releases or [torch.version for torch in TORCHES]
    clusters = Clusters()
    failed = []
    skipped = []
    try:
        for torch in map(find, releases):
            try:
                rows = run_release(clusters, torch, modes, arguments.bin)
            except CannotRun as reason:
                print(reason, file=sys.stderr)
                return 1
            except Unavailable as reason:
                print(f"torch {torch.version:8} skipped: {reason}", flush=True)
                skipped.append(torch.version)
                continue
            failed += [row for row in rows if not row.is_good]
            if not arguments.ci and torch.version != NIGHTLY:
                table.write(rows)
    finally:
        clusters.down()
    for row in failed:
        print(f"\n--- {shown(row)}\n{row.details[-6000:]}", file=sys.stderr)
    print(f"matrix: {len(failed)} rows failed, {len(skipped)} releases skipped")
    return 1 if failed and not arguments.keep_going else 0


class Clusters:
    """One for each pair of nodes, side by side."""

    def __init__(self) -> None:
        self._up: dict[tuple[str, str], Cluster] = {}

    def of(self, nodes: tuple[str, str]) -> Cluster:
        """Return the cluster with these nodes.

        :raises CannotRun: where there can be none.
        """
        if nodes not in self._up:
            self._up[nodes] = Cluster({"NODES": " ".join(nodes)}, lab=BUILD / f"cluster-{nodes[0]}")
        return self._up[nodes]

    def down(self) -> None:
        """End all of them."""
        for cluster in self._up.values():
            cluster.down()


def run_release(clusters: Clusters, torch: Torch, modes: list[Mode], given: Path | None) -> list[Row]:
    """Run these modes with one release."""
    rows = []
    with nullcontext(installed(torch, given)) if given else environment(torch) as found:
        print(f"torch {found.version} with Python {found.python}", flush=True)
        for number, mode in enumerate(modes):
            if mode.exists_in(torch):
                rows.append(run(clusters.of(mode.nodes), found, mode, number))
                print(shown(rows[-1]), flush=True)
    return rows


if __name__ == "__main__":
    sys.exit(main())
