"""Read, for every run of a task or of the store, the digests from which all verdicts follow.

One pass of SQL fills the temp table `signature`: set-based, linear in runs. What is no equality of digests (a run cut
off, a report that is not complete) comes as an explicit, short list of pairs beside it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from samework.equivalence.components import COMPONENTS
from samework.store.sql import load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from samework.store.connection import StoreHandle

_PACKAGE = "samework.equivalence"
_PARAMETER = re.compile(r"\$([a-z_]+)")
_STEPS = (
    ("trajectory_form", "trajectory_forms"),
    ("tree_form", "tree_forms"),
    ("cell_report", "cells"),
    ("cell_digest", "cell_digests"),
    ("run_test", "run_tests"),
    ("signature", "signatures"),
)


Value = str | bytes | bool | None


class _Coded(msgspec.Struct, frozen=True):
    """A record whose fields `name_c` and `name` are a component or plain facet."""

    def codes(self, name: str) -> tuple[Value, Value]:
        """(comparable, value) of a component or plain facet."""
        return getattr(self, f"{name}_c"), getattr(self, name)


class RunSignature(_Coded, frozen=True, kw_only=True):
    """What one run can be compared by. `*_c`: None where it cannot be; values mean equality and nothing else."""

    run_key: int
    run_id: str
    task: str
    arm: str
    repeat: str
    kind: str
    format: str
    layout: str
    complete: bool
    incomplete_reason: str | None
    end_reason: str
    has_trajectory: bool
    usable: bool
    n_steps: int
    has_prompt_ids: bool | None
    ids_contradicted: bool
    completion_reason: str | None
    completion_grade: str | None
    prompt_reason: str | None
    prompt_grade: str | None
    text_reason: str | None
    actions_reason: str | None
    observations_reason: str | None
    actions_vacuous: bool
    observations_vacuous: bool
    tree_reason: str | None
    tree_grade: str | None
    patch_reason: str | None
    patch_base: str | None
    patch_contested: str | None
    tree_flags: str | None
    tree_oid: str | None
    patch_status: str | None
    patch_empty: bool
    test_keys: str | None
    tests_unnamed: bool
    tests_assumed: bool
    tests_complete: bool
    n_executed: int | None
    n_failing: int | None
    n_reports: int | None
    n_quarantined: int | None
    tests_conflict: bool
    has_tests: bool
    invariant_unknown: bool
    tok_c: Value
    tok: Value
    comp_c: Value
    comp: Value
    ref_c: Value
    ref: Value
    cnt_c: Value
    cnt: Value
    oid_c: Value
    oid: Value
    tcd_c: Value
    tcd: Value
    oida_c: Value
    oida: Value
    pat_c: Value
    pat: Value
    pata_c: Value
    pata: Value
    tst_c: Value
    tst: Value
    tsta_c: Value
    tsta: Value
    ran_c: Value
    ran: Value
    text_c: Value
    text: Value
    actions_c: Value
    actions: Value
    observations_c: Value
    observations: Value
    patch_c: Value
    patch: Value
    outcome_c: Value
    outcome: Value
    invariants_c: Value
    invariants: Value


class PlacedRun(_Coded, frozen=True, gc=False):
    """The few columns of a signature that place a run in the nested table."""

    run_key: int
    run_id: str
    task: str
    arm: str
    tests_conflict: bool
    tok_c: Value
    tok: Value
    oid_c: Value
    oid: Value
    tcd_c: Value
    tcd: Value
    oida_c: Value
    oida: Value
    pat_c: Value
    pat: Value
    pata_c: Value
    pata: Value
    tst_c: Value
    tst: Value
    tsta_c: Value
    tsta: Value
    ran_c: Value


class Refutation(msgspec.Struct, frozen=True):
    """A node on which an incomplete report disagrees. by_recorded: its suite and environment are recorded."""

    node: str
    by_recorded: bool


_Pair = tuple[int, int]


class Exceptions(msgspec.Struct, frozen=True):
    """Pairs whose verdict is not equality of digests; keys are (smaller, larger) run_key.

    censored: step at which the shorter record was cut. refuted: by a report that is incomplete. overlapping: strict
    mode only, undecided. hidden: of equal prose, where one shows reasoning that the other keeps back.
    """

    censored: dict[_Pair, int] = {}
    refuted: dict[_Pair, Refutation] = {}
    overlapping: frozenset[_Pair] = frozenset()
    hidden: frozenset[_Pair] = frozenset()

    def pairs(self) -> set[_Pair]:
        """Every pair named."""
        return set(self.censored) | set(self.refuted) | self.overlapping | self.hidden


class Signatures(msgspec.Struct, frozen=True):
    """Signatures of the runs read, by run_key, and the exceptions among them; `strict` as asked."""

    runs: dict[int, RunSignature]
    exceptions: Exceptions
    treeless: frozenset[str]
    strict: bool

    def by_task(self) -> dict[str, list[RunSignature]]:
        """Runs of each task, in order of run_key."""
        found: dict[str, list[RunSignature]] = {}
        for run in self.runs.values():
            found.setdefault(run.task, []).append(run)
        return found


def corrections(
    signed: Signatures, pairs: Iterable[tuple[int, int]] | None = None
) -> Iterator[tuple[RunSignature, RunSignature, Signatures, int]]:
    """What makes counts by digests alone right: each explicit pair to take out (-1), and to put in (1) as it is judged.

    pairs: keys instead of those of the exceptions; a pair of which a run was not read is left out.
    """
    bare = msgspec.structs.replace(signed, exceptions=Exceptions())
    for key_a, key_b in signed.exceptions.pairs() if pairs is None else pairs:
        a, b = signed.runs.get(key_a), signed.runs.get(key_b)
        if a is not None and b is not None:
            yield a, b, bare, -1
            yield a, b, signed, 1


def prepare(handle: StoreHandle, *, task: str | None = None, strict: bool = False) -> None:
    """Fill the temp tables of `_STEPS`, `signature` last, and name the view `trajectory_fact`."""
    for table, query in _STEPS:
        text = load(_PACKAGE, f"sql/{query}")
        given = {"task": task, "strict": strict}
        needed = {name: given[name] for name in _PARAMETER.findall(text)}
        handle.db.execute(f"create or replace temp table {table} as {text}", needed)
    facts = load(_PACKAGE, "sql/trajectory_facts")
    handle.db.execute(f"create or replace temp view trajectory_fact as {facts}")


def load_signatures(
    handle: StoreHandle, *, task: str | None = None, strict: bool = False, prepared: bool = False
) -> Signatures:
    """Signatures of all runs of one task, or of the store.

    Args:
        handle: an open store.
        task: one task; None for all.
        strict: no quarantine of flaky tests, and no assumed test environment.
        prepared: the temp tables hold what is asked for already.
    """
    if not prepared:
        prepare(handle, task=task, strict=strict)
    columns = RunSignature.__struct_fields__
    facts = load(_PACKAGE, "sql/signature_facts")
    rows = handle.db.execute(f"select {', '.join(columns)} from ({facts}) order by run_key").fetchall()
    runs = {row[0]: RunSignature(**dict(zip(columns, row, strict=True))) for row in rows}
    return Signatures(runs, load_exceptions(handle, task=task, strict=strict), treeless_tasks(handle), strict)


def placed_runs(handle: StoreHandle, arms: list[str] | None = None) -> dict[str, list[PlacedRun]]:
    """Runs of each task, by task, arm and run_id, from the temp table that `prepare` filled; of some arms only.

    No order of ingest shows in what is made of them.
    """
    columns = ", ".join(PlacedRun.__struct_fields__)
    query = (
        f"select {columns} from signature where $arms is null or list_contains($arms, arm) order by task, arm, run_id"
    )
    found: dict[str, list[PlacedRun]] = {}
    for row in handle.db.execute(query, {"arms": arms}).fetchall():
        found.setdefault(row[2], []).append(PlacedRun(*row))
    return found


def treeless_tasks(handle: StoreHandle) -> frozenset[str]:
    """Tasks whose runs are all of a kind that has no tree, and of which none left one."""
    return frozenset(row[0] for row in handle.db.execute(load(_PACKAGE, "sql/treeless_tasks")).fetchall())


def load_exceptions(handle: StoreHandle, *, task: str | None, strict: bool) -> Exceptions:
    """The explicit pairs; reads the temp tables that `prepare` filled."""
    db = handle.db
    censored = {
        (a, b): step for a, b, step in db.execute(load(_PACKAGE, "sql/censored_pairs"), {"task": task}).fetchall()
    }
    refuted: dict[_Pair, Refutation] = {}
    for row in refuting_nodes(handle, strict=strict):
        found = Refutation(row.node, by_recorded=not row.is_assumed)
        for pair in _pairs_of_cells(handle, row.task, row.group_key, row.cell_a, row.cell_b):
            if found.by_recorded or pair not in refuted:
                refuted[pair] = found
    hidden = frozenset((a, b) for a, b in db.execute(load(_PACKAGE, "sql/hidden_reasoning_pairs")).fetchall())
    overlapping: set[_Pair] = set()
    if strict:
        for cells in db.execute(load(_PACKAGE, "sql/overlapping_cells")).fetchall():
            overlapping.update(_pairs_of_cells(handle, *cells))
    return Exceptions(censored, refuted, frozenset(overlapping), hidden)


class RefutingNode(msgspec.Struct, frozen=True):
    """Two cells of one group that a node tells apart, one of them without a complete report."""

    task: str
    group_key: str
    cell_a: str
    cell_b: str
    node: str
    is_assumed: bool


def refuting_nodes(handle: StoreHandle, *, strict: bool = False) -> list[RefutingNode]:
    """All of them; strict: none that rests on an assumed environment. Reads the temp tables that `prepare` filled."""
    rows = handle.db.execute(load(_PACKAGE, "sql/refuting_nodes"), {"strict": strict}).fetchall()
    return [RefutingNode(*row) for row in rows]


def _pairs_of_cells(handle: StoreHandle, task: str, group_key: str, cell_a: str, cell_b: str) -> list[_Pair]:
    text = load(_PACKAGE, "sql/pairs_of_cells")
    given = {"task": task, "group_key": group_key, "cell_a": cell_a, "cell_b": cell_b}
    return [(a, b) for a, b in handle.db.execute(text, given).fetchall()]


assert set(COMPONENTS) <= set(RunSignature.__struct_fields__)  # noqa: S101 (checked once, at import)
