"""All patches, in the order in which they are applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchrun_jsc.patches import (
    args_parser,
    config_from_args,
    create_tcp_store,
    fq_hostname,
    host_check,
    launch_agent,
    mark_complete,
    next_rendezvous,
    nnodes,
    node_desc,
    store_info,
)

if TYPE_CHECKING:
    from torchrun_jsc.patch import Patch

PATCHES: tuple[Patch, ...] = (
    *args_parser.PATCHES,
    *nnodes.PATCHES,
    *config_from_args.PATCHES,
    *launch_agent.PATCHES,
    *host_check.PATCHES,
    *create_tcp_store.PATCHES,
    *fq_hostname.PATCHES,
    *store_info.PATCHES,
    *node_desc.PATCHES,
    *next_rendezvous.PATCHES,
    *mark_complete.PATCHES,
)
