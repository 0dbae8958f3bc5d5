"""The recipe for Spack without Spack: `python spack.py SDIST CRATES FOLDER` unpacks the sources as Spack does, and lets
the recipe prepare them. CRATES is where the `.crate` files are, such as cargo's own cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import runpy
import sys
import tarfile
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Iterator

RECIPE = Path(__file__).resolve().parent.parent.parent / "packaging/spack/packages/py_torchrun_jsc/package.py"


class Recipe:
    """What the directives of the recipe said."""

    def __init__(self) -> None:
        self.versions: dict[str, str] = {}
        self.resources: list[dict[str, Any]] = []
        self.dependencies: set[str] = set()
        names = {
            "version": lambda number, sha256: self.versions.update({number: sha256}),
            "resource": lambda **keywords: self.resources.append(keywords),
            "depends_on": lambda spec, **_: self.dependencies.add(spec),
            "license": lambda _: None,
            "default_args": lambda **_: contextlib.nullcontext(),
            "run_before": lambda _: lambda method: method,
        }
        with self._modules(names):
            self.package = runpy.run_path(str(RECIPE))["PyTorchrunJsc"]

    @staticmethod
    @contextlib.contextmanager
    def _modules(names: dict[str, Any]) -> Iterator[None]:
        """Be Spack's modules."""
        python = "spack_repo.builtin.build_systems.python"
        modules = {"spack": {}, "spack.package": names, python: {"PythonPackage": object}}
        modules.update({python.rsplit(".", count)[0]: {} for count in (1, 2, 3)})
        for name, content in modules.items():
            module = ModuleType(name)
            vars(module).update(content)
            sys.modules[name] = module
        try:
            yield
        finally:
            for name in modules:
                del sys.modules[name]

    def prepare(self, source: Path) -> None:
        """Run what the recipe runs before the build."""
        package = self.package()
        package.stage = SimpleNamespace(source_path=str(source))
        package.vendor_crates()


def unpack(archive: Path, sha256: str, place: Path) -> None:
    """Unpack what is in the one folder of an archive to `place`."""
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    assert found == sha256, f"{archive}: sha256 {found}, not {sha256}"
    with tarfile.open(archive) as tar:
        for member in tar:
            member.name = member.name.partition("/")[2]
            if member.name:
                tar.extract(member, place)


def main(sdist: str, crates: str, folder: str) -> None:
    """Unpack and prepare."""
    recipe, source = Recipe(), Path(folder)
    (sha256,) = recipe.versions.values()
    unpack(Path(sdist), sha256, source)
    for resource in recipe.resources:
        archive = Path(crates) / resource["url"].rpartition("/")[2]
        unpack(archive, resource["sha256"], source / resource["destination"] / resource["placement"])
    recipe.prepare(source)


if __name__ == "__main__":
    main(*sys.argv[1:])
