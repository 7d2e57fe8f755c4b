"""The readers and what each can evidence."""

from __future__ import annotations

import msgspec

from samework.api.details import FormatInfo
from samework.ingest.registry import readers


def formats() -> list[FormatInfo]:
    """The readers, in the order of their names, with what each can ever evidence."""
    return [
        FormatInfo(reader.name, reader.title, reader.detects, reader.proven, msgspec.to_builtins(reader.evidence))
        for _, reader in sorted(readers().items())
    ]
