"""Where two runs part: the first event, and in it the first token, that is not the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from samework.forks.consequence import fork_consequence
from samework.forks.margins import NEAR_TIE_NATS
from samework.forks.nodes import token_parting_of, ways_of
from samework.forks.origin import fork_origin
from samework.forks.refuting import read_refuted
from samework.forks.reviews import read_reviews
from samework.forks.rows import Node, branches_of
from samework.forks.showing import EXCERPT_LENGTH, differing_part, excerpts_of, read_material
from samework.forks.trie import PACKAGE, read_members, read_run_facts
from samework.model.results import ForkPlace
from samework.store.sql import load

if TYPE_CHECKING:
    from samework.forks.consequence import Outcome
    from samework.forks.margins import TokenParting
    from samework.forks.origin import Origin
    from samework.forks.rows import Member, RunFacts
    from samework.store.connection import StoreHandle

_TWO = 2


def first_divergence(
    handle: StoreHandle,
    a_key: int,
    b_key: int,
    *,
    near_tie: float = NEAR_TIE_NATS,
    excerpt_length: int | None = EXCERPT_LENGTH,
) -> ForkPlace | None:
    """The fork of a pair of runs of one task.

    Args:
        handle: an open store.
        a_key: run_key of one run.
        b_key: run_key of the other.
        near_tie: margin (nats) up to which a fork is called a near tie.
        excerpt_length: characters of each side that are shown; None for all of them, for a caller who shortens.

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
    if node is None:
        return None
    in_order = sorted(node.branches, key=lambda branch: branch.members[0].run_key != a_key)
    node = replace(node, branches=tuple(in_order))
    material = read_material(handle, [node], whole=excerpt_length is None)
    origin = fork_origin(node, runs, material.workspaces)
    review = read_reviews(handle, node.task).get((min(a_key, b_key), max(a_key, b_key)))
    outcome = fork_consequence(ways_of(node, runs), refuted=read_refuted(handle), review=review)
    by_run = {member.run_key: member for member in node.members()}
    sides = by_run[a_key], by_run[b_key]
    a, b = excerpts_of(sides, material, excerpt_length)
    place = _place(node, origin, outcome, differing_part(*sides, material))
    place = replace(place, a=a, b=b, n_shared_events=seq)
    parting = token_parting_of(node, material, near_tie)
    return place if parting is None else _with_margins(place, parting, near_tie)


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


def _place(node: Node, origin: Origin, outcome: Outcome, part: str | None) -> ForkPlace:
    return ForkPlace(
        step=node.step,
        seq=node.seq,
        event="/".join(node.kinds),
        origin=origin.word,
        consequence=outcome.consequence,
        evidence=origin.evidence,
        consequence_reason=outcome.reason,
        effect=outcome.effect,
        differs=outcome.own,
        unknown=outcome.unknown,
        part=part,
        prompt_grade=origin.prompt_grade,
    )


def _with_margins(place: ForkPlace, parting: TokenParting, near_tie: float) -> ForkPlace:
    """The place with its token; the parting is of a and b, in this order."""
    a, b = parting.margins
    is_recorded = (a, b) != (None, None)
    return replace(
        place,
        margin_evidence=parting.words,
        token_offset=parting.offset,
        margin_a=a,
        margin_b=b,
        margin_unit=parting.unit if is_recorded else None,
        margin_finding=parting.finding,
        near_tie_nats=near_tie if is_recorded else None,
    )
