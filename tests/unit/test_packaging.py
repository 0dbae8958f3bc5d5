"""The recipes in packaging/ say what Cargo.toml and Cargo.lock say."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from recipes.spack import Recipe

PACKAGING = Path(__file__).resolve().parent.parent.parent / "packaging"
spec = importlib.util.spec_from_file_location("update", PACKAGING / "update.py")
update = importlib.util.module_from_spec(spec)
spec.loader.exec_module(update)
(EASYCONFIG,) = PACKAGING.glob("easybuild/*.eb")


def test_the_lock_file_is_read_whole():
    lock = (PACKAGING.parent / "Cargo.lock").read_text()
    # All but the package itself.
    assert len(update.crates()) == lock.count("[[package]]") - 1


def test_they_are_up_to_date():
    update.main(["--check"])


def test_what_is_out_of_date_is_said(monkeypatch):
    monkeypatch.setattr(update, "version", lambda: "9.8.7")
    with pytest.raises(SystemExit, match="out of date"):
        update.main(["--check"])


def test_another_sdist_is_seen(tmp_path):
    sdist = tmp_path / "torchrun_jsc.tar.gz"
    sdist.write_bytes(b"another")
    with pytest.raises(SystemExit, match="out of date"):
        update.main(["--check", str(sdist)])


def test_the_easyconfig_has_a_checksum_for_each_source():
    found = {"SOURCE_TAR_GZ": "torchrun_jsc-%(version)s.tar.gz", "SYSTEM": {}}
    exec(EASYCONFIG.read_text(), found)
    sources = [source % found for source in found["sources"]]
    sources += ["{}-{}.tar.gz".format(*crate) for crate in found["crates"]]
    assert [name for checksum in found["checksums"] for name in checksum] == sources
    assert found["version"] == update.version()
    stem = "torchrun_jsc-{version}-{toolchain[name]}-{toolchain[version]}".format(**found)
    assert EASYCONFIG.name.startswith(stem)


def test_spack_fetches_each_crate_and_lets_cargo_find_it(tmp_path):
    recipe = Recipe()
    assert list(recipe.versions) == [update.version()]
    assert [resource["sha256"] for resource in recipe.resources] == [crate.sha256 for crate in update.crates()]
    for resource in recipe.resources:
        (tmp_path / resource["destination"] / resource["placement"]).mkdir(parents=True)
    recipe.prepare(tmp_path)
    config = (tmp_path / ".cargo/config.toml").read_text()
    assert 'directory = "vendor"' in config
    for crate in update.crates():
        checksum = tmp_path / "vendor" / f"{crate.name}-{crate.version}" / ".cargo-checksum.json"
        assert json.loads(checksum.read_text()) == {"files": {}, "package": crate.sha256}


def test_the_recipes_ask_for_the_rust_and_python_that_are_needed():
    manifest = (PACKAGING.parent / "Cargo.toml").read_text()
    rust = re.search(r'^rust-version = "(.*)"', manifest, re.MULTILINE)[1]
    assert {f"rust@{rust}:", "python@3.8:", "py-torch@1.9:"} <= Recipe().dependencies


def test_the_release_in_the_documents_is_this_one():
    text = (PACKAGING / "README.md").read_text()
    assert set(re.findall(r"torchrun_jsc-(\d[\d.]*\d)-", text)) == {update.version()}
