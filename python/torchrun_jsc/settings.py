"""The settings: environment variables ``TORCHRUN_JSC_*``, each in one row of :data:`TABLE`.

Scripts import this on every task of a job: no ``typing`` and no ``dataclasses`` at run time, which between them read
more files than Python's own start.
"""

from __future__ import annotations

from torchrun_jsc._core import MAX_NUMBER, MAX_PORT
from torchrun_jsc.errors import SettingError
from torchrun_jsc.messages import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Mapping

PREFIX = "TORCHRUN_JSC_"

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")


def _boolean(text: str) -> bool:
    word = text.lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError("not a boolean: use 1 or 0, true or false, yes or no, on or off")


def _whole(text: str, lowest: int, highest: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(highest)) + 20):
        raise ValueError(f"not a whole number from {lowest} to {highest}")
    number = int(text)
    if not lowest <= number <= highest:
        raise ValueError(f"not a whole number from {lowest} to {highest}")
    return number


def _rank(text: str) -> int:
    return _whole(text, 0, MAX_NUMBER)


def _port(text: str) -> int:
    return _whole(text, 1, MAX_PORT)


def _seconds(text: str) -> float:
    try:
        seconds = float(text) if text.isascii() and "_" not in text else 0.0
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ValueError("not a number of seconds above 0")
    return seconds


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _node_list(text: str) -> str:
    """Return the node list, or the names that stand in the lines of the ``@file``, each once."""
    if not text.startswith("@"):
        return text
    try:
        # Not by pathlib, which is one more import on every task.
        with open(text[1:], encoding="utf-8") as file:  # noqa: PTH123
            names = dict.fromkeys(line.strip() for line in file)
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot read it: {getattr(error, 'strerror', None) or error}") from None
    names.pop("", None)
    if not names:
        raise ValueError("no name stands in it")
    return ",".join(names)


def _choice(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in words:
            raise ValueError(f"not one of {', '.join(words)}")
        return text.lower()

    return parse


class Setting:
    """One environment variable."""

    __slots__ = ("default", "fallback", "kind", "meaning", "name", "parse", "variable")

    def __init__(
        self, name: str, kind: str, default: str, meaning: str, parse: Callable[[str], Any], *, fallback: Any = None
    ) -> None:
        """Describe the variable: kind, default and meaning for people, ``parse`` and ``fallback`` for the program."""
        self.name = name
        self.variable = PREFIX + name.upper()
        self.kind = kind
        self.default = default
        self.meaning = meaning
        self.parse = parse
        self.fallback = fallback

    def read(self, environ: Mapping[str, str]) -> Any:
        """Return the value in ``environ``, or the default where it is unset or empty.

        :raises SettingError: naming the variable and its value.
        """
        text = (environ.get(self.variable) or "").strip()
        if not text:
            return self.fallback
        try:
            return self.parse(text)
        except ValueError as error:
            raise SettingError(f"{self.variable}={quote(text)}: {error}") from None


#: The one that is read when the patches are applied.
PREFER_OLD_SOLUTION = Setting(
    "prefer_old_solution",
    "bool",
    "0",
    "patch torch's functions even where `--local_addr` would do (torch ≥ 2.5)",
    _boolean,
    fallback=False,
)

TABLE: tuple[Setting, ...] = (
    Setting(
        "prefer_arg_patching", "bool", "1",
        "1: set `is_host` in `--rdzv_conf`. 0: patch the function by which torch recognises the host machine; "
        "node ranks are then not used for that",
        _boolean, fallback=True,
    ),
    Setting("node_rank", "int", "`SLURM_NODEID`", "this node's rank", _rank),
    Setting("host_node_rank", "int", "0", "rank of the host node", _rank),
    PREFER_OLD_SOLUTION,
    Setting(
        "host_template", "list", "site rule",
        "what a node is called on the fast network: `{node}i`, `{host}-ib0{domain}`, `{host}.hsn.example`; "
        "several, comma-separated, are tried in order",
        _names, fallback=(),
    ),
    Setting(
        "nodelist", "node list or `@file`", "Slurm's",
        "the nodes in the order of their ranks, as Slurm writes them or one a line in a file (`@$PBS_NODEFILE`)",
        _node_list,
    ),
    Setting(
        "interface", "NCCL syntax", "unset",
        "which interfaces may carry the traffic: `ib0`, `=ib0`, `ib,hsn`, `^docker,lo`, `^=eth0`",
        str,
    ),
    Setting("port", "int", "derived", "port of a derived endpoint", _port),
    Setting(
        "rank_order", "`slurm`, `torch`", "`slurm`",
        "order of node ranks under c10d",
        _choice("slurm", "torch"), fallback="slurm",
    ),
    Setting(
        "socket_ifname", "`auto`, `off`", "`auto`",
        "whether to set `GLOO_SOCKET_IFNAME` for the workers",
        _choice("auto", "off"), fallback="auto",
    ),
    Setting(
        "resolve_timeout", "seconds", "10",
        "deadline of all name look-ups of one launch together",
        _seconds, fallback=10.0,
    ),
    Setting(
        "preflight", "`on`, `off`, `strict`", "`on`",
        "`on`: say what is in the way while torch waits. `strict`: let every node connect to every other one first",
        _choice("on", "off", "strict"), fallback="on",
    ),
    Setting(
        "preflight_timeout", "seconds", "60",
        "how long a strict preflight waits for all nodes",
        _seconds, fallback=60.0,
    ),
    Setting("explain", "bool", "0", "print the plan to stderr before launching", _boolean, fallback=False),
)  # fmt: skip


def quote(text: str) -> str:
    """Return ``text`` in double quotes, fit for a terminal."""
    return f'"{plain(text)}"'


class Settings:
    """The settings of one launch, each named as in :data:`TABLE`. The plan reads them from here by these names."""

    prefer_arg_patching: bool
    node_rank: int | None
    host_node_rank: int | None
    prefer_old_solution: bool
    host_template: list[str]
    nodelist: str | None
    interface: str | None
    port: int | None
    rank_order: str
    socket_ifname: str
    resolve_timeout: float
    preflight: str
    preflight_timeout: float
    explain: bool
    gloo_socket_ifname: str | None
    nccl_socket_ifname: str | None

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Read all of them from ``environ``.

        :raises SettingError: for the first value that cannot be used.
        """
        for setting in TABLE:
            setattr(self, setting.name, setting.read(environ))
        self.gloo_socket_ifname = environ.get("GLOO_SOCKET_IFNAME") or None
        self.nccl_socket_ifname = environ.get("NCCL_SOCKET_IFNAME") or None


def read_override(name: str, argument: str, value: object) -> Any:
    """Return an argument that stands for the setting called ``name``, checked like the setting.

    :raises SettingError: naming the argument and its value.
    """
    setting = next(setting for setting in TABLE if setting.name == name)
    text = str(value).strip()
    try:
        return setting.parse(text)
    except ValueError as error:
        raise SettingError(f"{argument}={quote(text)}: {error}") from None
