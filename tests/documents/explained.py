"""The examples of `explain` in the documents: commands on two nodes, and what they print.

    srun --nodes=2 [env NAME=VALUE ...] python -m torchrun_jsc.explain [ARGUMENTS] [| grep [-v] PATTERN]
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Sequence

from documents.tree import ROOT

if TYPE_CHECKING:
    from slurm.lab import Cluster

#: docker0 is there for the rule that needs an address which all nodes have.
SWITCHES = {"DOCKER0": "1"}

_DRIVER = str(ROOT / "tests" / "slurm" / "explain_many.py")
_NODES = 2
_COMMAND = r"srun [^\n]*torchrun_jsc\.explain[^\n]*"
_BLOCK = re.compile(rf"(?<=```console\n)\$ (?P<command>{_COMMAND})\n(?P<output>.*?)(?=```)", re.DOTALL)


class Example(NamedTuple):
    command: str
    output: str
    env: dict[str, str]
    argv: list[str]
    #: Of the lines on stdout those that match, or, with `inverted`, those that do not.
    pattern: str
    inverted: bool

    def filtered(self, stdout: str) -> str:
        """What grep leaves."""
        lines = stdout.splitlines(keepends=True)
        return "".join(line for line in lines if bool(re.search(self.pattern, line)) != self.inverted)


def examples_of(text: str) -> list[Example]:
    """Return the examples of a document."""
    return [_parse(block["command"], block["output"]) for block in _BLOCK.finditer(text)]


def _parse(command: str, output: str) -> Example:
    words = shlex.split(command)
    pattern, inverted = "", False
    if "|" in words:
        at = words.index("|")
        words, pipe = words[:at], words[at + 1 :]
        inverted = "-v" in pipe
        assert [word for word in pipe if word != "-v"][:-1] == ["grep"], command
        # Its alternatives have a backslash where Python's have none.
        pattern = pipe[-1].replace(r"\|", "|")
    at = words.index("python")
    assert words[at : at + 3] == ["python", "-m", "torchrun_jsc.explain"], command
    srun, assigned = words[:2], words[2:at]
    assert srun == ["srun", f"--nodes={_NODES}"], command
    assert not assigned or assigned.pop(0) == "env", command
    env = dict(word.split("=", 1) for word in assigned)
    return Example(command, output, env, words[at + 3 :], pattern, inverted)


def run_all(cluster: Cluster, examples: Sequence[Example]) -> list[str]:
    """Run the examples in one step, and return what each prints, node by node: stderr, then what grep leaves."""
    with tempfile.TemporaryDirectory() as directory:
        asked = [{"env": example.env, "argv": example.argv} for example in examples]
        run = cluster.srun([sys.executable, _DRIVER, json.dumps(asked), directory], nodes=_NODES)
        assert run.code == 0, str(run)
        nodes = [json.loads(Path(directory, str(node)).read_text(encoding="utf-8")) for node in range(_NODES)]
    return [
        "".join(answer["stderr"] + example.filtered(answer["stdout"]) for answer in answers)
        for example, *answers in zip(examples, *nodes)
    ]


def with_outputs(text: str, outputs: Sequence[str]) -> str:
    """Return a document with these outputs below its examples."""
    left = iter(outputs)
    return _BLOCK.sub(lambda block: f"$ {block['command']}\n{next(left)}", text)
