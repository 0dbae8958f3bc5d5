"""What a shell makes of the exports: these values, and nothing else happens."""

from __future__ import annotations

import io
import os
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from types import SimpleNamespace
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostile.inputs import CONTROL, ENDPOINTS, ENVIRONMENTS, SHELL
from surroundings import STEP
from torchrun_jsc import endpoint, resolve_endpoint

if TYPE_CHECKING:
    from pathlib import Path

#: Without what a shell cannot keep: zeros, and what is not UTF-8.
TEXT = SHELL | CONTROL.filter(str.isascii) | st.text(st.characters(codec="utf-8", exclude_characters="\0"))


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evaluated(exports: str) -> dict[str, str]:
    """The environment of a shell that has evaluated `exports`."""
    script = 'eval "$(cat)" && exec env -0'
    done = subprocess.run(["sh", "-c", script], input=exports.encode(), env={}, capture_output=True, check=True)
    assert done.stderr == b""
    pairs = (item.partition("=") for item in done.stdout.decode().split("\0") if item)
    # The shell's own.
    return {name: value for name, _, value in pairs if name not in ("PWD", "SHLVL", "_", "OLDPWD")}


@given(st.dictionaries(st.sampled_from(["MASTER_ADDR", "MASTER_PORT", "RANK"]), TEXT))
def test_any_value_comes_back(empty: Path, values: dict[str, str]) -> None:
    exports = endpoint.show(SimpleNamespace(env=lambda: values), as_json=False, as_export=True)
    assert evaluated(exports) == values
    assert list(empty.iterdir()) == []


@given(ENVIRONMENTS, SHELL | ENDPOINTS)
def test_any_environment(empty: Path, environ: dict[str, str], master: str) -> None:
    environ = {**STEP, **environ, "MASTER_ADDR": master}
    out = io.StringIO()
    with mock.patch.dict(os.environ, environ, clear=True), redirect_stdout(out), redirect_stderr(io.StringIO()):
        try:
            endpoint.main(["--export"])
        except SystemExit:
            assert out.getvalue() == "(exit 2)\n"
            return
        assert evaluated(out.getvalue()) == resolve_endpoint().env()
    assert list(empty.iterdir()) == []
