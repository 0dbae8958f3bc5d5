"""The settings: what each variable takes, what it refuses, and that the command refuses it in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torchrun_jsc import cli, settings
from torchrun_jsc.errors import SettingError
from torchrun_jsc.settings import TABLE, Settings

if TYPE_CHECKING:
    from pathlib import Path

TRUE = ["1", "true", "yes", "on", "TRUE", " Yes ", "\tOn\n"]
FALSE = ["0", "false", "no", "off", "False", " NO "]
NOT_BOOLEAN = ["2", "00", "maybe", "truee", "-1", "1 0", "ja"]
NOT_RANK = ["first", "-1", "1.0", "+1", "0x1", "1_0", "٣", "²", "1e3", "4294967296", "9" * 100]

#: The variable, what it takes with what that means, and what it refuses.
CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("PREFER_ARG_PATCHING", {**dict.fromkeys(TRUE, True), **dict.fromkeys(FALSE, False), "": True}, NOT_BOOLEAN),
    ("PREFER_OLD_SOLUTION", {**dict.fromkeys(TRUE, True), **dict.fromkeys(FALSE, False), "": False}, NOT_BOOLEAN),
    ("NODE_RANK", {"0": 0, "00": 0, " 0": 0, "007 ": 7, "4294967295": 2**32 - 1, "": None, " ": None}, NOT_RANK),
    ("HOST_NODE_RANK", {"0": 0, "00": 0, " 0": 0, "12": 12, "": None}, NOT_RANK),
    (
        "HOST_TEMPLATE",
        {"{node}i": ["{node}i"], " {node}i , {host}.x ,": ["{node}i", "{host}.x"], "": ()},
        [],
    ),
    ("NODELIST", {"a[01-02]": "a[01-02]", " b,a ": "b,a", "": None}, ["@", "@/no/such/file", "@/dev/null", "@/"]),
    ("INTERFACE", {"ib0": "ib0", "^docker,lo": "^docker,lo", " =eth0 ": "=eth0", "": None}, []),
    ("PORT", {"1": 1, "029400": 29400, "65535": 65535, "": None}, ["0", "65536", "-1", "http", "29400-29500"]),
    ("RANK_ORDER", {"slurm": "slurm", " Torch ": "torch", "": "slurm"}, ["node", "slurm,torch"]),
    ("SOCKET_IFNAME", {"auto": "auto", "OFF": "off", "": "auto"}, ["0", "ib0"]),
    (
        "RESOLVE_TIMEOUT",
        {"10": 10.0, " 0.5": 0.5, "1e2": 100.0, "": 10.0},
        ["0", "-1", "nan", "inf", "-inf", "soon", "10s", "1e999"],
    ),
    ("PREFLIGHT", {"on": "on", "OFF": "off", " strict ": "strict", "": "on"}, ["1", "maybe"]),
    ("PREFLIGHT_TIMEOUT", {"60": 60.0, "0.5": 0.5, "": 60.0}, ["0", "-1", "nan", "soon"]),
    ("EXPLAIN", {**dict.fromkeys(TRUE, True), **dict.fromkeys(FALSE, False), "": False}, NOT_BOOLEAN),
]
GOOD = [(name, text, value) for name, good, _ in CASES for text, value in good.items()]
BAD = [(name, text) for name, _, bad in CASES for text in bad]


def variable(name: str) -> str:
    return "TORCHRUN_JSC_" + name


def test_every_setting_has_its_cases() -> None:
    assert {variable(name) for name, _, _ in CASES} == {setting.variable for setting in TABLE}


def test_names_are_there_once_and_described() -> None:
    names = [setting.name for setting in TABLE]
    assert len(names) == len(set(names))
    assert all(setting.kind and setting.default and setting.meaning for setting in TABLE)


@pytest.mark.parametrize(("name", "text", "value"), GOOD)
def test_good_values(name: str, text: str, value: Any) -> None:
    read = getattr(Settings({variable(name): text}), name.lower())
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(("name", "text"), BAD)
def test_bad_values(name: str, text: str) -> None:
    with pytest.raises(SettingError) as caught:
        Settings({variable(name): text})
    message = str(caught.value)
    assert message.startswith(f'{variable(name)}="')
    assert text in message or not text.isprintable()
    assert "\n" not in message


def test_a_file_of_nodes(tmp_path: Path) -> None:
    """As PBS writes it: a line for each process of a node, in the order of the ranks."""
    file = tmp_path / "nodes"
    file.write_text("b02.cl\nb02.cl\n\n  a01.cl \r\n")
    assert Settings({variable("NODELIST"): f"@{file}"}).nodelist == "b02.cl,a01.cl"
    file.write_bytes(b"\xff\n")
    with pytest.raises(SettingError, match='nodes": cannot read it: '):
        Settings({variable("NODELIST"): f"@{file}"})


def test_nothing_set() -> None:
    read = Settings({})
    assert [getattr(read, setting.name) for setting in TABLE] == [setting.fallback for setting in TABLE]


def test_what_a_terminal_would_act_on_is_escaped() -> None:
    with pytest.raises(SettingError, match=r'="a\\x1b\[31mb\\nc": not'):
        Settings({variable("PORT"): "a\x1b[31mb\nc"})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *{name: (name, text) for name, text in reversed(BAD)}.values(),
        ("HOST_TEMPLATE", "{nodes}"),
        ("INTERFACE", "=none9"),
    ],
)
def test_the_command_refuses_in_one_line(name: str, text: str, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    monkeypatch.setenv(variable(name), text)
    with pytest.raises(SystemExit) as exit_:
        cli.main(["--nnodes=2", "--rdzv_backend=c10d", "--rdzv_endpoint=198.51.100.7:1", "script.py"])
    assert exit_.value.code == 2
    out, err = capfd.readouterr()
    (line,) = err.splitlines()
    assert line.startswith(f'torchrun_jsc: error: {variable(name)}="{text}": ')
    assert not out


def test_settings_of_other_programs() -> None:
    read = settings.Settings({"GLOO_SOCKET_IFNAME": "ib0", "NCCL_SOCKET_IFNAME": ""})
    assert (read.gloo_socket_ifname, read.nccl_socket_ifname) == ("ib0", None)
