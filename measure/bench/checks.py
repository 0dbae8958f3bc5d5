"""What the checks of a working launch cost (`torchrun_jsc.preflight`), on the host node and on another one."""

from __future__ import annotations

from bench.row import Row, fastest
from surroundings import step
from torchrun_jsc import _core
from torchrun_jsc.current import Launch
from torchrun_jsc.preflight import during_launch
from torchrun_jsc.settings import Settings

OPTIONS = {
    "standalone": False,
    "backend": "c10d",
    "endpoint": "192.0.2.1:29500",
    "run_id": "1",
    "node_rank": None,
    "master_port": None,
    "min_nodes": 2,
    "max_nodes": 2,
    "file_store": False,
    "local_address": None,
    "given": ["nnodes", "rdzv_backend", "rdzv_endpoint", "rdzv_id"],
}
LAUNCHES = 50


def rows() -> list[Row]:
    return [cost_of(is_host=True), cost_of(is_host=False)]


def cost_of(*, is_host: bool) -> Row:
    node = 0 if is_host else 1
    environ = step("n[1-2]", nodes=2, node=node, name=f"n{node + 1}")
    settings = Settings(environ)
    plan = _core.plan(settings, {**OPTIONS, "is_host": is_host}, environ, settings.resolve_timeout)
    assert (plan.is_host, plan.untouched) == (is_host, None)

    def launches() -> None:
        for _ in range(LAUNCHES):
            with during_launch(Launch(plan, settings)):
                pass

    (seconds,) = fastest([launches], 20)
    what = "the host node" if is_host else "another node"
    return Row(f"checks of a working launch on {what}", seconds / LAUNCHES * 1000, 5, "ms")
