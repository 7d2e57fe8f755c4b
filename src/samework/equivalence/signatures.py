"""Read, for every run of a task or of the store, the codes from which all verdicts follow.

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
    import pyarrow

    from samework.store.connection import StoreHandle

_PACKAGE = "samework.equivalence"
_PARAMETER = re.compile(r"\$([a-z_]+)")
_STEPS = (
    ("trajectory_form", "trajectory_forms"),
    ("tree_form", "tree_forms"),
    ("cell_report", "cells"),
    ("cell_digest", "cell_digests"),
    ("signature", "signatures"),
)


class RunSignature(msgspec.Struct, frozen=True, kw_only=True):
    """What one run can be compared by. `*_c` codes: -1 where it cannot be; other codes mean equality only."""

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
    patch_reason: str | None
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
    tok_c: int
    tok: int
    comp_c: int
    comp: int
    ref_c: int
    ref: int
    oid_c: int
    oid: int
    tcd_c: int
    tcd: int
    pat_c: int
    pat: int
    pata_c: int
    pata: int
    tst_c: int
    tst: int
    tsta_c: int
    tsta: int
    ran_c: int
    ran: int
    text_c: int
    text: int
    actions_c: int
    actions: int
    observations_c: int
    observations: int
    patch_c: int
    patch: int
    outcome_c: int
    outcome: int
    invariants_c: int
    invariants: int

    def codes(self, name: str) -> tuple[int, int]:
        """(comparable, value) of a component or plain facet."""
        return getattr(self, f"{name}_c"), getattr(self, name)


class Exceptions(msgspec.Struct, frozen=True):
    """Pairs whose verdict is not equality of digests; keys are (smaller, larger) run_key.

    censored: step at which the shorter record was cut. refuted: a node on which an incomplete report disagrees.
    overlapping: strict mode only, undecided.
    """

    censored: dict[tuple[int, int], int]
    refuted: dict[tuple[int, int], str]
    overlapping: frozenset[tuple[int, int]]

    def pairs(self) -> set[tuple[int, int]]:
        """Every pair named."""
        return set(self.censored) | set(self.refuted) | set(self.overlapping)


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


def prepare(handle: StoreHandle, *, task: str | None = None, strict: bool = False) -> None:
    """Fill the temp tables trajectory_form, tree_form, cell_report, cell_digest and signature."""
    for table, query in _STEPS:
        text = load(_PACKAGE, f"sql/{query}")
        given = {"task": task, "strict": strict}
        needed = {name: given[name] for name in _PARAMETER.findall(text)}
        handle.db.execute(f"create or replace temp table {table} as {text}", needed)


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
    table: pyarrow.Table = handle.db.execute("select * from signature order by run_key").to_arrow_table()
    runs = {row["run_key"]: msgspec.convert(row, RunSignature) for row in table.to_pylist()}
    return Signatures(runs, load_exceptions(handle, task=task, strict=strict), treeless_tasks(handle), strict)


def treeless_tasks(handle: StoreHandle) -> frozenset[str]:
    """Tasks whose runs are all of a kind that has no tree, and of which none left one."""
    return frozenset(row[0] for row in handle.db.execute(load(_PACKAGE, "sql/treeless_tasks")).fetchall())


def load_exceptions(handle: StoreHandle, *, task: str | None, strict: bool) -> Exceptions:
    """The explicit pairs; reads the temp tables that `prepare` filled."""
    db = handle.db
    censored = {
        (a, b): step for a, b, step in db.execute(load(_PACKAGE, "sql/censored_pairs"), {"task": task}).fetchall()
    }
    refuted: dict[tuple[int, int], str] = {}
    for row in db.execute(load(_PACKAGE, "sql/refuting_nodes")).fetchall():
        for pair in _pairs_of_cells(handle, *row[:4]):
            refuted[pair] = row[4]
    overlapping: set[tuple[int, int]] = set()
    if strict:
        for row in db.execute(load(_PACKAGE, "sql/overlapping_cells")).fetchall():
            overlapping.update(_pairs_of_cells(handle, *row))
    return Exceptions(censored, refuted, frozenset(overlapping))


def _pairs_of_cells(handle: StoreHandle, task: str, group_key: str, cell_a: str, cell_b: str) -> list[tuple[int, int]]:
    text = load(_PACKAGE, "sql/pairs_of_cells")
    given = {"task": task, "group_key": group_key, "cell_a": cell_a, "cell_b": cell_b}
    return [(a, b) for a, b in handle.db.execute(text, given).fetchall()]


assert set(COMPONENTS) <= set(RunSignature.__struct_fields__)  # noqa: S101 (checked once, at import)
