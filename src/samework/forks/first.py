"""Where two runs part: the first event, and in it the first token, that is not the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from samework.forks.consequence import fork_consequence
from samework.forks.nodes import token_parting_of, ways_of
from samework.forks.origin import fork_origin
from samework.forks.rows import Node, branches_of
from samework.forks.showing import differing_part, excerpts_of, read_material
from samework.forks.trie import PACKAGE, read_members, read_run_facts
from samework.model.results import ForkPlace
from samework.store.sql import load

if TYPE_CHECKING:
    from samework.forks.margins import TokenParting
    from samework.forks.rows import Member, RunFacts
    from samework.store.connection import StoreHandle

_TWO = 2


def first_divergence(handle: StoreHandle, a_key: int, b_key: int) -> ForkPlace | None:
    """The fork of a pair of runs of one task.

    Returns: None where the record shows no difference, where one run was cut off while it went like the other, or where
        a run has no trajectory.
    """
    found = handle.db.execute("select task from run where run_key = $a", {"a": a_key}).fetchone()
    if found is None or a_key == b_key:
        return None
    runs = read_run_facts(handle, found[0], keys=(a_key, b_key))
    row = handle.db.execute(load(PACKAGE, "sql/pair_parting"), {"a": a_key, "b": b_key}).fetchone() or (0, None)
    n_shared, token_seq = row
    seq = n_shared if token_seq is None else token_seq
    members = read_members(handle, "pair_members", {"a": a_key, "b": b_key, "seq": seq})
    node = _node(members, runs, only_tokens=token_seq is not None)
    return None if node is None else _place(handle, node, (a_key, b_key), runs, seq)


def _node(members: list[Member], runs: dict[int, RunFacts], *, only_tokens: bool) -> Node | None:
    """A node of the two runs, or None where they did not both leave by an event of their own."""
    if len(members) < _TWO or any(member.run_key not in runs for member in members):
        return None
    if only_tokens:
        members = [replace(member, branch=member.tokens or b"") for member in members]
    branches = branches_of(members, {key: facts.run_id for key, facts in runs.items()})
    if len(branches) < _TWO:
        return None
    return Node(members[0].task, (members[0].prev or b"").hex(), branches, only_tokens=only_tokens)


def _place(
    handle: StoreHandle, node: Node, keys: tuple[int, int], runs: dict[int, RunFacts], n_shared: int
) -> ForkPlace:
    material = read_material(handle, [node])
    origin = fork_origin(node, runs, material.workspaces)
    outcome = fork_consequence(ways_of(node, runs))
    parting = token_parting_of(node, material)
    by_run = {member.run_key: place for place, member in enumerate(node.members())}
    places = [by_run[key] for key in keys]
    a, b = (node.members()[place] for place in places)
    excerpts = excerpts_of([a, b], material)
    margins = _margins(parting, places)
    return ForkPlace(
        step=node.step,
        seq=node.seq,
        event="/".join(node.kinds),
        origin=origin.word,
        consequence=outcome.consequence,
        evidence="; ".join(
            text for text in (origin.evidence, parting.words if parting else "", outcome.reason) if text
        ),
        token_offset=None if parting is None else parting.offset,
        part=differing_part(a, b, material),
        margin_a=margins[0],
        margin_b=margins[1],
        margin_unit=parting.unit if parting is not None and margins != (None, None) else None,
        margin_finding=None if parting is None else parting.finding,
        a=excerpts[0],
        b=excerpts[1],
        n_shared_events=n_shared,
        prompt_grade=origin.prompt_grade,
    )


def _margins(parting: TokenParting | None, places: list[int]) -> tuple[float | None, float | None]:
    if parting is None:
        return None, None
    return parting.margins[places[0]], parting.margins[places[1]]
