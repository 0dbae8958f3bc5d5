"""`make docs`: write those parts of the documents anew that are made."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from documents.blocks import made
from documents.explained import SWITCHES, examples_of, run_all, with_outputs
from documents.tree import DOCUMENTS
from slurm.lab import CannotRun, Lab


def explain(lab: Lab, document: Path) -> None:
    """Run the examples of a document, and write down what they print."""
    text = document.read_text(encoding="utf-8")
    examples = examples_of(text)
    if examples:
        outputs = run_all(lab.cluster(SWITCHES), examples)
        document.write_text(with_outputs(text, outputs), encoding="utf-8")


def main() -> None:
    for document in DOCUMENTS:
        document.write_text(made(document), encoding="utf-8")
    lab = Lab()
    try:
        for document in DOCUMENTS:
            explain(lab, document)
    except CannotRun as reason:
        print(f"The examples of explain stay as they are. {reason}")
    finally:
        lab.down()


if __name__ == "__main__":
    main()
