"""The examples of `explain` in the documents: commands on two nodes, and what they print.

    srun --nodes=2 [env NAME=VALUE ...] python -m torchrun_jsc.explain [ARGUMENTS] [| grep [-v] PATTERN]
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple, Sequence

from slurm.jobs import Case, outcomes

if TYPE_CHECKING:
    from slurm.lab import Cluster

#: docker0 is there for the rule that needs an address which all nodes have.
SWITCHES = {"DOCKER0": "1"}
#: The job has always the same number, since port and rendezvous id follow from it.
PINNED = {"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "0"}

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
    cases = [Case(example.argv, {**PINNED, **example.env}, "torchrun_jsc.explain") for example in examples]
    return [
        "".join(outcome.stderr + example.filtered(outcome.stdout) for outcome in nodes)
        for example, nodes in zip(examples, outcomes(cluster, cases, _NODES))
    ]


def with_outputs(text: str, outputs: Sequence[str]) -> str:
    """Return a document with these outputs below its examples."""
    left = iter(outputs)
    return _BLOCK.sub(lambda block: f"$ {block['command']}\n{next(left)}", text)
