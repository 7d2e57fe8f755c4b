"""A small engine laboratory: real DuckDB with the store's own tables, filled with runs that a test describes.

Only the columns that the engine reads are filled; rows go in by plain INSERT, so a test sees what it states. To start
DuckDB costs more than all else a small test does, so the labs of a process share one instance of it; each has a
database and a connection of its own in there.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from functools import cache
from typing import TYPE_CHECKING, Any

import duckdb
import msgspec

from samework.canon.node_ids import is_test
from samework.store.ddl import store_ddl

if TYPE_CHECKING:
    from collections.abc import Iterable


def sha(text: str) -> bytes:
    """32 bytes that stand for a text."""
    return hashlib.sha256(text.encode()).digest()


@cache
def _statements() -> tuple[str, ...]:
    return tuple(part for part in store_ddl().split(";\n") if part.strip() and not part.startswith("COMMENT"))


@cache
def _instance() -> duckdb.DuckDBPyConnection:
    """The DuckDB of this process, in memory."""
    return duckdb.connect(config={"threads": 1})


_numbers = itertools.count()


class Report(msgspec.Struct, frozen=True):
    """One test report of a run: node -> outcome; suite and env None: nobody recorded them."""

    outcomes: dict[str, str] = {}
    suite: str | None = "suite"
    env: str | None = "env"
    complete: bool = True


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What a test states of a run; None is unrecorded. edits: path of the patch -> (id before, change)."""

    task: str = "t"
    arm: str = "a"
    kind: str = "coding"
    layout: str = "lab"
    tokens: str | None = None
    prompt: str | None = None
    tokenizer: str | None = "tok"
    text: str | None = None
    recorder: str | None = "lab"
    counts: str | None = None
    raw_text: str | None = None
    prose: str | None = None
    hides: str = "-"
    actions: str | None = None
    tree: str | None = None
    tree_format: str = "sha1"
    policy: str = "worktree"
    tree_grade: str = "direct"
    patch: dict[str, str] | None = None
    edits: dict[str, tuple[str | None, str | None]] = {}
    base: str | None = None
    reports: tuple[Report, ...] = ()
    outcome: str | None = None
    invariants: dict[str, bool | None] = {}
    end_reason: str = "finished"
    complete: bool = True
    events: tuple[str, ...] = ()


class Lab:
    """A handle (`.db`) over an in-memory database of its own; run_keys count from 1 in order of `add`."""

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        self._name = f"lab{next(_numbers)}"
        self.db = _instance().cursor()
        self.db.execute(f"attach ':memory:' as {self._name}; use {self._name}")
        self.db.execute(f"begin; {'; '.join(_statements())}; commit")
        self.n_runs = self.n_reports = 0
        self._rows: dict[tuple[str, str], list[list[Any]]] = {}
        for run in runs:
            self._state(run)
        self._write()

    def close(self) -> None:
        self.db.execute(f"use memory; detach {self._name}")
        self.db.close()

    def _insert(self, table: str, **values: Any) -> None:
        names = ", ".join(f'"{name}"' for name in values)
        self._rows.setdefault((table, names), []).append(list(values.values()))

    def _write(self) -> None:
        """Insert what was stated, a table at a time: a statement for each row would take most of a test's time."""
        for (table, names), rows in self._rows.items():
            places = ", ".join(f"({', '.join('?' * len(row))})" for row in rows)
            self.db.execute(
                f'insert into "{table}" ({names}) values {places}', [value for row in rows for value in row]
            )
        self._rows.clear()

    def add(self, run: Run) -> int:
        key = self._state(run)
        self._write()
        return key

    def _state(self, run: Run) -> int:
        self.n_runs += 1
        key = self.n_runs
        self._insert(
            "run", run_key=key, run_id=f"{key:016x}", task=run.task, arm=run.arm, repeat=str(key), kind=run.kind,
            format="lab", layout=run.layout, end_reason=run.end_reason, complete=run.complete, has_trajectory=True,
            n_events=1, n_steps=1, n_calls=0, base_commit=run.base, content_sha256=sha(f"run {key}"),
            source_sha256=sha("s"), settings_sha256=sha("s"),
        )  # fmt: skip
        self._facets(key, run)
        self._events(key, run)
        self._tree(key, run)
        for report in run.reports:
            self._report(key, run, report)
        if run.outcome is not None:
            self._insert("run_outcome", run_key=key, name="resolved", value=run.outcome)
        for name, value in run.invariants.items():
            self._insert("run_invariant", run_key=key, name=name, value=value)
        return key

    def _facet(self, key: int, facet: str, value: str | None, comparable: str | None, reason: str) -> None:
        self._insert(
            "facet_digest", run_key=key, facet=facet, ruleset_id=sha("rules"),
            digest=None if value is None else sha(value),
            comparable=None if comparable is None or value is None else sha(comparable),
            null_reason=reason if value is None else None, grade="none" if value is None else "direct",
            vacuous=False, n_parts=1, n_masked_bytes=0,
        )  # fmt: skip

    def _facets(self, key: int, run: Run) -> None:
        self._facet(key, "completion_tokens", run.tokens, run.tokenizer, "token_ids_unrecorded")
        self._facet(key, "prompt_tokens", run.prompt, run.tokenizer, "token_ids_unrecorded")
        self._facet(key, "text", run.text, "text", "no_completion")
        self._facet(key, "refuter", run.text, run.recorder, "recorder_unrecorded")
        self._facet(key, "counts", run.counts, run.recorder, "unrecorded")
        self._facet(key, "raw_text", run.raw_text, run.tokenizer, "unrecorded")
        self._facet(key, "prose", run.prose, run.hides, "unrecorded")
        self._facet(key, "actions", run.actions, "actions", "no_trajectory")
        self._facet(key, "observations", None, None, "no_trajectory")

    def _events(self, key: int, run: Run) -> None:
        chain = None
        for seq, name in enumerate(run.events):
            prev, chain = chain, hashlib.sha256((chain or b"") + name.encode()).digest()
            self._insert(
                "event", run_key=key, seq=seq, step=seq, kind="completion", digest=sha(name), prev=prev, chain=chain,
                n_bytes=0,
            )  # fmt: skip

    def _tree(self, key: int, run: Run) -> None:
        if run.tree is not None:
            self._insert(
                "run_tree", run_key=key, oid=f"{run.tree_format}:{run.tree}", object_format=run.tree_format,
                tcd=None if run.tree_grade == "asserted" else sha(run.tree), policy=run.policy, scope="",
                grade=run.tree_grade, flags="[]",
            )  # fmt: skip
        if run.patch is None:
            return
        digits = min((len(blob) for blob in run.patch.values()), default=None)
        self._insert(
            "patch", run_key=key, patch_sha256=sha(json.dumps(run.patch)), is_empty=not run.patch,
            base_commit=run.base, status="parsed" if run.patch else "empty", repairs="[]", n_paths=len(run.patch),
            min_id_digits=digits, grade="direct",
        )  # fmt: skip
        for path, blob in run.patch.items():
            self._insert("patch_path", run_key=key, path=path, mode="100644", blob_id=blob, change="modify")
            before, change = run.edits.get(path, (None, None))
            self._insert("patch_edit", run_key=key, path=path, before_id=before, change_sha256=change and sha(change))

    def _report(self, key: int, run: Run, report: Report) -> None:
        self.n_reports += 1
        executed = [o for node, o in report.outcomes.items() if o != "skipped" and is_test(node)]
        self._insert(
            "test_report", report_key=self.n_reports, run_key=key, report_sha256=sha(f"report {self.n_reports}"),
            format="lab", suite=report.suite, env=report.env, layout=run.layout, complete=report.complete,
            n_nodes=len(report.outcomes), n_executed=len(executed), n_failing=executed.count("failed"),
            has_conflict=False, map_sha256=sha(json.dumps(sorted(report.outcomes.items()))), findings="[]",
        )  # fmt: skip
        for node, outcome in report.outcomes.items():
            self._insert("test_outcome", report_key=self.n_reports, node=node, outcome=outcome)
