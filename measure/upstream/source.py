"""Where PyTorch's own tests of torchrun come from. They are fetched; this project has no copy."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from slurm.lab import BUILD

if TYPE_CHECKING:
    from pathlib import Path

PLACE = BUILD / "upstream"
REPOSITORY = "https://github.com/pytorch/pytorch"
DEBIAN = "deb-src http://deb.debian.org/debian bookworm main\n"
TESTS = "test/distributed/launcher"


class Unavailable(Exception):  # noqa: N818 (no error of the program)
    """The tests cannot be had; says why."""


class Tests(NamedTuple):
    """A directory of tests, and whose they are."""

    directory: Path
    #: Of PyTorch.
    release: str
    what: str


def tests_of(release: str) -> Tests:
    """Fetch the tests of this release from PyTorch's repository, else those that Debian has as source.

    :raises Unavailable: where neither can be had.
    """
    try:
        return Tests(_from_repository(release), release, f"tests of PyTorch {release}")
    except Unavailable as reason:
        print(f"upstream: {reason}; taking Debian's", flush=True)
        directory = _from_debian()
        found = directory.parents[2].name
        return Tests(directory, found, f"tests and torch of PyTorch {found}, the tests as in Debian's source package")


def _from_repository(release: str) -> Path:
    place = PLACE / f"v{release}"
    if not (place / TESTS).is_dir():
        shutil.rmtree(place, ignore_errors=True)
        clone = ["clone", "--quiet", "--depth=1", f"--branch=v{release}", "--filter=blob:none", "--no-checkout"]
        _run("git", *clone, REPOSITORY, str(place))
        _run("git", "-C", str(place), "sparse-checkout", "set", "--no-cone", f"/{TESTS}/")
        _run("git", "-C", str(place), "checkout", "--quiet")
    return place / TESTS


def _from_debian() -> Path:
    found = list(PLACE.glob(f"debian/*/{TESTS}"))
    if not found:
        place = PLACE / "debian"
        shutil.rmtree(place, ignore_errors=True)
        (place / "lists" / "partial").mkdir(parents=True)
        (place / "sources.list").write_text(DEBIAN)
        own = {"Dir::Etc::sourcelist": place / "sources.list", "Dir::Etc::sourceparts": "-"}
        own["Dir::State::lists"] = place / "lists"
        apt = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in own.items())]
        _run(*apt, "update")
        _run(*apt, "source", "--download-only", "--tar-only", "pytorch", cwd=place)
        for archive in place.glob("*.orig.tar.*"):
            version = archive.name.partition("_")[2].partition("+")[0]
            (place / version).mkdir()
            wanted = ["--wildcards", f"*/{TESTS}", "--strip-components=1"]
            _run("tar", "xf", str(archive), "-C", str(place / version), *wanted)
        found = list(PLACE.glob(f"debian/*/{TESTS}"))
    return found[0]


def _run(*command: str, cwd: Path | None = None) -> None:
    env = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            command,
            env=env,
            cwd=cwd,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=300,
        )
    except FileNotFoundError:
        raise Unavailable(f"no {command[0]}") from None
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{command[0]}: no answer") from None
    if done.returncode:
        raise Unavailable(f"{command[0]}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
