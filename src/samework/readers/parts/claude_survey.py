"""Which records of a Claude Code file belong to which run: branches, sub-agents, copies, breaks.

A first pass over the file. Memory does not grow with it: a record is found as a parent, as an original, or as a part of
a reply only while it is among the last 100,000 to 200,000; runs are kept as byte ranges. A prompt whose parent is
further back goes on from the last message, and that is reported as a break; of notes that hang further back than the
last reply, the first 10,000 may precede a prompt that goes back.

Declared rules, for no definition is published. A branch: a prompt whose parent lies before replies of the model, as the
program writes it when one goes back and asks again, or that has no parent where there were replies; notes, commands and
attachments may stand between the two, and are the branch's once its prompt comes. What follows a compaction is no
branch. The strand that begins the file has the session's id, whichever goes on; each branch is a run of its own that
begins with the history that both share. Parallel calls and results that no later record names are no branches. A
sub-agent: records with `isSidechain`, by their agent, else by the root of their chain. A copy: a record with uuid and
content of an earlier one, or, under a new uuid, with its time, content and place, as a compaction writes it again. A
parent that is not in the file breaks no history: order in the file is the order of the run, and the break is reported.
Tokens of a reply are counted once, where its first line stands.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from samework.decode.shapes import as_dict, as_dicts, as_text
from samework.readers.parts.claude_strands import Place, Ranges, Recent, Strand
from samework.readers.parts.claude_words import MESSAGES, SYNTHETIC, fingerprint, has_results, is_prompt, is_reply
from samework.text import raw_bytes

if TYPE_CHECKING:
    from samework.decode.jsonl import Line

MAX_STRANDS = 256
_MAX_PARTED = _MAX_LOOSE = 10_000
_BEFORE_ALL = -1
_FACTS = ("cwd", "version", "claude_code_version", "gitBranch", "timestamp", "model", "permissionMode")


class Survey:
    """What the first pass finds.

    strands: in the order in which they begin; trunk is the first of the main conversation, live the one that the last
    message is in. session: id of the last message. sessions: all ids of messages. copies: repeated records. recounted:
    lines of replies that are counted in another strand. parted: replies whose lines others stand between, with the
    offset of the last. n_breaks: parents that are not there. n_beyond: records beyond the bounds. facts: first values
    of what describes the session. is_stream: it is what the program prints, not the file that it keeps.
    """

    def __init__(self, *, has_branches: bool = True) -> None:
        self.has_branches = has_branches
        self.strands: list[Strand] = []
        self.live: Strand | None = None
        self.trunk: Strand | None = None
        self.session: str | None = None
        self.sessions: list[str] = []
        self.forked_from: str | None = None
        self.copies = Ranges()
        self.recounted = Ranges()
        self.parted: dict[str, int] = {}
        self.n_copies = self.n_breaks = self.n_beyond = 0
        self.first_break = self.first_beyond = 0
        self.facts: dict[str, object] = {}
        self.result: dict[str, object] = {}
        self.is_stream = False
        self.callers: dict[str, tuple[Strand, str]] = {}
        self._wanted = set(_FACTS)
        self._places: Recent[Place] = Recent()
        self._seen: Recent[Place] = Recent()
        self._replies: Recent[Strand] = Recent()
        self._agents: dict[str, Strand] = {}
        self._last_agent: Strand | None = None
        self._beyond = Strand()
        self._is_chained = self._is_compacted = False
        self._n_loose = 0

    def look(self, line: Line) -> None:
        """Place one record."""
        value = line.value
        if not isinstance(value, dict):
            return
        self._describe(value)
        is_message = as_text(value.get("type")) in MESSAGES
        uuid, parent = as_text(value.get("uuid")), as_text(value.get("parentUuid"))
        found = self._places.get(_short(parent)) if parent is not None else None
        marks = self._marks(value, found) if is_message else ()
        if (original := next(filter(None, map(self._seen.get, marks)), None)) is not None:
            self.n_copies += 1
            self.copies.add(line.offset, line.offset + len(line.raw))
            if uuid is not None and self._places.get(_short(uuid)) is None:
                self._places.put(_short(uuid), original)
            return
        strand = self._strand(value, line.offset, found)
        if strand is None:
            self._note_beyond(line.offset)
        else:
            self._add(strand, value, line)
        place = Place(strand or self._beyond, line.offset, 0 if strand is None else strand.n_replies)
        for mark in marks:
            self._seen.put(mark, place)
        if uuid is not None:
            self._places.put(_short(uuid), place)

    def _add(self, strand: Strand, value: dict[str, object], line: Line) -> None:
        if not strand.ranges.bounds:
            strand.uuid = as_text(value.get("uuid"))
        strand.take(line.offset, line.offset + len(line.raw))
        if strand.sha256 is not None:
            strand.sha256.update(line.raw)
        if value.get("type") == "assistant":
            self._reply(strand, value, line)
        elif value.get("type") == "user":
            self._link(strand, value, line.offset)
        if as_text(value.get("type")) in MESSAGES:
            strand.n_messages += 1
            if strand.agent is None and not strand.is_loose:
                self.live = strand
        is_boundary = value.get("subtype") == "compact_boundary" or value.get("logicalParentUuid") is not None
        self._is_compacted = self._is_compacted or (is_boundary and strand.agent is None)

    def _note_beyond(self, offset: int) -> None:
        self.first_beyond = self.first_beyond if self.n_beyond else offset
        self.n_beyond += 1

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
        self.is_stream = self.is_stream or (is_message and "session_id" in value and "sessionId" not in value)
        if session is not None and (is_message or self.session is None):
            self.session = session
            if is_message and session not in self.sessions and len(self.sessions) < MAX_STRANDS:
                self.sessions.append(session)

    def _marks(self, value: dict[str, object], found: Place | None) -> tuple[int, ...]:
        """What a message is known by where it is written again: under its uuid, and under another one."""
        message = as_dict(value.get("message"))
        uuid, time, parent = (as_text(value.get(name)) for name in ("uuid", "timestamp", "parentUuid"))
        content = fingerprint(message)
        marks = () if uuid is None else (hash((uuid, content)),)
        # Two sub-agents may be asked the same at the same time; and only a chain tells where a record stands.
        if time is None or not self.has_branches or (parent is None and value.get("isSidechain") is True):
            return marks
        where = as_text(message.get("id")) or (parent if found is None else found.offset)
        n_out = as_dict(message.get("usage")).get("output_tokens")
        return (*marks, hash((where, time, content, repr(n_out))))

    def _strand(self, value: dict[str, object], offset: int, found: Place | None) -> Strand | None:
        """The strand of a record; a new one where it begins one, None beyond the bound on their number."""
        parent = as_text(value.get("parentUuid"))
        if parent is not None and found is None:
            self.first_break = self.first_break if self.n_breaks else offset
            self.n_breaks += 1
        spawned_by = as_text(value.get("parent_tool_use_id"))
        if value.get("isSidechain") is True or spawned_by is not None:
            known = self._sidechain(as_text(value.get("agentId")) or spawned_by, found, parent)
            if known is not None and spawned_by is not None:
                known.call = known.call or spawned_by
            return known
        if found is None and self.trunk is not None and self._starts_over(value):
            found = Place(self.trunk, _BEFORE_ALL, 0)
        if found is None or found.strand.agent is not None:
            self.trunk = self.trunk or self._begin(Strand())
            return self.live or self.trunk
        self._is_chained = True
        if found.strand is self._beyond:
            return None
        if found.strand.is_loose:
            return self._after_loose(found.strand, value)
        if self.has_branches and found.strand.n_replies > found.n_replies:
            return self._behind(found, value)
        return found.strand

    def _starts_over(self, value: dict[str, object]) -> bool:
        """True for a person's record without a parent in a file whose records name theirs, but after a compaction."""
        return (
            self._is_chained
            and not self._is_compacted
            and value.get("parentUuid", "") is None
            and value.get("logicalParentUuid") is None
            and value.get("type") == "user"
            and value.get("isCompactSummary") is not True
            and not has_results(value)
        )

    def _behind(self, place: Place, value: dict[str, object]) -> Strand | None:
        """After a record to which the model had replied already: a prompt begins a branch, others may precede one."""
        if is_prompt(value):
            return self._begin(Strand(parent=place.strand, cut=place.offset))
        if value.get("type") == "assistant" or has_results(value) or self._n_loose >= _MAX_LOOSE:
            return place.strand
        self._n_loose += 1
        return Strand(parent=place.strand, cut=place.offset, is_loose=True)

    def _after_loose(self, loose: Strand, value: dict[str, object]) -> Strand | None:
        """After records that may precede a prompt: it, or a reply to what they say, makes a branch of them."""
        is_answer = is_reply(value)
        if is_prompt(value) or (is_answer and loose.n_messages):
            if self._begin(loose) is None:
                return None
            loose.tie()
            return loose
        return loose.parent if is_answer or has_results(value) else loose

    def _sidechain(self, agent: str | None, found: Place | None, parent: str | None) -> Strand | None:
        if agent is not None:
            known = self._agents.get(agent)
            if known is None and (known := self._begin(Strand(agent=agent))) is not None:
                self._agents[agent] = known
            return known
        if found is not None and found.strand.agent is not None:
            return found.strand
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

    def _reply(self, strand: Strand, value: dict[str, object], line: Line) -> None:
        """Note a line of a reply: a new one, or a further line of one that is known, here or in another strand."""
        message = as_dict(value.get("message"))
        model = as_text(message.get("model"))
        if model == SYNTHETIC:
            return
        if strand.agent is None:
            self._is_compacted = False
        strand.model = strand.model or model
        key = as_text(message.get("id")) or None
        known = self._replies.get(hash(key)) if key is not None else None
        if key is None or known is None:
            strand.n_replies += 1
            if key is not None:
                self._replies.put(hash(key), strand)
        else:
            self._further_line(strand, known, key, line)
        strand.last_reply = key

    def _further_line(self, strand: Strand, known: Strand, key: str, line: Line) -> None:
        """A line of a reply that began before, in `known`."""
        is_counted = known is not strand
        if all(part is not known for part, _ in strand.path()):
            strand.n_replies += strand.last_reply != key
        elif is_counted or strand.last_reply != key or key in self.parted:
            if key in self.parted or len(self.parted) < _MAX_PARTED:
                self.parted[key] = line.offset
            else:
                is_counted = True
        if is_counted:
            self.recounted.add(line.offset, line.offset + len(line.raw))

    def _link(self, strand: Strand, value: dict[str, object], offset: int) -> None:
        """Join a sub-agent's id to the call whose result names it."""
        agent = as_text(as_dict(value.get("toolUseResult")).get("agentId"))
        if agent is None:
            return
        for block in as_dicts(as_dict(value.get("message")).get("content")):
            call = as_text(block.get("tool_use_id"))
            if call is None:
                continue
            if len(self.callers) >= MAX_STRANDS:
                self._note_beyond(offset)
                return
            strand.agents[call] = agent
            self.callers.setdefault(agent, (strand, call))


def _short(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(raw_bytes(text), digest_size=8).digest(), "little")
