"""A report as JSON: what is read back into `ReportData` renders to the same HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from samework.report.data import ReportData


def render_json(data: ReportData) -> str:
    """The report as JSON text, indented, ending in a newline."""
    return msgspec.json.format(msgspec.json.encode(data), indent=1).decode() + "\n"
