"""What is changed in torch: one module a target, applied from one table."""

from __future__ import annotations

from torchrun_jsc.patches.registry import PATCHES, Row, apply, functions_publish, is_patched, report, undo

__all__ = ["PATCHES", "Row", "apply", "functions_publish", "is_patched", "report", "undo"]
