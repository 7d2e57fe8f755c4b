"""ATIF trajectories (Harbor and others), v1.0 to v1.8: one file, or a file with its continuations.

Rules of this reader. A continuation is the same run gone on: its first messages that are not marked as copied come as
they stand, after a context edit, for they are what the model sees from there. A continuation that is read alone is a
run whose parent is the session, and a file that goes on elsewhere is incomplete. Token ids are the engine's; a list
that is no list of ids is left out. ATIF holds arguments decoded, so they are never exact.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from samework.decode.shapes import as_count, as_dict
from samework.model.reader import Evidence
from samework.readers.parts.atif_steps import (
    continued_name,
    inner_runs,
    joined,
    read_trajectory,
    referred_runs,
    unread_references,
    with_continuations,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_SCHEMA = re.compile(rb'"schema_version"\s*:\s*"ATIF-v[0-9]')


class Atif:
    """Reader of ATIF trajectories."""

    name = "atif"
    title = "ATIF trajectory (Harbor)"
    detects = "a JSON object whose `schema_version` begins with ATIF-v, alone or with its continuation files"
    proven = True
    evidence = Evidence(
        tokens="where the harness records ids",
        text="yes",
        actions="yes",
        raw_arguments="where written as text",
        observations="yes",
        reuse="cached tokens of each call, where recorded",
    )

    def sniff(self, head: bytes, source: Source) -> float:
        """0.95 for a trajectory; for a set of files, by the first of them."""
        if source.is_dir:
            found = source.child(name) if (name := continued_name(source)) else None
            head = b"" if found is None else found.head()
        is_object = head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")
        return 0.95 if is_object and _SCHEMA.search(head) is not None else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield the run, and those of its sub-agents.

        Raises: DamagedRecord: no trajectory.
        """
        first = continued_name(source) if source.is_dir else None
        files = [source] if first is None else with_continuations(source, first)
        whole = joined([read_trajectory(found) for found in files])
        index = as_count(as_dict(as_dict(whole.members.get("agent")).get("extra")).get("continuation_index"))
        start = whole.start(whole.native_id if index else None)
        if index:
            start = msgspec.structs.replace(start, native_id=f"{whole.native_id}.cont-{index}")
        yield start
        yield from whole.facts()
        yield from whole.records()
        yield from unread_references(whole, source, "")
        yield whole.end()
        yield from inner_runs(whole, start.native_id, None)
        yield from referred_runs(whole, source, "", start.native_id, None)


READER = Atif()
