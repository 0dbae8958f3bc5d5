"""Runs `explain` many times on a node, with torch imported once: explain_many.py JSON DIRECTORY.

JSON is a list of {"env": ..., "argv": ...}. What they print is left in DIRECTORY, in a file named by the node's number.
The job has always the same number, since port and rendezvous id follow from it.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import torch.distributed.run  # noqa: F401 (so that the children have it)

from torchrun_jsc import explain

PINNED = {"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "0"}


def run(env: dict, argv: list) -> dict:
    with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
        child = os.fork()
        if child == 0:
            os.dup2(stdout.fileno(), 1)
            os.dup2(stderr.fileno(), 2)
            os.environ.update({**PINNED, **env})
            try:
                explain.main(argv)
            except SystemExit:
                pass
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(0)
        os.waitpid(child, 0)
        stdout.seek(0)
        stderr.seek(0)
        return {"stdout": stdout.read(), "stderr": stderr.read()}


answers = [run(**asked) for asked in json.loads(sys.argv[1])]
Path(sys.argv[2], os.environ["SLURM_NODEID"]).write_text(json.dumps(answers), encoding="utf-8")
