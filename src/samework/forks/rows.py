"""What the forks room works on: runs with their facts, and runs standing at a prefix after which they part. No I/O."""

from __future__ import annotations

import json

import msgspec

from samework.equivalence.signatures import Value

Codes = tuple[Value, Value]
"""(comparable, value) of a facet; comparable None: cannot be compared."""


class Member(msgspec.Struct, frozen=True, gc=False):
    """One run at one node, with the event by which it left.

    prev: chain before the event, None at the first. branch: what tells the ways out apart. Digests are None where
    there is nothing to digest, or (tokens, prompt) where ids are not recorded.
    """

    task: str
    prev: bytes | None
    run_key: int
    seq: int
    step: int
    kind: str
    branch: bytes
    action: bytes | None = None
    tokens: bytes | None = None
    prompt: bytes | None = None
    body: bytes | None = None
    reasoning: bytes | None = None
    workspace: str | None = None
    call_seq: int | None = None
    source_offset: int | None = None


class RunFacts(msgspec.Struct, frozen=True, gc=False):
    """One run: its identity, how it was sampled, and codes of what it left (None first: not comparable).

    tree: one pair of codes per form, strongest first. tests: recorded, then assumed environment. ran: tests ran at all.
    temperature, seed: decoded values, None where not recorded; `*_is_requested` where only the request is recorded.
    damage_offset: first byte of the source that could not be read, None where unknown or undamaged.
    """

    run_key: int
    run_id: str
    task: str
    arm: str
    kind: str = "coding"
    complete: bool = True
    tokenizer: str | None = None
    damage_offset: int | None = None
    observations_cut: bool = False
    prompt_grade: str | None = None
    temperature: object | None = None
    temperature_is_requested: bool = False
    seed: object | None = None
    tree: tuple[Codes, ...] = ()
    tests: tuple[Codes, ...] = ()
    ran: bool = False
    actions: Codes = (None, None)
    observations: Codes = (None, None)
    outcome: Codes = (None, None)

    def is_whole_before(self, source_offset: int | None) -> bool:
        """True where nothing before that place of the record is known to be missing."""
        if self.complete:
            return True
        if self.damage_offset is None or source_offset is None:
            return False
        return self.damage_offset > source_offset


class Branch(msgspec.Struct, frozen=True):
    """One way out of a node: the runs that took it, smallest run_id first."""

    key: bytes
    members: tuple[Member, ...]

    @property
    def first(self) -> Member:
        """The member that stands for the branch: one with token ids where there is one."""
        return next((member for member in self.members if member.tokens is not None), self.members[0])

    @property
    def kind(self) -> str:
        """Kind of the event by which the runs left."""
        return self.members[0].kind


class Node(msgspec.Struct, frozen=True):
    """A prefix after which runs of one task went different ways. `name` is unique within the task.

    only_tokens: the ways out read the same and differ in token ids. branches: largest first.
    """

    task: str
    name: str
    branches: tuple[Branch, ...]
    only_tokens: bool = False

    @property
    def seq(self) -> int:
        """Ordinal of the first differing event."""
        return self.branches[0].members[0].seq

    @property
    def step(self) -> int:
        """Completions up to and including the first differing event; the smallest where kinds differ."""
        return min(branch.members[0].step for branch in self.branches)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of the first differing event, sorted."""
        return tuple(sorted({branch.kind for branch in self.branches}))

    def members(self) -> list[Member]:
        """Every run at the node."""
        return [member for branch in self.branches for member in branch.members]


def branches_of(members: list[Member], run_ids: dict[int, str]) -> tuple[Branch, ...]:
    """Sort the runs at one node by the way they went: largest branch first, then by run_id."""
    ways: dict[bytes, list[Member]] = {}
    for member in sorted(members, key=lambda member: run_ids[member.run_key]):
        ways.setdefault(member.branch, []).append(member)
    ordered = sorted(ways.items(), key=lambda way: (-len(way[1]), run_ids[way[1][0].run_key]))
    return tuple(Branch(key, tuple(way)) for key, way in ordered)


def decoded(value: str | None) -> object | None:
    """A manifest value from its canonical JSON; None where absent.

    >>> decoded("0.7"), decoded(None)
    (0.7, None)
    """
    return None if value is None else json.loads(value)
