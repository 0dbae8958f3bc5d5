"""One release of torch with this package, in an environment of its own that is deleted afterwards."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, NamedTuple

from matrix.versions import NIGHTLY, NIGHTLY_INDEX, Torch

TOP = Path(__file__).resolve().parents[2]
BUILD = TOP / ".build" / "matrix"


#: For the tests that need no cluster. torch warns where it finds no numpy, and warnings are errors there.
_TESTS = ("pytest", "pytest-timeout", "numpy")


class Unavailable(Exception):  # noqa: N818 (no error of the program)
    """This machine cannot have the environment; says why."""


class Installed(NamedTuple):
    """A release that is installed."""

    torch: Torch
    #: Where its programs are.
    bin: Path
    #: The version of its Python.
    python: str
    #: The version of torch, which a nightly build has too.
    version: str


@contextmanager
def environment(torch: Torch, *, reuse: bool = False) -> Iterator[Installed]:
    """Give an environment with that release.

    :param reuse: take the environment of the Python that runs this, where it has that release.
    :raises Unavailable: where there is no Python for it.
    """
    if reuse and _has(torch.version):
        yield installed(torch, Path(sys.executable).parent)
        return
    python = _interpreter(torch.pythons)
    place = BUILD / f"torch-{torch.version}"
    shutil.rmtree(place, ignore_errors=True)
    try:
        uv("venv", "--quiet", "--python", str(python), str(place))
        # Without the cache, which would keep the gigabytes that are deleted here. Compiled, as pip does it.
        options = ["--quiet", "--no-cache", "--compile-bytecode", "--python", str(place / "bin" / "python")]
        install = ["pip", "install", *options]
        if torch.version == NIGHTLY:
            uv(*install, "--prerelease=allow", "--index", NIGHTLY_INDEX, "torch")
            uv(*install, str(_wheel()))
        else:
            uv(*install, f"torch=={torch.version}", *torch.extra, *_TESTS, str(_wheel()))
        yield installed(torch, place / "bin")
    finally:
        shutil.rmtree(place, ignore_errors=True)


def installed(torch: Torch, place: Path) -> Installed:
    """Describe the environment whose programs are in ``place``."""
    show = "import sys, torch; print('{}.{}.{}'.format(*sys.version_info[:3]), torch.__version__.split('+')[0])"
    # It also reads into memory what the first job would otherwise wait for.
    run = subprocess.run([place / "python", "-W", "ignore", "-c", show], check=True, stdout=subprocess.PIPE, text=True)
    return Installed(torch, place, *run.stdout.split())


def _has(version: str) -> bool:
    """Whether the Python that runs this has that release."""
    try:
        return importlib.metadata.version("torch").split("+")[0] == version
    except importlib.metadata.PackageNotFoundError:
        return False


def _interpreter(versions: tuple[str, ...]) -> Path:
    """Return the first Python of these that there is, or that uv can get."""
    for version in versions:
        for python in _candidates(version):
            # A shim of pyenv is there and does not run.
            if (
                python.exists()
                and subprocess.run([python, "-c", "import venv"], capture_output=True, check=False).returncode == 0
            ):
                return python
    for version in versions:
        if (
            subprocess.run(
                [_uv(), "python", "install", "--quiet", version], capture_output=True, check=False
            ).returncode
            == 0
        ):
            found = subprocess.run(
                [_uv(), "python", "find", "--managed-python", version], stdout=subprocess.PIPE, text=True, check=True
            )
            return Path(found.stdout.strip())
    raise Unavailable("no Python " + " or ".join(versions))


def _candidates(version: str) -> Iterator[Path]:
    on_path = shutil.which(f"python{version}")
    if on_path is not None:
        yield Path(on_path)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for place in sorted(pyenv.glob(f"versions/{version}.*")):
        yield place / "bin" / "python"


def uv(*command: str) -> None:
    """Run uv.

    :raises RuntimeError: where it fails; with what it said.
    """
    run = subprocess.run([_uv(), *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"uv {' '.join(command)}:\n{run.stdout}")


def _uv() -> str:
    """Return uv's path; where it is not installed, it is put under ``.build``."""
    found = shutil.which("uv") or shutil.which("uv", path=TOP / ".venv" / "bin")
    if found is not None:
        return found
    tools = BUILD / "tools"
    uv = tools / "bin" / "uv"
    if not uv.exists():
        subprocess.run([sys.executable, "-m", "venv", tools], check=True)
        subprocess.run([tools / "bin" / "pip", "install", "--quiet", "uv"], check=True)
    return str(uv)


def _wheel() -> Path:
    """Return the wheel of this package; it is built once in a process."""
    global _built
    if _built is None:
        place = BUILD / "wheel"
        shutil.rmtree(place, ignore_errors=True)
        uv("build", "--quiet", "--wheel", "--out-dir", str(place), str(TOP))
        (_built,) = place.glob("*.whl")
    return _built


_built: Path | None = None
