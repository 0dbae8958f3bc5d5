"""Commands on nodes that have a name server of their own: the real resolver of this system asks tests/slurm/dns.py."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Sequence

from slurm.lab import HERE, Cluster, Run

if TYPE_CHECKING:
    from pathlib import Path

_DNS = str(HERE / "dns.py")

#: A task's own hosts file is made of the common one, where `{0}` is the number of its node.
_SETUP = (
    'sed "s/{0}/$((SLURM_NODEID + 1))/g" "$0/hosts" >"$0/hosts.$SLURM_NODEID" &&'
    'mount --bind "$0/hosts.$SLURM_NODEID" /etc/hosts && mount --bind "$0/resolv.conf" /etc/resolv.conf &&'
    'mount --bind "$0/nsswitch.conf" /etc/nsswitch.conf && exec "$@"'
)


def run_with_names(
    cluster: Cluster,
    folder: Path,
    command: Sequence[str],
    *,
    zone: dict[str, Any],
    hosts: str,
    deadline: float,
    timeout: float = 120,
) -> Run:
    """Run a command on two nodes with this zone; `deadline` is that of our look-ups, `timeout` that of the command."""
    (folder / "hosts").write_text(hosts)
    (folder / "resolv.conf").write_text("nameserver 127.0.0.1\n")
    (folder / "nsswitch.conf").write_text("hosts: files dns\n")
    (folder / "zone").write_text(json.dumps(zone))
    own = ["unshare", "--mount", "sh", "-c", _SETUP, str(folder)]
    server = [sys.executable, _DNS, str(folder / "zone")]
    env = {"TORCHRUN_JSC_RESOLVE_TIMEOUT": str(deadline), "GLOO_SOCKET_IFNAME": "ib0"}
    return cluster.srun([*own, *server, *command], env=env, timeout=timeout)
