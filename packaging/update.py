#!/usr/bin/env python3
"""Write into the recipes of EasyBuild and Spack what Cargo.toml, Cargo.lock and the sdist say.

`update.py [SDIST]` writes; `update.py --check [SDIST]` exits with what is out of date. Without SDIST the checksum of it
stays. `update.py --crates` lists the crates.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path
from typing import Callable, NamedTuple

HERE = Path(__file__).resolve().parent
EASYBUILD = HERE / "easybuild"
SPACK = HERE / "spack/packages/py_torchrun_jsc/package.py"
WRITTEN = re.compile(r"(?<=# written by packaging/update.py\n).*?(?=# end of what is written\n)", re.DOTALL)
SHA256 = re.compile(r"[0-9a-f]{64}")


class Crate(NamedTuple):
    """A crate of Cargo.lock."""

    name: str
    version: str
    sha256: str


def version() -> str:
    """The version of the package."""
    return re.search(r'^version = "(.*)"', (HERE.parent / "Cargo.toml").read_text(), re.MULTILINE)[1]


def crates() -> list[Crate]:
    """All crates of Cargo.lock, also those of tests: cargo wants to see every one of them, offline too."""
    lock = (HERE.parent / "Cargo.lock").read_text()
    fields = r'name = "(.*)"\nversion = "(.*)"\nsource = "registry.*"\nchecksum = "(.*)"'
    return [Crate(*found) for found in re.findall(fields, lock)]


def easybuild(sha256: str) -> str:
    """What is written in the easyconfig."""
    lines = [f"version = '{version()}'", "", "crates = ["]
    lines += [f"    ('{crate.name}', '{crate.version}')," for crate in crates()]
    lines += ["]", "checksums = [", f"    {{'torchrun_jsc-{version()}.tar.gz': '{sha256}'}},"]
    lines += [f"    {{'{crate.name}-{crate.version}.tar.gz': '{crate.sha256}'}}," for crate in crates()]
    return "\n".join([*lines, "]", ""])


def spack(sha256: str) -> str:
    """What is written in Spack's package.py."""
    lines = [f'    version("{version()}", sha256="{sha256}")', "", "    crates = ("]
    lines += [f'        ("{crate.name}", "{crate.version}", "{crate.sha256}"),' for crate in crates()]
    return "\n".join([*lines, "    )", "    "])


def recipes() -> dict[Path, Path]:
    """Where each recipe is, and where it belongs."""
    (easyconfig,) = EASYBUILD.glob("*.eb")
    named = re.sub(r"(?<=^torchrun_jsc-)[^-]*", version(), easyconfig.name)
    return {easyconfig: EASYBUILD / named, SPACK: SPACK}


def updated(text: str, write: Callable[[str], str], sdist: Path | None) -> str:
    """A recipe's text as it should be."""
    found = WRITTEN.search(text)
    sha256 = hashlib.sha256(sdist.read_bytes()).hexdigest() if sdist else SHA256.search(found[0])[0]
    return text[: found.start()] + write(sha256) + text[found.end() :]


def main(arguments: list[str]) -> None:
    """Write or check both recipes, or list the crates."""
    if arguments == ["--crates"]:
        print(*(f"{crate.name}-{crate.version}" for crate in crates()), sep="\n")
        return
    check = "--check" in arguments
    sdist = next((Path(argument) for argument in arguments if argument != "--check"), None)
    for path, belongs in recipes().items():
        text = path.read_text()
        wanted = updated(text, spack if path == SPACK else easybuild, sdist)
        if check and (text != wanted or path != belongs):
            sys.exit(f"{path}: out of date; `make packaging` writes it")
        if not check:
            path.write_text(wanted)
            path.rename(belongs)


if __name__ == "__main__":
    main(sys.argv[1:])
