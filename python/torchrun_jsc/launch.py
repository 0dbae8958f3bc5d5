"""One launch: make the plan of a ``LaunchConfig``, tell torch about it, and be the current launch while torch runs."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Iterator

from torchrun_jsc import _core, patcher
from torchrun_jsc.args import options_of
from torchrun_jsc.beside import Beside
from torchrun_jsc.current import LAUNCH, Launch
from torchrun_jsc.messages import show, warn_once_a_node
from torchrun_jsc.settings import Settings

if TYPE_CHECKING:
    from torchrun_jsc._core import Plan

#: What was prepared for each ``LaunchConfig``.
_PREPARED: Beside[Launch] = Beside()

#: What tells workers which interface to use: gloo's, and that of TensorPipe, on which ``torch.distributed.rpc`` runs.
#: https://github.com/pytorch/pytorch/blob/v2.6.0/torch/csrc/distributed/rpc/tensorpipe_agent.cpp
_INTERFACE_VARIABLES = ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")


def prepare(
    config: Any,
    given: frozenset[str],
    *,
    standalone: bool = False,
    node_rank: Any = None,
    master_port: Any = None,
) -> Launch:
    """Make the plan for ``config`` and write it there. A config that has its plan keeps it.

    :param config: torch's ``LaunchConfig``; changed in place.
    :param given: names of the options that the user gave.
    :param standalone: ``--standalone``, which torch leaves out of the config.
    :param node_rank: ``--node_rank``, which torch leaves out of the config unless the backend is static.
    :param master_port: ``--master_port``, which torch puts into the endpoint of the static backend only.
    :raises TorchrunJscError: where the launch cannot work.
    """
    prepared = _PREPARED.get(config)
    if prepared is not None:
        return prepared
    settings = Settings(os.environ)
    options = options_of(config, given, standalone=standalone, node_rank=node_rank, master_port=master_port)
    plan = _core.plan(settings, options, os.environ, settings.resolve_timeout)
    _write(plan, config)
    launch = Launch(plan, settings)
    _PREPARED.set(config, launch)
    warn_once_a_node(plan.warnings)
    if settings.explain:
        from torchrun_jsc.shown import explain, shows_table, text

        as_table = shows_table(plan)
        show(text(explain(plan, with_nodes=as_table), in_step=plan.in_step, as_table=as_table))
    return launch


def plan_of(config: Any) -> Plan:
    """Return the plan that :func:`prepare` made for ``config``.

    :raises LookupError: where it made none.
    """
    launch = _PREPARED.get(config)
    if launch is None:
        raise LookupError(config)
    return launch.plan


def _write(plan: Plan, config: Any) -> None:
    """Set in ``config`` what the plan decided, never over what was given."""
    if plan.untouched is not None:
        return
    _fill(plan.fills, config)
    by_function = plan.host_check == "function" and patcher.has(name="host check")
    if plan.is_host is not None and not by_function and config.rdzv_configs.get("is_host") is None:
        config.rdzv_configs["is_host"] = plan.is_host
    # torch has the field since 2.0.
    has_field = getattr(config, "local_addr", "absent") is None
    if plan.local_address is not None and has_field and not patcher.functions_publish():
        config.local_addr = plan.local_address
    if plan.endpoint is not None:
        config.rdzv_endpoint = plan.endpoint


def _fill(fills: dict[str, str], config: Any) -> None:
    if "rdzv_backend" in fills:
        config.rdzv_backend = fills["rdzv_backend"]
        # Only the static backend reads it.
        config.rdzv_configs.pop("rank", None)
    if "rdzv_id" in fills:
        config.run_id = fills["rdzv_id"]
    if "node_rank" in fills:
        config.rdzv_configs["rank"] = int(fills["node_rank"])


@contextmanager
def running(config: Any, given: frozenset[str]) -> Iterator[None]:
    """Be the launch of ``config`` in this thread, with the workers' environment as planned.

    :param given: as for :func:`prepare`, which makes the plan where there is none yet.
    :raises TorchrunJscError: where the launch cannot work.
    """
    # A config may be launched again; what has come of one launch says nothing of the next one.
    launch = replace(prepare(config, given))
    plan = launch.plan
    token = LAUNCH.set(launch)
    try:
        if plan.untouched is not None:
            yield
            return
        # Late: torch looks up each module that is loaded, again and again, and this launch needs more of them.
        from torchrun_jsc import preflight

        if plan.is_host:
            preflight.make_room(plan.node, config.max_nodes, config.max_nodes * config.nproc_per_node)
        with preflight.only_one(plan, config.run_id), _workers_environment(plan), preflight.during_launch(launch):
            yield
    finally:
        LAUNCH.reset(token)


@contextmanager
def _workers_environment(plan: Plan) -> Iterator[None]:
    """Set what workers inherit, never over the user's, and take it back afterwards."""
    value = plan.gloo_interface
    before = {name: os.environ.get(name) for name in _INTERFACE_VARIABLES}
    # An empty one names none.
    ours = [] if value is None else [name for name, given in before.items() if not given]
    os.environ.update(dict.fromkeys(ours, value or ""))
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)
            given = before[name]
            if given is not None:
                os.environ[name] = given
