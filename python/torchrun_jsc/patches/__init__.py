"""What is changed in torch: one module a target, applied from one table."""

from __future__ import annotations

from torchrun_jsc.patches.registry import PATCHES, apply, report, undo

__all__ = ["PATCHES", "apply", "report", "undo"]
