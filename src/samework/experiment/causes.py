"""Candidate causes: which recorded fields go with the ways that runs of a task took.

The item is the task, for runs of one task are not independent evidence of another's fork. A run's way is the list of
forks it went through with the branch it took at each, so that one fork inside another counts once. Refuses to say more
than "co-varies" without repeats that agree within every arm, an assigned field and no alias.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import msgspec

from samework.claims.repeats import n_disagreements, read_repeats
from samework.claims.requirements import REQUIRED
from samework.errors import EvidenceError, UsageError
from samework.experiment.cause_rows import Placed, cause_rows
from samework.forks.nodes import changes_tool_call
from samework.forks.trie import read_nodes, read_run_facts
from samework.model.causes import CausesResult, FieldGap
from samework.model.words import Absence, EndReason
from samework.store.sql import load
from samework.text import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from samework.forks.rows import Node, RunFacts
    from samework.store.connection import StoreHandle

LEVEL = 0.05
"""Of the family of rows, declared: the chance that one of them is said to co-vary where none does."""

_PACKAGE = "samework.experiment"
_N_SHOWN = 6
_ENDED = frozenset({EndReason.FINISHED.value, EndReason.LIMIT.value, EndReason.ERROR.value})
_Way = tuple[tuple[int, str, int], ...]
"""(seq, node, branch) of every fork that a run went through, in order."""


class Recorded(msgspec.Struct, frozen=True):
    """Fields of a group of runs. values: field -> run_key -> canonical JSON, "n/a" where it does not apply.

    absences: field -> words for why, of the runs without a value.
    """

    values: dict[str, dict[int, str]]
    absences: dict[str, set[str]]


def causes(
    handle: StoreHandle, *, task: str | None = None, node: str | None = None, tool_calls: bool = False
) -> CausesResult:
    """Which recorded fields go with the ways that runs took, for one fork, a task or the whole store.

    Args:
        handle: an open store.
        task: one task; None for all.
        node: one fork: its name, or a beginning of it that no other fork shares.
        tool_calls: only forks that changed a tool call.

    Raises:
        EvidenceError: no fork to ask about.
        UsageError: no fork has that name, or several have.
    """
    facts = read_run_facts(handle, task)
    every = read_nodes(handle, task, facts)
    chosen = _chosen(every, node, tool_calls=tool_calls)
    ways, left_out = _ways(every, chosen, facts)
    placed = [Placed(key, facts[key].task, facts[key].arm, way) for key, way in ways.items()]
    forked = _forked(placed)
    if not forked:
        raise EvidenceError(
            "no test: no task has runs whose records are whole on more than one way", hint="samework forks"
        )
    recorded = _recorded(handle, [run.run_key for run in forked])
    started: dict[int, str | None] = dict(_rows(handle, "cause_runs", [run.run_key for run in forked]))
    tasks = {run.task for run in forked}
    arms = sorted({run.arm for run in forked})
    repeats = [one for one in read_repeats(handle, task=task, arms=arms) if one.task in tasks]
    rows, constant = cause_rows(
        forked, recorded.values, started, level=LEVEL, n_self_disagreements=n_disagreements(repeats, arms)
    )
    return CausesResult(
        n_tasks=len(tasks),
        n_nodes=len({(one.task, name) for one in forked for _, name, _ in one.way}),
        n_runs=len(forked),
        n_left_out=len(left_out),
        level=LEVEL,
        rows=rows,
        task=task,
        node=node,
        tool_calls=tool_calls,
        constant=constant,
        partly=_gaps(recorded, len(forked), whole=False),
        unrecorded=_gaps(recorded, len(forked), whole=True),
        notes=_notes(forked, recorded, len(left_out)),
    )


def _chosen(nodes: Sequence[Node], name: str | None, *, tool_calls: bool) -> list[Node]:
    kept = [node for node in nodes if not tool_calls or changes_tool_call(node)]
    if not kept:
        which = "no fork changed a tool call" if nodes else "there is no fork"
        raise EvidenceError(f"no test: {which}", hint="samework forks")
    if name is None:
        return kept
    exact = [node for node in kept if node.name == name]
    found = exact or [node for node in kept if name and node.name.startswith(name)]
    shown = shortened(name, 60)
    if not found:
        raise UsageError(f"no fork is named {shown!r}", hint="samework forks --json names them")
    if len(found) > 1:
        where = ", ".join(shortened(f"{node.task} {node.name[:16]}", 60) for node in found[:_N_SHOWN])
        raise UsageError(f"{shown!r} names {len(found)} forks: {where}", hint="samework causes --task TASK --node HEX")
    return found


def _ways(
    every: Sequence[Node], chosen: Sequence[Node], facts: Mapping[int, RunFacts]
) -> tuple[dict[int, _Way], set[int]]:
    """The way of each run through the chosen forks, and the runs whose way is not known to its end.

    A run that others of its task leave behind without a fork of its own was cut off, or lacks the ids that tell the
    others apart; where it would have gone is unknown.
    """
    whole: dict[int, list[tuple[int, str, int]]] = defaultdict(list)
    broken: set[int] = set()
    for node in every:
        for place, branch in enumerate(node.branches):
            for member in branch.members:
                whole[member.run_key].append((node.seq, node.name, place))
                if not facts[member.run_key].is_whole_before(member.source_offset):
                    broken.add(member.run_key)
    full = {key: tuple(sorted(way)) for key, way in whole.items()}
    begun = {(facts[key].task, way[:length]) for key, way in full.items() for length in range(len(way))}
    names = {(node.task, node.name) for node in chosen}
    kept: dict[int, _Way] = {}
    left_out: set[int] = set()
    for key, way in full.items():
        mine = tuple(step for step in way if (facts[key].task, step[1]) in names)
        if not mine:
            continue
        if key in broken or (facts[key].task, way) in begun:
            left_out.add(key)
        else:
            kept[key] = mine
    return kept, left_out


def _forked(placed: Iterable[Placed]) -> list[Placed]:
    """Runs of the tasks in which more than one way was taken."""
    ways: dict[str, set[object]] = defaultdict(set)
    runs = list(placed)
    for run in runs:
        ways[run.task].add(run.way)
    return [run for run in runs if len(ways[run.task]) > 1]


def _rows(handle: StoreHandle, query: str, keys: Sequence[int]) -> list[tuple[Any, ...]]:
    return handle.db.execute(load(_PACKAGE, f"sql/{query}"), {"run_keys": list(keys)}).fetchall()


def _recorded(handle: StoreHandle, keys: Sequence[int]) -> Recorded:
    values: dict[str, dict[int, str]] = defaultdict(dict)
    absences: dict[str, set[str]] = defaultdict(set)
    for key, field, value, absence in _rows(handle, "cause_values", keys):
        if value is not None:
            values[str(field)][int(key)] = str(value)
        elif absence == Absence.NOT_APPLICABLE:
            values[str(field)][int(key)] = Absence.NOT_APPLICABLE.value
        else:
            absences[str(field)].add(str(absence or Absence.UNRECORDED.value))
    return Recorded(dict(values), dict(absences))


def _gaps(recorded: Recorded, n_runs: int, *, whole: bool) -> tuple[FieldGap, ...]:
    """Fields recorded on no run (whole), or on some only."""
    names = recorded.values.keys() | recorded.absences.keys()
    if whole:
        names = names | _asked_for(names)
    found = []
    for name in sorted(names):
        n_recorded = len(recorded.values.get(name, ()))
        if n_recorded < n_runs and (n_recorded == 0) is whole:
            words = recorded.absences.get(name, set()) or {Absence.UNRECORDED.value}
            found.append(FieldGap(name, n_recorded, n_runs - n_recorded, tuple(sorted(words))))
    return tuple(found)


def _asked_for(names: Iterable[str]) -> set[str]:
    """First names of the requirements of claims that no run names under any of their names."""
    known = set(names)
    return {need.names[0] for group in REQUIRED.values() for need in group if known.isdisjoint(need.names)}


def _notes(runs: Sequence[Placed], recorded: Recorded, n_left_out: int) -> tuple[str, ...]:
    notes = []
    if n_left_out:
        notes.append(
            f"{n_left_out} run(s) left out: incomplete, cut off, or without the token ids that tell the others apart; "
            "which way they went is unknown"
        )
    if not recorded.values:
        notes.append("no run records any field: nothing can be set against the forks")
    if len({run.arm for run in runs}) == 1:
        notes.append("all runs are of one arm: no field was assigned by arm here")
    return tuple(notes)
