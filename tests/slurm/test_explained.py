"""What the documents say that `explain` prints is what it prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from packaging.version import Version

from documents.explained import SWITCHES, examples_of, run_all
from documents.tree import DOCUMENTS
from torchrun_jsc.torch_version import torch_version

if TYPE_CHECKING:
    from slurm.lab import Cluster

OLDEST = Version("2.0")


@pytest.mark.skipif(torch_version() < OLDEST, reason="the examples have options that torch has since 2.0")
@pytest.mark.cluster(**SWITCHES)
def test_the_examples_of_the_documents(cluster: Cluster) -> None:
    examples = [example for document in DOCUMENTS for example in examples_of(document.read_text(encoding="utf-8"))]
    assert len(examples) > 10
    outputs = run_all(cluster, examples)
    found = [f"$ {example.command}\n{output}" for example, output in zip(examples, outputs)]
    assert found == [f"$ {example.command}\n{example.output}" for example in examples], "`make docs` writes them anew"
