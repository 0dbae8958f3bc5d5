"""What one task was told, and how long that took: as a script, and with arguments as a launch with them."""

from __future__ import annotations

import json
import os
import sys
import time

from torchrun_jsc import TorchrunJscError, resolve_endpoint


def asked(arguments: list[str]) -> dict:
    if arguments:
        from torchrun_jsc.explain import plan_for
        from torchrun_jsc.fixes import apply_fixes

        apply_fixes()
        start = time.monotonic()
        plan = plan_for(arguments)
        found = {"host": plan.host, "local_address": plan.local_address, "is_host": plan.is_host}
    else:
        start = time.monotonic()
        endpoint = resolve_endpoint()
        found = {"host": endpoint.host, "address": endpoint.address, "interface": endpoint.interface}
    return {**found, "seconds": time.monotonic() - start}


def main(arguments: list[str]) -> None:
    start = time.monotonic()
    try:
        report = asked(arguments)
    except TorchrunJscError as error:
        report = {"error": str(error), "seconds": time.monotonic() - start}
    print(json.dumps({"RANK": os.environ["SLURM_PROCID"], "node": os.environ["SLURMD_NODENAME"], **report}))


if __name__ == "__main__":
    main(sys.argv[1:])
