"""Several command lines on a node, each in a process of its own that is forked from one which has imported torch.

The import takes seconds, and those that are refused, or only explained, need nothing else.
forked.py '[[MODULE, ENVIRONMENT, ARGUMENTS], …]' prints a line of JSON for each: exit code and output.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from importlib import import_module

import torch.distributed.run  # noqa: F401 (what takes so long)


def run(module: str, environ: dict[str, str], arguments: list[str]) -> dict[str, object]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            os.environ.update(environ)
            os._exit(end_of(module, arguments))
        _, status = os.waitpid(child, 0)
        out.seek(0)
        err.seek(0)
        return {
            "code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status),
            "stdout": out.read().decode(),
            "stderr": err.read().decode(),
        }


def end_of(module: str, arguments: list[str]) -> int:
    """The exit code of the module's main, which has then written all that it printed."""
    try:
        import_module(module).main(arguments)
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    except BaseException:  # noqa: BLE001 (as the interpreter does at its end)
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code


for case in json.loads(sys.argv[1]):
    print(json.dumps(run(*case)), flush=True)
