"""What would be done, and why: ``python -m torchrun_jsc.explain [torchrun's arguments]`` prints the plan and exits.

The plan is the one that the launcher makes of the same arguments: torch reads them and builds its ``LaunchConfig``.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from typing import TYPE_CHECKING, Any

from torchrun_jsc.errors import TorchrunJscError
from torchrun_jsc.fixes import apply_fixes
from torchrun_jsc.launch import plan_of
from torchrun_jsc.messages import exit_with
from torchrun_jsc.shown import explain, shows_table, text

if TYPE_CHECKING:
    from torchrun_jsc._core import Plan

#: Stands for the script where the command line names none.
_SCRIPT = "script.py"


def plan_for(argv: list[str]) -> Plan:
    """Make the plan of a command line with a script, as the launcher would.

    :raises TorchrunJscError: where the launch cannot work.
    """
    from torch.distributed import run

    caught: list[Any] = []

    class Launch:
        """Takes the place of torch's launch."""

        def __init__(self, config: Any, *_: Any, **__: Any) -> None:
            caught.append(config)

        def __call__(self, *_: Any) -> None:
            """Start nothing."""

    args = run.parse_args(argv)
    launch, run.elastic_launch = run.elastic_launch, Launch
    try:
        run.run(args)
    finally:
        run.elastic_launch = launch
    return plan_of(caught[0])


def _read(argv: list[str]) -> tuple[list[str], bool]:
    """Return the arguments with a script, which torch's parser asks for, and whether ``--json`` was among them.

    It may stand wherever torch's parser finds an option; what follows the script is the script's.
    """
    from torch.distributed import run

    parser = run.get_args_parser()
    parser.add_argument("--json", action="store_true")
    complete = [*argv, _SCRIPT]
    for tried in (argv, complete):
        # Errors are dropped here: torch reports them when it reads the arguments again.
        with contextlib.suppress(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            with contextlib.redirect_stdout(io.StringIO()):
                as_json = parser.parse_args(tried).json and "--json" in tried
            if as_json:
                place = tried.index("--json")
                return [*tried[:place], *tried[place + 1 :]], True
            return tried, False
    return complete, False


def main(args: list[str] | None = None) -> None:
    """Run the command; exits with status 2 and one line on stderr where the launch cannot work."""
    try:
        apply_fixes()
        argv, as_json = _read(list(sys.argv[1:] if args is None else args))
        plan = plan_for(argv)
        as_table = shows_table(plan)
        found = explain(plan, with_nodes=as_json or as_table)
    except TorchrunJscError as error:
        exit_with(error)
    print(json.dumps(found, indent=2) if as_json else text(found, as_table=as_table))


if __name__ == "__main__":
    main()
