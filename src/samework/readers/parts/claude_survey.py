"""Which records of a Claude Code file belong to which run: branches, sub-agents, copies, breaks.

A first pass over the file. Memory does not grow with it: a record is found as a parent only within the last
`_WINDOW` records, of which 8 bytes are kept each; runs are kept as byte ranges.

Declared rules, for no definition is published. A branch: a prompt whose parent lies before replies of the model, as
the program writes it when one goes back and asks again; the run that ends last in the file is the session, each other
end is a run of its own that begins with the history that both share. Parallel calls and results that no later record
names are no branches. A sub-agent: records with `isSidechain`, by their agent, else by the root of their chain. A copy:
a record with uuid and content of an earlier one. A parent that is not in the file breaks no history: order in the file
is the order of the run, and the break is reported.
"""

from __future__ import annotations

import hashlib
from array import array
from typing import TYPE_CHECKING

from samework.decode.shapes import as_dict, as_dicts, as_text
from samework.text import raw_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.decode.jsonl import Line

_WINDOW = 200_000
MAX_STRANDS = 256
MESSAGES = frozenset({"user", "assistant"})
SYNTHETIC = "<synthetic>"
_FACTS = ("cwd", "version", "claude_code_version", "gitBranch", "timestamp", "model", "permissionMode")
_LOCAL = ("<command-", "<local-command-", "<bash-")


class Ranges:
    """Byte ranges of the file, ascending; neighbours are one."""

    def __init__(self) -> None:
        self.bounds = array("Q")

    def add(self, start: int, end: int) -> None:
        """Add a record that begins at or after the end of the last one."""
        bounds = self.bounds
        if bounds and start - bounds[-1] <= 1:
            bounds[-1] = end
        else:
            bounds.extend((start, end))

    def until(self, cut: int | None) -> Iterator[tuple[int, int]]:
        """The ranges that begin at or before `cut` (None: all), none going beyond the record that begins there."""
        for place in range(0, len(self.bounds), 2):
            start, end = self.bounds[place], self.bounds[place + 1]
            if cut is not None and start > cut:
                return
            yield start, end if cut is None else min(end, cut + 1)


class Strand:
    """Records that follow each other: the trunk of a session, a branch of it, or a sub-agent.

    parent / cut: the strand it left, and the offset of the last record that it shares with it. agent: id of a
    sub-agent, None for the main conversation. n_replies: replies of the model so far. n_messages: records of messages.
    """

    def __init__(self, parent: Strand | None = None, cut: int | None = None, agent: str | None = None) -> None:
        self.parent = parent
        self.cut = cut
        self.agent = agent
        self.ranges = Ranges()
        self.sha256 = hashlib.sha256()
        self.n_replies = 0
        self.last_reply: str | None = None
        self.model: str | None = None
        self.n_messages = 0

    def path(self) -> Iterator[tuple[Strand, int | None]]:
        """This strand and those it grew from, each with the last offset that belongs to it here."""
        yield self, None
        strand = self
        while strand.parent is not None:
            cut, strand = strand.cut, strand.parent
            yield strand, cut


class Survey:
    """What the first pass finds.

    strands: in the order in which they begin; live is the one that the last message is in. session: id of the last
    message. sessions: all ids of messages. copies: offsets of repeated records. n_breaks: parents that are not there.
    n_beyond: records beyond the bound on strands. facts: first values of what describes the session.
    """

    def __init__(self, *, has_branches: bool = True) -> None:
        self.has_branches = has_branches
        self.strands: list[Strand] = []
        self.live: Strand | None = None
        self.trunk: Strand | None = None
        self.session: str | None = None
        self.sessions: list[str] = []
        self.forked_from: str | None = None
        self.copies: set[int] = set()
        self.n_copies = self.n_breaks = self.n_beyond = 0
        self.first_break = self.first_beyond = 0
        self.facts: dict[str, object] = {}
        self.result: dict[str, object] = {}
        self._recent: dict[int, tuple[Strand, int, int]] = {}
        self._older: dict[int, tuple[Strand, int, int]] = {}
        self._wanted = set(_FACTS)
        self._seen: set[int] = set()
        self._agents: dict[str, Strand] = {}
        self._last_agent: Strand | None = None

    def look(self, line: Line) -> None:
        """Place one record."""
        value = line.value
        if not isinstance(value, dict):
            return
        self._describe(value)
        kind = as_text(value.get("type"))
        if kind in MESSAGES and self._is_copy(value):
            self.n_copies += 1
            self.copies.add(line.offset)
            return
        strand = self._strand(value, line.offset)
        if strand is None:
            self.first_beyond = self.first_beyond if self.n_beyond else line.offset
            self.n_beyond += 1
            return
        strand.ranges.add(line.offset, line.offset + len(line.raw))
        if strand.agent is not None:
            strand.sha256.update(line.raw)
        if kind in MESSAGES:
            strand.n_messages += 1
        if kind == "assistant":
            self._reply(strand, value)
        if strand.agent is None and kind in MESSAGES:
            self.live = strand
        self._remember(value, strand, line.offset)

    def _describe(self, value: dict[str, object]) -> None:
        if self._wanted:
            model = as_text(as_dict(value.get("message")).get("model", value.get("model")))
            for name in tuple(self._wanted):
                told = model if name == "model" else as_text(value.get(name))
                if told and told != SYNTHETIC:
                    self.facts[name] = told
                    self._wanted.discard(name)
        if value.get("type") == "result" and "session_id" in value:
            self.result = value
        session = as_text(value.get("sessionId")) or as_text(value.get("session_id"))
        if "forkedFrom" in value and self.forked_from is None:
            self.forked_from = as_text(as_dict(value["forkedFrom"]).get("sessionId"))
        is_message = as_text(value.get("type")) in MESSAGES
        if session is not None and (is_message or self.session is None):
            self.session = session
            if is_message and session not in self.sessions and len(self.sessions) < MAX_STRANDS:
                self.sessions.append(session)

    def _is_copy(self, value: dict[str, object]) -> bool:
        uuid = as_text(value.get("uuid"))
        if uuid is None:
            return False
        mark = hash((uuid, _fingerprint(as_dict(value.get("message")).get("content"))))
        if mark in self._seen:
            return True
        if len(self._seen) >= _WINDOW:
            self._seen.clear()
        self._seen.add(mark)
        return False

    def _strand(self, value: dict[str, object], offset: int) -> Strand | None:
        """The strand of a record; a new one where it begins one, None beyond the bound on their number."""
        parent = as_text(value.get("parentUuid"))
        found = self._found(parent) if parent is not None else None
        if parent is not None and found is None:
            self.first_break = self.first_break if self.n_breaks else offset
            self.n_breaks += 1
        spawned_by = as_text(value.get("parent_tool_use_id"))
        if value.get("isSidechain") is True or spawned_by is not None:
            return self._sidechain(as_text(value.get("agentId")) or spawned_by, found, parent)
        if found is None or found[0].agent is not None:
            self.trunk = self.trunk or self._begin(Strand())
            return self.live or self.trunk
        strand, at, n_replies = found
        if self.has_branches and _is_prompt(value) and strand.n_replies > n_replies:
            return self._begin(Strand(parent=strand, cut=at))
        return strand

    def _sidechain(self, agent: str | None, found: tuple[Strand, int, int] | None, parent: str | None) -> Strand | None:
        if agent is not None:
            known = self._agents.get(agent)
            if known is None and (known := self._begin(Strand(agent=agent))) is not None:
                self._agents[agent] = known
            return known
        if found is not None and found[0].agent is not None:
            return found[0]
        if parent is not None and found is None and self._last_agent is not None:
            return self._last_agent
        self._last_agent = self._begin(Strand(agent=f"sidechain-{len(self._agents) + 1}"))
        if self._last_agent is not None:
            self._agents[self._last_agent.agent or ""] = self._last_agent
        return self._last_agent

    def _begin(self, strand: Strand) -> Strand | None:
        if len(self.strands) >= MAX_STRANDS:
            return None
        self.strands.append(strand)
        return strand

    @staticmethod
    def _reply(strand: Strand, value: dict[str, object]) -> None:
        message = as_dict(value.get("message"))
        key = as_text(message.get("id")) or as_text(value.get("uuid"))
        model = as_text(message.get("model"))
        if model == SYNTHETIC:
            return
        strand.model = strand.model or model
        if key is None or key != strand.last_reply:
            strand.n_replies += 1
            strand.last_reply = key

    def _remember(self, value: dict[str, object], strand: Strand, offset: int) -> None:
        uuid = as_text(value.get("uuid"))
        if uuid is None:
            return
        if len(self._recent) >= _WINDOW // 2:
            self._older, self._recent = self._recent, {}
        self._recent[_short(uuid)] = (strand, offset, strand.n_replies)

    def _found(self, uuid: str) -> tuple[Strand, int, int] | None:
        mark = _short(uuid)
        return self._recent.get(mark) or self._older.get(mark)


def _is_prompt(value: dict[str, object]) -> bool:
    """True for what a person asked; results, notes of the program and local commands are none."""
    if value.get("type") != "user" or value.get("isMeta") is True or value.get("isCompactSummary") is True:
        return False
    content = as_dict(value.get("message")).get("content")
    if isinstance(content, list):
        return not any(block.get("type") == "tool_result" for block in as_dicts(content))
    return isinstance(content, str) and not content.startswith(_LOCAL)


def _fingerprint(content: object) -> int:
    """What tells the content of one record from that of another with its uuid; no digest, for it need not last."""
    if isinstance(content, str):
        return hash(content)
    marks = [
        as_text(block.get(name))
        for block in as_dicts(content)
        for name in ("type", "text", "thinking", "id", "tool_use_id", "content")
    ]
    return hash(tuple(marks))


def _short(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(raw_bytes(text), digest_size=8).digest(), "little")
