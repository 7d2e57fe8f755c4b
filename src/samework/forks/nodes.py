"""The table of forks: every branch node of a task with origin, consequence and what its branches did."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from samework.forks.consequence import Outcome, fork_consequence
from samework.forks.margins import NEAR_TIE_NATS, TokenParting, token_parting
from samework.forks.origin import Origin, fork_origin
from samework.forks.refuting import read_refuted
from samework.forks.reviews import read_reviews, reviews_by_node
from samework.forks.showing import EXCERPT_LENGTH, Material, actions_of, excerpts_of, read_material, read_workspaces
from samework.forks.trie import read_nodes, read_run_facts
from samework.model.results import ForkBranch, ForkNode
from samework.model.words import EventKind

if TYPE_CHECKING:
    from samework.forks.rows import Node, RunFacts
    from samework.store.connection import StoreHandle


def forks(
    handle: StoreHandle,
    *,
    task: str | None = None,
    tool_calls: bool = False,
    changed_work: bool = False,
    absorbed: bool = False,
    origin: str | None = None,
    near_tie: float = NEAR_TIE_NATS,
    excerpt_length: int | None = EXCERPT_LENGTH,
) -> list[ForkNode]:
    """Branch nodes of the trie of each task, in order of task and place.

    Args:
        handle: an open store.
        task: one task; None for all.
        tool_calls: only forks at a completion whose branches make other tool calls.
        changed_work: only forks after which trees or tests are known to differ (C2 and above; also CU where the trees
            differ and only the tests are unknown).
        absorbed: only forks after which something else was done and the tree came out the same.
        origin: only forks whose origin is this word, or this word with a sub (`model` takes `model/greedy`).
        near_tie: margin (nats) up to which a fork is called a near tie.
        excerpt_length: characters of each branch that are shown; None for all of them, for a caller who shortens.
    """
    runs = read_run_facts(handle, task)
    refuted = read_refuted(handle)
    nodes = read_nodes(handle, task, runs)
    workspaces = read_workspaces(handle, nodes)
    reviews = reviews_by_node(nodes, read_reviews(handle, task))
    effects = {word for word, asked in (("consequential", changed_work), ("absorbed", absorbed)) if asked}
    kept: list[tuple[Node, Origin, Outcome]] = []
    for place, node in enumerate(nodes):
        if tool_calls and not changes_tool_call(node):
            continue
        found = fork_origin(node, runs, workspaces)
        if origin is not None and found.word != origin and not found.word.startswith(origin + "/"):
            continue
        outcome = fork_consequence(ways_of(node, runs), refuted=refuted, review=reviews.get(place))
        if effects and outcome.effect not in effects:
            continue
        kept.append((node, found, outcome))
    material = read_material(handle, [node for node, _, _ in kept], whole=excerpt_length is None)
    return [
        _with_margins(
            _shown(node, found, outcome, _branches(node, outcome, runs, material, excerpt_length)),
            token_parting_of(node, material, near_tie),
            near_tie,
        )
        for node, found, outcome in kept
    ]


def ways_of(node: Node, runs: dict[int, RunFacts]) -> list[list[RunFacts]]:
    """Facts of the runs of each branch."""
    return [[runs[member.run_key] for member in branch.members] for branch in node.branches]


def changes_tool_call(node: Node) -> bool:
    """True where the first differing event is a completion and the branches' canonical calls are not all the same.

    A run that ended here instead made no call.
    """
    if EventKind.COMPLETION not in node.kinds:
        return False
    return len({branch.members[0].action for branch in node.branches}) > 1


def token_parting_of(node: Node, material: Material, near_tie: float) -> TokenParting | None:
    """First differing token between the branches, one run standing for each. near_tie: limit, nats."""
    if node.kinds != (EventKind.COMPLETION.value,):
        return None
    rows = [material.tokens.get((way.first.run_key, way.first.seq)) for way in node.branches]
    return token_parting(rows, limit=near_tie)


def _shown(node: Node, origin: Origin, outcome: Outcome, branches: tuple[ForkBranch, ...]) -> ForkNode:
    return ForkNode(
        task=node.task,
        node=node.name,
        step=node.step,
        seq=node.seq,
        event="/".join(node.kinds),
        origin=origin.word,
        consequence=outcome.consequence,
        tool_calls=changes_tool_call(node),
        branches=branches,
        evidence=origin.evidence,
        consequence_reason=outcome.reason,
        effect=outcome.effect,
        differs=outcome.own,
        differs_later=outcome.later,
        unknown=outcome.unknown,
    )


def _with_margins(node: ForkNode, parting: TokenParting | None, near_tie: float) -> ForkNode:
    if parting is None:
        return node
    margins = tuple(margin for margin in parting.margins if margin is not None)
    given = zip(node.branches, parting.margins, strict=True)
    return replace(
        node,
        branches=tuple(replace(branch, margin=margin) for branch, margin in given),
        margin_evidence=parting.words,
        token_offset=parting.offset,
        margins=margins,
        margin_unit=parting.unit if margins else None,
        margin_finding=parting.finding,
        near_tie_nats=near_tie if margins else None,
    )


def _branches(
    node: Node, outcome: Outcome, runs: dict[int, RunFacts], material: Material, excerpt_length: int | None
) -> tuple[ForkBranch, ...]:
    firsts = [branch.first for branch in node.branches]
    actions = actions_of(firsts, material)
    excerpts = excerpts_of(firsts, material, excerpt_length)
    shown = []
    for place, branch in enumerate(node.branches):
        facts = [runs[member.run_key] for member in branch.members]
        trees, tests = outcome.tree_labels[place], outcome.tests_labels[place]
        shown.append(
            ForkBranch(
                runs=tuple(fact.run_id for fact in facts),
                action=actions[place],
                excerpt=excerpts[place],
                tree_classes=len(set(trees) - {None}),
                tests_classes=len(set(tests) - {None}),
                tree_unknown=sum(label is None for label in trees),
                tests_unknown=sum(label is None for label in tests),
                arms=dict(sorted(Counter(fact.arm for fact in facts).items())),
            )
        )
    return tuple(shown)
