"""The public surface: a `Store` that ingests, compares and tells. Command line and web see nothing below it."""

from __future__ import annotations

from samework.api.opening import create, open, restore  # noqa: A004 (sw.open reads as intended)
from samework.api.snapshots import snapshot
from samework.api.store import Store

__all__ = ["Store", "create", "open", "restore", "snapshot"]
