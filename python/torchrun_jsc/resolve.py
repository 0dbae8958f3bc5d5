"""The endpoint of a step, for programs that initialise torch by themselves."""

from __future__ import annotations

import os
import sys

from torchrun_jsc import _core
from torchrun_jsc.messages import warn_once_a_node
from torchrun_jsc.settings import Settings, read_override

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable, Mapping

    from torchrun_jsc._core import Endpoint


def resolve_endpoint(
    endpoint: str | None = None,
    *,
    nodelist: str | None = None,
    node_rank: int | None = None,
    host_node_rank: int | None = None,
    host_template: str | Iterable[str] | None = None,
    interface: str | None = None,
    port: int | None = None,
    timeout: float | None = None,
    environ: Mapping[str, str] | None = None,
) -> Endpoint:
    """Find where the rendezvous store of this Slurm step is, and the place of this task; the same on all tasks.

    What the environment has already (``MASTER_ADDR``, ``RANK`` …) is kept; a contradiction with Slurm is a warning on
    stderr. torch is not imported.

    :param endpoint: ``host`` or ``host:port`` instead of the one from Slurm.
    :param nodelist: node list instead of ``SLURM_STEP_NODELIST``, such as ``jwb[0001-0004]``, or ``@file`` with a name
        in each line.
    :param node_rank: this node's rank instead of ``SLURM_NODEID``.
    :param host_node_rank: rank of the host node instead of 0; rank 0 of the tasks is there.
    :param host_template: how a node is called on the fast network, such as ``{node}i``; one, or several in order.
    :param interface: which interfaces may carry the traffic, in NCCL's syntax.
    :param port: the port instead of the one from job and step id.
    :param timeout: deadline of all name look-ups together, in seconds; default 10.
    :param environ: environment to read instead of this process's own.
    :raises SettingError: for a variable or an argument that cannot be used, and for what cannot be known.
    :raises ResolveError: for a host without an address.
    """
    environ = os.environ if environ is None else environ
    settings = Settings(environ)
    if host_template is not None and not isinstance(host_template, str):
        host_template = ",".join(host_template)
    arguments = {
        "nodelist": nodelist,
        "node_rank": node_rank,
        "host_node_rank": host_node_rank,
        "host_template": host_template,
        "interface": interface,
        "port": port,
        "timeout": timeout,
    }
    given = {name: value for name, value in arguments.items() if value is not None}
    for argument, value in given.items():
        name = "resolve_timeout" if argument == "timeout" else argument
        setattr(settings, name, read_override(name, argument, value))
    try:
        found = _core.resolve_endpoint(
            settings,
            endpoint,
            None if port is None else settings.port,
            environ,
            settings.resolve_timeout,
            _is_child(),
        )
    except RuntimeError as error:
        raise _named(error, given) from None
    warn_once_a_node(found.warnings)
    return found


def _is_child() -> bool:
    """Whether Python's ``multiprocessing`` started this process; asked without importing it."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None


def _named(error: RuntimeError, given: Iterable[str]) -> RuntimeError:
    """Return an error that names the argument, where it names the variable that the argument stands for."""
    for argument in given:
        variable, text = f"TORCHRUN_JSC_{argument.upper()}=", str(error)
        if text.startswith(variable):
            return type(error)(f"{argument}={text[len(variable) :]}")
    return error
