"""How large, deep and many an input may be. One declared set; nothing else in this room has a number of its own.

Refuses nothing itself: the readers of bytes raise `LimitExceeded` (a whole input) or report a `Damage` (one record).
"""

from __future__ import annotations

import msgspec

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


class Limits(msgspec.Struct, frozen=True):
    """Bounds of one input.

    max_line_bytes: one line of JSON Lines. max_depth: nesting of JSON and XML. max_document_bytes: one JSON document
    read whole. max_digits: digits of one integer. max_xml_bytes: one XML document. max_members: members of an archive
    or names of a directory. max_levels: directories within one another. max_member_bytes / max_expanded_bytes: one
    member, and all of an archive, after decompression. max_ratio: expanded to stored bytes, looked at once
    `ratio_floor_bytes` have been expanded.
    """

    max_line_bytes: int = 64 * MIB
    max_depth: int = 200
    max_document_bytes: int = 512 * MIB
    max_digits: int = 4300
    max_xml_bytes: int = 256 * MIB
    max_members: int = 200_000
    max_levels: int = 200
    max_member_bytes: int = 8 * GIB
    max_expanded_bytes: int = 16 * GIB
    max_ratio: int = 250
    ratio_floor_bytes: int = 16 * MIB


DEFAULT = Limits()
