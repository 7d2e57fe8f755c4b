"""A report as JSON, and back: what is read renders to the same HTML."""

from __future__ import annotations

import msgspec

from samework.errors import DamagedRecord
from samework.report.data import ReportData


def render_json(data: ReportData) -> str:
    """The report as JSON text, indented, ending in a newline."""
    return msgspec.json.format(msgspec.json.encode(data), indent=1).decode() + "\n"


def read_json(text: str | bytes) -> ReportData:
    """A report that `render_json` wrote.

    Raises:
        DamagedRecord: it is not one.
    """
    try:
        return msgspec.json.decode(text, type=ReportData)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise DamagedRecord(f"not a samework report ({problem})", hint="samework report -o FILE.json") from problem
