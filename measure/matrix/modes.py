"""The ways of starting a job of two nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matrix.versions import Torch


class Mode(NamedTuple):
    """One way; every job trains on two nodes."""

    name: str
    env: dict[str, str] = {}  # noqa: RUF012 (never changed)
    #: The nodes in Slurm's order, and which of them the endpoint names.
    nodes: tuple[str, str] = ("jwb0001", "jwb0002")
    host: int = 0
    static: bool = False
    per_node: int = 1
    #: A worker dies in the first round.
    dies: bool = False
    #: The release that brought what this mode switches.
    since: tuple[int, int] = (1, 9)
    #: None leaves torch's own timeouts, with which a failure takes a minute.
    conf: str | None = "read_timeout=20,timeout=60"

    def exists_in(self, torch: Torch) -> bool:
        """Whether the release has what this mode switches."""
        return torch.at_least(*self.since)

    def environment(self, torch: Torch) -> dict[str, str]:
        """Return the variables to set."""
        return {**self.env, **WORKAROUNDS.get((torch.line, self.name), {})}

    def options(self, number: int) -> list[str]:
        """Return torchrun's options. Underscores: releases before 2.0 know no dashes."""
        host = f"{self.nodes[self.host]}i"
        options = ["--nnodes=2", f"--nproc_per_node={self.per_node}"]
        if self.static:
            # The nodes' ranks come from Slurm.
            return [*options, f"--master_addr={host}", "--master_port=29500"]
        options += ["--rdzv_backend=c10d", f"--rdzv_id={number}", f"--rdzv_endpoint={host}:29500"]
        if self.conf is not None:
            options.append(f"--rdzv_conf={self.conf}")
        if self.dies:
            options += ["--max_restarts=1", "--monitor_interval=0.5"]
        return options


_OLD = {"TORCHRUN_JSC_PREFER_OLD_SOLUTION": "1"}
_NO_ARGUMENT = {"TORCHRUN_JSC_PREFER_ARG_PATCHING": "0"}
_BOTH = {**_OLD, **_NO_ARGUMENT}
_NOT_SHARED = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}

MODES = (
    Mode("default", conf=None),
    Mode("old solution", _OLD),
    Mode("no argument patching", _NO_ARGUMENT),
    Mode("both", _BOTH),
    Mode("host on node 1", host=1),
    Mode("host on node 1, both", _BOTH, host=1),
    Mode("names that don't sort", nodes=("n9", "n10")),
    Mode("static backend", static=True),
    Mode("2 workers a node", per_node=2),
    Mode("shared store off", _NOT_SHARED, since=(2, 5)),
    Mode("a worker dies once", dies=True),
)

#: Those that a change is tried with.
CI_MODES = tuple(
    mode
    for mode in MODES
    if mode.name
    in {"default", "both", "host on node 1, both", "names that don't sort", "shared store off", "a worker dies once"}
)

#: What a release needs of the user, whoever launches it.
WORKAROUNDS = {
    # In its shared store the nodes' workers count restarts each for themselves and do not find one another:
    # https://github.com/pytorch/pytorch/issues/135712
    ("2.5", "a worker dies once"): _NOT_SHARED,
}

#: What a release fails by itself: plain torchrun does the same on one node.
_TORCHS_OWN = {
    (
        "2.3",
        "a worker dies once",
    ): "torch 2.3 ends the rendezvous when a worker is restarted; plain torchrun does the same"
}


def torchs_own_fault(torch: Torch, mode: Mode) -> str | None:
    """Return why this mode cannot work with this release, whoever launches it."""
    return _TORCHS_OWN.get((torch.line, mode.name))
