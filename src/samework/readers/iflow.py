"""iFlow CLI sessions: records in the shape of Claude Code's, written by other rules.

Each line has an id of its own, so a reply is what stands together until a result comes; calls are written again on
later lines, and are one call by their id. Results are objects that hold a function response, of which the model saw
the output. Counts of tokens are zero throughout, which says nothing: usage stays unrecorded. Parents do not tell
branches. Refuses a file without one record of a session.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from samework.model.reader import Evidence
from samework.readers.parts.claude_runs import Program, runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_LOOKED_AT = 60
_CHAIN = re.compile(rb'"parentUuid"\s*:\s*(?:null|")')
_SESSION = re.compile(rb'"sessionId"\s*:\s*"session-')


class Iflow:
    """Reader of iFlow CLI sessions."""

    name = "iflow"
    title = "iFlow CLI session (JSON Lines)"
    detects = "JSON Lines with `parentUuid` and a `sessionId` that begins with `session-`"
    proven = True
    evidence = Evidence(text="yes", actions="yes", raw_arguments="decoded", observations="yes")

    def sniff(self, head: bytes, source: Source) -> float:
        """0.95 for a record of a session of iFlow."""
        if source.is_dir or not head.lstrip(b"\xef\xbb\xbf \t\r\n\0").startswith(b"{"):
            return 0.0
        lines = head.split(b"\n", _LOOKED_AT)[:_LOOKED_AT]
        return 0.95 if any(_CHAIN.search(line) and _SESSION.search(line) for line in lines) else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield the session, then its sub-agents.

        Raises: DamagedRecord: not one record of a session. InputError: the source cannot be opened.
        """
        return runs(source, Program("iflow", is_adjacent=True, has_branches=False))


READER = Iflow()
