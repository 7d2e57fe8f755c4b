"""Claude Code: session files, files of sub-agents, and what `claude -p --output-format stream-json` prints.

One file may hold several runs: the session, branches that began when one went back, and sub-agents; how they are told
apart is said in `claude_survey`, how lines become events in `claude_session`. Declared rules: a branch begins with the
history that it shares, whose tokens are counted only in the run that wrote it; so is history under the id of another
session, which the program copies when a session is resumed or forked. Where it gives the copy the new id, nothing in
the file tells that it is one, and its tokens are counted in both. `--resume` of the same session goes on in the same
file. A printed stream without its result was cut. Arguments of calls are decoded objects: the model's own whitespace is
lost. The base commit, the patch and sampling are not recorded. Refuses a file without one record of a session.
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
_SESSION = re.compile(rb'"sessionId"\s*:\s*"')
_FOREIGN_SESSION = re.compile(rb'"sessionId"\s*:\s*"session-')
_PARTS = re.compile(rb'"message"\s*:\s*\{\s*(?:"role"\s*:\s*"[a-z]+"\s*,\s*)?"parts"\s*:')
_STREAM = re.compile(rb'"type"\s*:\s*"(?:system|assistant|user|result|stream_event)"')
_STREAM_ONLY = re.compile(rb'"session_id"\s*:\s*"')
_STREAM_SIGN = re.compile(rb'"(?:parent_tool_use_id|claude_code_version|num_turns|apiKeySource)"\s*:')
_SNAPSHOT = re.compile(rb'\A\{"type":"(?:file-history-snapshot","messageId"|summary","summary":".*"leafUuid")')


class ClaudeCode:
    """Reader of Claude Code's records."""

    name = "claude_code"
    title = "Claude Code session, sub-agent, or stream-json output (JSON Lines)"
    detects = "JSON Lines with `sessionId` and `parentUuid`, or `session_id` with types system, assistant, user, result"
    proven = True
    evidence = Evidence(
        text="yes",
        actions="yes",
        raw_arguments="decoded",
        observations="yes",
        reuse="cached tokens of each call",
    )

    def sniff(self, head: bytes, source: Source) -> float:
        """0.9 for a record of a session or of the stream, 0.6 for what only stands before one."""
        if source.is_dir or not head.lstrip(b"\xef\xbb\xbf \t\r\n\0").startswith(b"{"):
            return 0.0
        lines = head.split(b"\n", _LOOKED_AT)[:_LOOKED_AT]
        for line in lines:
            if _CHAIN.search(line) and _SESSION.search(line):
                return 0.0 if _PARTS.search(line) else 0.5 if _FOREIGN_SESSION.search(line) else 0.9
            if _STREAM_ONLY.search(line) and _STREAM.search(line) and _STREAM_SIGN.search(line):
                return 0.9
        return 0.6 if _SNAPSHOT.search(lines[0].lstrip(b"\xef\xbb\xbf")) else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield the strand that goes on, then what was left, then sub-agents.

        Raises: DamagedRecord: not one record of a session. InputError: the source cannot be opened.
        """
        return runs(source, Program("claude-code"))


READER = ClaudeCode()
