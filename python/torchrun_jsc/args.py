"""torchrun's options, as torch itself read them, in the form the plan takes."""

from __future__ import annotations

import os
from typing import Any, Mapping, NamedTuple

from torchrun_jsc._core import MAX_NUMBER, MAX_PORT
from torchrun_jsc.beside import Beside
from torchrun_jsc.errors import SettingError
from torchrun_jsc.settings import quote

#: Options for which it matters whether the user gave them: their defaults cannot be told from a choice.
TRACKED = ("nnodes", "node_rank", "rdzv_backend", "rdzv_endpoint", "rdzv_id", "master_addr", "master_port")

#: Those of them that say where the nodes meet.
_PLACES = frozenset({"rdzv_endpoint", "master_addr"})
#: https://github.com/pytorch/pytorch/blob/v2.12.0/torch/distributed/run.py
_DEFAULT_PORT = 29500


class _Parsed(NamedTuple):
    """A command line, as torch's parser read it."""

    #: The tracked options. A program may change them in the namespace later.
    values: dict[str, Any]
    given: frozenset[str]


#: What each namespace was at first.
_PARSED: Beside[_Parsed] = Beside()


def note_given(namespace: Any, again: Any) -> None:
    """Note beside ``namespace``, which torch's parser made, which options the user gave.

    :param again: made of the same arguments without the defaults.
    """
    # `--rdzv-endpoint=$UNSET` gives nothing.
    given = frozenset(name for name in TRACKED if getattr(again, name, None) not in (None, ""))
    _PARSED.set(namespace, _Parsed(_tracked(namespace), given | _from_pet()))


def given_of(namespace: Any) -> frozenset[str]:
    """Return the options that count as given: those of the command line, and those that a program set by itself.

    All nodes come to the same. A program that sets ``node_rank`` sets it to the default on node 0, so its value does
    not tell whether it is given; nor does that of the static backend. A program that says where the nodes meet has
    given both, and one that does not has given no rank. accelerate lays its own options over the parser's defaults:
    https://github.com/huggingface/accelerate/blob/v1.15.0/src/accelerate/utils/launch.py
    """
    parsed = _PARSED.get(namespace)
    before, given = parsed or (_defaults(), _from_pet())
    now = _tracked(namespace)
    changed = {name for name in TRACKED if now[name] != before[name] and _is_set(name, now[name])}
    if before["master_port"] is None and now["master_port"] == _DEFAULT_PORT:
        # torch's own, which its run() puts there.
        changed.discard("master_port")
    if not changed:
        return given
    if _PLACES.intersection(given | changed) and now["rdzv_backend"] == "static":
        return given | changed | {"node_rank", "rdzv_backend"}
    return given | changed - {"node_rank"}


def _tracked(namespace: Any) -> dict[str, Any]:
    return {name: getattr(namespace, name, None) for name in TRACKED}


def _defaults() -> dict[str, Any]:
    from torch.distributed import run

    parser = run.get_args_parser()
    return {name: parser.get_default(name) for name in TRACKED}


def _is_set(name: str, value: Any) -> bool:
    """Whether a program set the option: accelerate writes ``None:29500`` where it was given no address."""
    return value not in (None, "") and not (name in _PLACES and str(value).partition(":")[0] == "None")


def _from_pet() -> frozenset[str]:
    """Options given by ``PET_*``: torch takes them as its parser's defaults."""
    return frozenset(name for name in TRACKED if os.environ.get(f"PET_{name.upper()}"))


def given_in_config(config: Any) -> frozenset[str]:
    """Return the options that count as given in a ``LaunchConfig`` that a program made."""
    given = {"nnodes", "rdzv_backend"}
    if config.rdzv_endpoint:
        given |= {"rdzv_endpoint"}
    if config.run_id not in ("", "none"):
        given |= {"rdzv_id"}
    if "rank" in config.rdzv_configs:
        given |= {"node_rank"}
    return frozenset(given)


def options_of(
    config: Any, given: frozenset[str], *, standalone: bool, node_rank: Any, master_port: Any
) -> dict[str, Any]:
    """Return the options of a ``LaunchConfig``, and three that torch leaves out of it.

    :raises SettingError: where ``is_host`` is no boolean to torch, or the port is none.
    """
    configs = config.rdzv_configs
    return {
        "standalone": standalone,
        "backend": config.rdzv_backend.strip().lower(),
        "endpoint": config.rdzv_endpoint or "",
        "run_id": str(config.run_id),
        "node_rank": _rank(node_rank) if "node_rank" in given else None,
        "master_port": _port(master_port) if "master_port" in given else None,
        # Clamped to what the plan takes; torch accepts any integer.
        "min_nodes": max(0, min(config.min_nodes, MAX_NUMBER)),
        "max_nodes": max(0, min(config.max_nodes, MAX_NUMBER)),
        "is_host": _is_host(configs),
        "file_store": str(configs.get("store_type", "tcp")).strip().lower() == "file",
        "local_address": getattr(config, "local_addr", None) or None,
        "given": sorted(given),
    }


def _rank(value: Any) -> int | None:
    """The number, if it is one; what cannot be used is torch's to say."""
    rank = _number(value)
    return rank if rank is not None and 0 <= rank <= MAX_NUMBER else None


def _number(value: Any) -> int | None:
    """The number: programs also write it as text."""
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _port(value: Any) -> int:
    port = _number(value)
    if port is None or not 0 < port <= MAX_PORT:
        raise SettingError(f"--master_port={quote(str(value))}: not a port from 1 to {MAX_PORT}")
    return port


def _is_host(configs: Mapping[str, Any]) -> bool | None:
    """``is_host`` as torch reads it."""
    if configs.get("is_host") is None:
        return None
    from torch.distributed.elastic.rendezvous import RendezvousParameters

    value = configs["is_host"]
    parameters = RendezvousParameters("c10d", "", "", 1, 1, is_host=value)
    try:
        answer: bool | None = parameters.get_as_bool("is_host")
    except ValueError:
        raise SettingError(f"--rdzv_conf is_host={quote(str(value))}: not a boolean; use 1 or 0") from None
    return answer
