"""``python measure scale [PART ...]``: what many nodes cost (default: all parts), noted in ``docs/reliability.md``."""

from __future__ import annotations

import argparse
import sys

import measured
import reliability
from scale import nodes, steps, watchers
from slurm.lab import CannotRun, Lab

PARTS = {"steps": steps, "watchers": watchers, "nodes": nodes}


def main() -> int:
    parser = argparse.ArgumentParser(prog="scale", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    chosen = parser.parse_args().parts
    unknown = set(chosen) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    failed = []
    lab = Lab()
    try:
        for name in chosen or PARTS:
            text, wrong = PARTS[name].run(lab)
            print(text, flush=True)
            failed += [f"{name}: {fault}" for fault in wrong]
            reliability.write(f"scale: {name}", f"{measured.machine()}, {measured.today()}.\n\n{text}")
    except CannotRun as reason:
        print(reason, file=sys.stderr)
        return 1
    finally:
        lab.down()
    for fault in failed:
        print(f"FAIL: {fault}", file=sys.stderr)
    print(f"scale: {len(failed)} limits passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
