"""Commands in front of PATH, by which a job can be broken on one node only, and containers that need no image."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from slurm.lab import BIN, TORCHRUN_JSC

if TYPE_CHECKING:
    from pathlib import Path

# TORCHRUN_JSC_PORT is read by all commands of this package.
_COMMAND = """\
#!/bin/sh
[ "$(hostname)" != {node} ] || export TORCHRUN_JSC_PORT=x
exec {command} "$@"
"""

#: What a broken node says, after the name of the program.
REFUSAL = "torchrun_jsc: error: TORCHRUN_JSC_PORT"

# `docker run [OPTIONS] IMAGE COMMAND`: no variables but those that are named.
_DOCKER = """\
#!/bin/bash
[ "$1" = run ] || exit 9
shift
kept=(PATH="$PATH")
while [[ $1 == --* ]]; do
  name=${1#--env=}
  [ "$name" = "$1" ] || kept+=("$name=${!name}")
  shift
done
shift
exec env -i "${kept[@]}" "$@"
"""

# `apptainer exec --cleanenv [OPTIONS] IMAGE COMMAND`: no variables but those for the container.
_APPTAINER = """\
#!/bin/bash
[ "$1" = exec ] || exit 9
shift
while [[ $1 == --* ]]; do shift; done
shift
kept=(PATH="$PATH")
for name in $(compgen -e APPTAINERENV_); do kept+=("${name#APPTAINERENV_}=${!name}"); done
exec env -i "${kept[@]}" "$@"
"""


def path(directory: Path, node: str = "") -> str:
    """Make the commands in `directory`, and return a PATH that begins with it. A `node` is one where they fail."""
    python = {"python": sys.executable, "torchrun_jsc": TORCHRUN_JSC}
    scripts = {
        name: _COMMAND.format(node=shlex.quote(node), command=shlex.quote(command)) for name, command in python.items()
    }
    scripts.update(docker=_DOCKER, apptainer=_APPTAINER)
    directory.mkdir()
    for name, script in scripts.items():
        (directory / name).write_text(script, encoding="utf-8")
        (directory / name).chmod(0o755)
    return f"{directory}:{BIN}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
