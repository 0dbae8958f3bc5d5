"""The wheels and the sdist hold what they should, and nothing else: `python contents.py dist/*`."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
EXTENSION = re.compile(r"torchrun_jsc/_core\.(abi3|cpython-\w+-\w+(-\w+)*)\.so")
#: What a build backend writes beside METADATA; the list of crates is CycloneDX.
METADATA = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE", "sboms/torchrun_jsc.cyclonedx.json"}
SDIST = {"Cargo.lock", "Cargo.toml", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml", "rustfmt.toml"}


def tracked(folder: str) -> set[str]:
    """The files under `folder` that belong to the project."""
    done = subprocess.run(["git", "ls-files", folder], cwd=ROOT, check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def wheel(path: Path) -> tuple[set[str], set[str]]:
    """What is in a wheel, and what should be."""
    names = zipfile.ZipFile(path).namelist()
    found = {name for name in names if not name.endswith("/")}
    info = "-".join(path.name.split("-")[:2]) + ".dist-info/"
    wanted = {name[len("python/") :] for name in tracked("python")} | {info + name for name in METADATA}
    extensions = {name for name in found if EXTENSION.fullmatch(name)}
    assert len(extensions) == 1, f"{path.name}: not one extension module but {sorted(extensions)}"
    return found - extensions, wanted


def sdist(path: Path) -> tuple[set[str], set[str]]:
    """What is in an sdist, and what should be."""
    top = path.name[: -len(".tar.gz")] + "/"
    with tarfile.open(path) as archive:
        names = {member.name for member in archive if not member.isdir()}
    assert all(name.startswith(top) for name in names), f"{path.name}: not all of it is in {top}"
    # cargo packs no crate that lies in another one.
    rust = tracked("rust") - tracked("rust/fuzz")
    data = tracked("tests/golden") | tracked("docs/sites/sites.json")
    return {name[len(top) :] for name in names}, SDIST | rust | tracked("python") | data


def main(paths: list[str]) -> None:
    """Check all of them; exits with what is missing or too much."""
    for path in map(Path, paths):
        found, wanted = (wheel if path.suffix == ".whl" else sdist)(path)
        if found != wanted:
            sys.exit(f"{path.name}: missing {sorted(wanted - found)}, too much {sorted(found - wanted)}")
        print(f"{path.name}: the {len(found)} files that it should hold")


if __name__ == "__main__":
    main(sys.argv[1:])
