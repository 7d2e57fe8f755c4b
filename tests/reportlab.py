"""Test reports of one session in one place: the report of a reader, and its outcomes by node."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from samework.decode.source import BytesSource
from samework.model.records import Damage, SuiteReport

if TYPE_CHECKING:
    from samework.model.reader import Reader


def report_of(reader: Reader, data: bytes | str) -> SuiteReport:
    """The one report in some bytes."""
    source = BytesSource("x/report", data.encode() if isinstance(data, str) else data)
    assert reader.sniff(source.head(), source) >= 0.3
    reports = [record for record in reader.read(source) if isinstance(record, SuiteReport)]
    assert len(reports) == 1
    return reports[0]


def outcomes(report: SuiteReport) -> dict[str, list[str]]:
    """Every outcome of each node, in order."""
    found: dict[str, list[str]] = {}
    for one in report.outcomes:
        found.setdefault(one.node, []).append(one.outcome.value)
    return found


def damage_of(reader: Reader, data: bytes) -> list[Damage]:
    return [record for record in reader.read(BytesSource("x", data)) if isinstance(record, Damage)]


def lines(*values: object) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)
