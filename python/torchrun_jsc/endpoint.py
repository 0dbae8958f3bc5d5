"""``python -m torchrun_jsc.endpoint``: the endpoint for shell scripts."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

from torchrun_jsc.errors import TorchrunJscError
from torchrun_jsc.messages import USAGE_ERROR, exit_with
from torchrun_jsc.resolve import resolve_endpoint

if TYPE_CHECKING:
    from torchrun_jsc._core import Endpoint

FIELDS = (
    "host", "port", "address", "local_address", "interface", "host_node", "is_host", "node", "node_rank", "nnodes",
    "rank", "world_size", "local_rank", "local_world_size", "reasons",
)  # fmt: skip


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    made = argparse.ArgumentParser(
        prog="python -m torchrun_jsc.endpoint", description="Print where the rendezvous store of this Slurm job is."
    )
    form = made.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print all that is known, as JSON")
    form.add_argument("--export", action="store_true", help="print lines for a shell: export MASTER_ADDR=...")
    made.add_argument("--endpoint", metavar="HOST[:PORT]", help="instead of the one from Slurm")
    made.add_argument("--nodelist", help="instead of SLURM_STEP_NODELIST")
    made.add_argument("--host-node-rank", metavar="N", help="rank of the host node instead of 0")
    made.add_argument("--host-template", metavar="T", help="what a node is called on the fast network: {node}i")
    made.add_argument("--interface", metavar="NAMES", help="which interfaces may carry the traffic, as for NCCL")
    made.add_argument("--port", help="instead of the one from job and step id")
    made.add_argument("--timeout", metavar="SECONDS", help="deadline of all name look-ups together")
    return made


def show(endpoint: Endpoint, *, as_json: bool, as_export: bool) -> str:
    """Return what the command prints."""
    if as_json:
        return json.dumps({name: getattr(endpoint, name) for name in FIELDS}, indent=2)
    if as_export:
        return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in endpoint.env().items())
    return str(endpoint)


def _fail_in_shell() -> None:
    """Print what fails, for ``eval "$(...)" && ...``: of nothing, eval makes a success."""
    print(f"(exit {USAGE_ERROR})")


def main(args: list[str] | None = None) -> None:
    """Run the command; exits with status 2 and one line on stderr where there is no answer."""
    words = sys.argv[1:] if args is None else args
    try:
        options: dict[str, Any] = vars(parser().parse_args(words))
    except SystemExit as bad:
        if bad.code and any(word.startswith("--ex") for word in words):
            _fail_in_shell()
        raise
    as_json, as_export = options.pop("json"), options.pop("export")
    try:
        endpoint = resolve_endpoint(options.pop("endpoint"), **options)
    except TorchrunJscError as error:
        if as_export:
            _fail_in_shell()
        exit_with(error)
    print(show(endpoint, as_json=as_json, as_export=as_export))


if __name__ == "__main__":
    main()
