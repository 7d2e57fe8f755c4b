"""What a person sees of a fork: excerpts, the first action of each way, and which part of a completion differs.

Everything returned is visible text, shortened; nothing here decides a verdict.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from samework.forks.margins import TokenRow
from samework.forks.trie import PACKAGE
from samework.model.words import EventKind
from samework.store.sql import load
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from samework.forks.rows import Member, Node
    from samework.store.connection import StoreHandle

Place = tuple[int, int]
EXCERPT_LENGTH = 160
_READ_CHARACTERS = 4000
_WHOLE = (1 << 32) - 1
_STORED_CHARACTERS, _LONGEST_WORD = 4096, 200
_LAST_WORD = re.compile(r"[^\s\"'`,;<>{}()\[\]|\\&=:]*\Z")


class ShownCall(msgspec.Struct, frozen=True, gc=False):
    """One tool call as canonical text, for display."""

    name: str
    canonical: str
    canonical_sha256: bytes


class Material(msgspec.Struct, frozen=True):
    """Texts, calls and tokens of the events that stand for branches, read at once."""

    bodies: dict[bytes, str]
    calls: dict[Place, list[ShownCall]]
    tokens: dict[Place, TokenRow]
    workspaces: dict[Place, str]


def read_material(handle: StoreHandle, nodes: Iterable[Node], *, whole: bool = False) -> Material:
    """Read what the nodes' branches are shown by. Four queries, whatever the number of nodes.

    whole: texts as a report needs them that takes secrets out before it shortens; else their beginnings.
    """
    nodes = list(nodes)
    firsts = [branch.first for node in nodes for branch in node.branches]
    completions = [(one.run_key, one.seq) for one in firsts if one.kind == EventKind.COMPLETION]
    keys = {key for one in firsts for key in (one.body, one.reasoning) if key is not None}
    bodies = handle.db.execute(
        load(PACKAGE, "sql/bodies"), {"keys": sorted(keys), "n_characters": _WHOLE if whole else _READ_CHARACTERS}
    ).fetchall()
    calls: dict[Place, list[ShownCall]] = {}
    for run_key, seq, _, *shown in _at(handle, "calls_at", completions):
        name, canonical, digest = shown
        calls.setdefault((run_key, seq), []).append(ShownCall(name, whole_words(canonical), digest))
    tokens = {(run_key, seq): TokenRow(*row) for run_key, seq, *row in _at(handle, "tokens_at", completions)}
    return Material(dict(bodies), calls, tokens, read_workspaces(handle, nodes))


def whole_words(canonical: str) -> str:
    """Arguments without the word that the store cut in two: half a secret would not be known as one.

    >>> whole_words("ls -l"), whole_words("x" * 4090 + " secre")[-2:]
    ('ls -l', ' …')
    """
    if len(canonical) < _STORED_CHARACTERS:
        return canonical
    return canonical[:-_LONGEST_WORD] + _LAST_WORD.sub("", canonical[-_LONGEST_WORD:]) + "…"


def read_workspaces(handle: StoreHandle, nodes: Iterable[Node]) -> dict[Place, str]:
    """Workspace trees at the calls of forking observations that record none of their own."""
    needed = [
        (member.run_key, member.call_seq)
        for node in nodes
        if node.kinds == (EventKind.OBSERVATION.value,)
        for member in node.members()
        if member.workspace is None and member.call_seq is not None
    ]
    return {(run_key, seq): tree for run_key, seq, tree in _at(handle, "workspaces_at", needed)}


def _at(handle: StoreHandle, query: str, places: Sequence[Place]) -> list[tuple[Any, ...]]:
    if not places:
        return []
    given = {"run_keys": [place[0] for place in places], "seqs": [place[1] for place in places]}
    rows: list[tuple[Any, ...]] = handle.db.execute(load(PACKAGE, f"sql/{query}"), given).fetchall()
    return rows


def calls_of(member: Member, material: Material) -> list[ShownCall]:
    """Calls of the event by which a run left."""
    return material.calls.get((member.run_key, member.seq), [])


def actions_of(firsts: Sequence[Member], material: Material) -> list[dict[str, str]]:
    """For each branch its call at the first ordinal at which the branches' calls differ (the first call if none do)."""
    calls = [calls_of(member, material) for member in firsts]
    ordinal = 0
    for place in range(max((len(turn) for turn in calls), default=0)):
        if len({turn[place].canonical_sha256 if place < len(turn) else None for turn in calls}) > 1:
            ordinal = place
            break
    return [_action(turn[ordinal]) if ordinal < len(turn) else {} for turn in calls]


def _action(call: ShownCall) -> dict[str, str]:
    return {"tool": visible(call.name, one_line=True), "arguments": visible(call.canonical, one_line=True)}


def excerpts_of(firsts: Sequence[Member], material: Material, limit: int | None = EXCERPT_LENGTH) -> list[str]:
    """One line for each branch, beginning shortly before the first difference; the whole text where limit is None."""
    texts = [event_text(member, material) for member in firsts]
    return [visible(text) for text in texts] if limit is None else shortened_together(texts, limit)


def shortened_together(texts: Sequence[str], limit: int = EXCERPT_LENGTH) -> list[str]:
    """One line of each text, beginning shortly before the first difference of all.

    >>> shortened_together(["x" * 90 + "one", "x" * 90 + "two"], 20)
    ['…xxxxxone', '…xxxxxtwo']
    """
    start = common_head(texts)
    lead = 0 if start <= limit // 2 else start - limit // 4
    return [shortened(("…" if lead else "") + text[lead:], limit) for text in texts]


def event_text(member: Member, material: Material) -> str:
    """Reasoning, text and calls of an event as one text; of an end, its reason."""
    if member.kind == EventKind.END:
        return "ends: " + member.branch.decode("utf-8", "replace")
    said = [material.bodies.get(key, "") for key in (member.reasoning, member.body) if key is not None]
    called = [f"{call.name} {call.canonical}" for call in calls_of(member, material)]
    return "\n".join(text for text in (*said, *called) if text)


def differing_part(a: Member, b: Member, material: Material) -> str | None:
    """Part of a completion in which two runs first differ: reasoning, prose, tool_name or tool_argument."""
    if {a.kind, b.kind} != {EventKind.COMPLETION.value}:
        return None
    if a.reasoning != b.reasoning:
        return "reasoning"
    if a.body != b.body:
        return "prose"
    calls_a, calls_b = calls_of(a, material), calls_of(b, material)
    for one, other in zip(calls_a, calls_b, strict=False):
        if one.name != other.name:
            return "tool_name"
        if one.canonical_sha256 != other.canonical_sha256:
            return "tool_argument"
    return "tool_name" if len(calls_a) != len(calls_b) else None


def common_head(texts: Sequence[str]) -> int:
    """Leading characters that all texts share."""
    if not texts:
        return 0
    low, high = min(texts), max(texts)
    for place, (one, other) in enumerate(zip(low, high, strict=False)):
        if one != other:
            return place
    return min(len(low), len(high))
