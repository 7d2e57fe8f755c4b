"""Find where the trajectories of a task part, from the chains that were stored with its events.

Equal chains are equal prefixes, so the trie needs no building: a branch node is a `prev` with more than one chain.
Refuses to compare runs of different tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.equivalence.components import TREE_COMPONENTS
from samework.equivalence.signatures import prepare
from samework.forks.rows import Member, Node, RunFacts, branches_of, decoded
from samework.store.sql import load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from samework.forks.rows import Codes
    from samework.store.connection import StoreHandle

PACKAGE = "samework.forks"
_TREE = TREE_COMPONENTS
_TESTS = ("tst", "tsta")
_PLAIN = (
    "run_key",
    "run_id",
    "task",
    "arm",
    "kind",
    "complete",
    "tokenizer",
    "damage_offset",
    "observations_cut",
    "prompt_grade",
)


def read_run_facts(
    handle: StoreHandle, task: str | None, *, keys: tuple[int, ...] | None = None
) -> dict[int, RunFacts]:
    """Facts of every run of a task (of the store for None), or of those with given run_keys, by run_key."""
    prepare(handle, task=task)
    found = handle.db.execute(load(PACKAGE, "sql/run_facts"), {"keys": None if keys is None else list(keys)})
    names = [column[0] for column in found.description]
    return {row[0]: _facts(dict(zip(names, row, strict=True))) for row in found.fetchall()}


def _facts(row: dict[str, object]) -> RunFacts:
    plain = {name: row[name] for name in _PLAIN}
    effective = row["temperature"] is not None
    return RunFacts(
        **plain,  # type: ignore[arg-type]
        temperature=decoded(row["temperature"] if effective else row["temperature_requested"]),  # type: ignore[arg-type]
        temperature_is_requested=not effective and row["temperature_requested"] is not None,
        seed=decoded(row["seed"] if row["seed"] is not None else row["seed_requested"]),  # type: ignore[arg-type]
        tree=tuple(_codes(row, name) for name in _TREE),
        tests=tuple(_codes(row, name) for name in _TESTS),
        ran=row["ran_c"] is not None,
        actions=_codes(row, "actions"),
        observations=_codes(row, "observations"),
        outcome=_codes(row, "outcome"),
    )


def _codes(row: dict[str, object], name: str) -> Codes:
    return row[f"{name}_c"], row[name]  # type: ignore[return-value]


def read_members(handle: StoreHandle, query: str, given: dict[str, object]) -> list[Member]:
    """Rows of one of the `*_members` queries."""
    rows = handle.db.execute(load(PACKAGE, f"sql/{query}"), given).fetchall()
    return [Member(*row) for row in rows]


def read_nodes(handle: StoreHandle, task: str | None, runs: dict[int, RunFacts]) -> list[Node]:
    """Every node of a task (of all tasks for None), in order of task and place."""
    run_ids = {key: facts.run_id for key, facts in runs.items()}
    given: dict[str, object] = {"task": task}
    nodes = [
        *text_nodes(read_members(handle, "branch_members", given), run_ids),
        *token_nodes(read_members(handle, "token_members", given), run_ids),
    ]
    return sorted(nodes, key=lambda node: (node.task, node.seq, node.only_tokens, node.name))


def text_nodes(members: Iterable[Member], run_ids: dict[int, str]) -> Iterator[Node]:
    """Nodes at which the ways out differ in their canonical events."""
    places: dict[tuple[str, bytes | None], list[Member]] = {}
    for member in members:
        places.setdefault((member.task, member.prev), []).append(member)
    for (task, prev), here in places.items():
        branches = branches_of(here, run_ids)
        if len(branches) > 1:
            yield Node(task, "" if prev is None else prev.hex(), branches)


def token_nodes(members: Iterable[Member], run_ids: dict[int, str]) -> Iterator[Node]:
    """Nodes at which runs that read the same first differ in token ids.

    Runs whose ids differed at an earlier completion are not set against each other again.
    """
    places: dict[tuple[str, bytes | None], list[Member]] = {}
    for member in sorted(members, key=lambda member: (member.task, member.seq)):
        places.setdefault((member.task, member.prev), []).append(member)
    history: dict[int, int] = {}
    states: dict[tuple[int, bytes | None, bytes], int] = {}
    for (task, chain), here in places.items():
        groups: dict[int, list[Member]] = {}
        for member in here:
            groups.setdefault(history.get(member.run_key, 0), []).append(member)
        ordinal = 0
        for group in groups.values():
            branches = branches_of(group, run_ids)
            if len(branches) > 1:
                ordinal += 1
                suffix = "/tokens" if ordinal == 1 else f"/tokens.{ordinal}"
                yield Node(task, (chain or b"").hex() + suffix, branches, only_tokens=True)
        for member in here:
            state = (history.get(member.run_key, 0), chain, member.branch)
            history[member.run_key] = states.setdefault(state, len(states) + 1)
