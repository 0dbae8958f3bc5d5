"""``python measure faults [NAME ...]``: do these faults (default: all) to both launchers; note the result."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import measured
from faults import jobs, network, nodes, signals, system, table
from faults.fault import Fault  # noqa: TC001
from faults.outcome import Outcome
from faults.scene import Scene
from slurm.lab import BUILD, TORCHRUN, TORCHRUN_JSC, CannotRun, Lab

FAULTS = [*nodes.FAULTS, *network.FAULTS, *system.FAULTS, *jobs.FAULTS, *signals.FAULTS]


def main() -> int:
    parser = argparse.ArgumentParser(prog="faults", description=__doc__)
    names = [fault.name for fault in FAULTS]
    parser.add_argument("faults", nargs="*", metavar="NAME", help="; ".join(names))
    chosen = parser.parse_args().faults
    unknown = set(chosen) - set(names)
    if unknown:
        parser.error(f"no such fault: {', '.join(sorted(unknown))}")
    failed = 0
    lab = Lab()
    try:
        for number, fault in enumerate(FAULTS):
            if chosen and fault.name not in chosen:
                continue
            try:
                failed += not _row(lab, number, fault)
            except CannotRun as reason:
                print(reason, file=sys.stderr)
                return 1
    finally:
        lab.down()
    print(f"faults: {failed} failed")
    return 1 if failed else 0


def _row(lab: Lab, number: int, fault: Fault) -> bool:
    """Do one fault to both launchers, and note the result; return whether it is as it should be."""
    plain, ours = (_run(lab, number, fault, launcher) for launcher in (TORCHRUN, TORCHRUN_JSC))
    verdict = fault.verdict(plain, ours)
    print(f"{fault.name}: {verdict}\n  torchrun:     {plain.text()}\n  torchrun_jsc: {ours.text()}", flush=True)
    if verdict.startswith("FAIL"):
        print(f"--- torchrun\n{plain.details[-6000:]}\n--- torchrun_jsc\n{ours.details[-6000:]}", file=sys.stderr)
    table.write(FAULTS, table.Row(fault.name, fault.done, plain.text(), ours.text(), verdict, measured.today()))
    return not verdict.startswith("FAIL")


def _run(lab: Lab, number: int, fault: Fault, launcher: str) -> Outcome:
    directory = BUILD / "faults" / str(number) / Path(launcher).name
    shutil.rmtree(directory, ignore_errors=True)
    try:
        return fault.run(Scene(lab, launcher, directory, fault.switches))
    except TimeoutError as error:
        # A job that hangs ends with its cluster.
        lab.down()
        return Outcome.hanging(str(error))


if __name__ == "__main__":
    sys.exit(main())
