"""torchrun's options, as torch itself read them, in the form the plan takes."""

from __future__ import annotations

import os
from typing import Any, Mapping

from torchrun_jsc.beside import Beside
from torchrun_jsc.errors import SettingError
from torchrun_jsc.settings import quote

#: Options for which it matters whether the user gave them: their defaults cannot be told from a choice.
TRACKED = ("nnodes", "node_rank", "rdzv_backend", "rdzv_endpoint", "rdzv_id", "master_addr", "master_port")

#: The options that the user gave, by namespace.
_GIVEN: Beside[frozenset[str]] = Beside()


def note_given(namespace: Any, argv: list[str] | None) -> None:
    """Note on ``namespace``, which torch made of ``argv``, which options the user gave.

    torch's own parser reads the same arguments again, with its defaults taken out.
    """
    from torch.distributed import run

    parser = run.get_args_parser()
    parser.set_defaults(**dict.fromkeys(TRACKED))
    again, _ = parser.parse_known_args(argv)
    # `--rdzv-endpoint=$UNSET` gives nothing.
    given = frozenset(name for name in TRACKED if getattr(again, name) not in (None, ""))
    _GIVEN.set(namespace, given | _from_pet())


def given_of(namespace: Any) -> frozenset[str]:
    """Return the options that the user gave, for a namespace that torch parsed or that a program made."""
    noted = _GIVEN.get(namespace)
    if noted is not None:
        return noted
    from torch.distributed import run

    parser = run.get_args_parser()
    changed = (name for name in TRACKED if getattr(namespace, name, None) != parser.get_default(name))
    return frozenset(changed) | _from_pet()


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


#: The plan takes 32 bits; torch takes any number.
_MOST = 2**32 - 1
_MOST_PORT = 65535


def options_of(
    config: Any, given: frozenset[str], *, standalone: bool, node_rank: int | None, master_port: Any
) -> dict[str, Any]:
    """Return the options of a ``LaunchConfig``, and three that torch leaves out of it.

    :raises SettingError: where ``is_host`` is no boolean to torch.
    """
    configs = config.rdzv_configs
    return {
        "standalone": standalone,
        "backend": config.rdzv_backend.strip().lower(),
        "endpoint": config.rdzv_endpoint or "",
        "run_id": str(config.run_id),
        "node_rank": node_rank if "node_rank" in given and 0 <= (node_rank or 0) <= _MOST else None,
        "master_port": _port(master_port) if "master_port" in given else None,
        "min_nodes": max(0, min(config.min_nodes, _MOST)),
        "max_nodes": max(0, min(config.max_nodes, _MOST)),
        "is_host": _is_host(configs),
        "file_store": str(configs.get("store_type", "tcp")).strip().lower() == "file",
        "local_address": getattr(config, "local_addr", None) or None,
        "given": sorted(given),
    }


def _port(value: Any) -> int:
    port = int(value)
    if not 0 < port <= _MOST_PORT:
        raise SettingError(f"--master_port={quote(str(value))}: not a port from 1 to {_MOST_PORT}")
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
