"""Read runs out of the store: the list, one run by its name, one run whole. Refuses an ambiguous name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from samework.api.details import (
    Defect,
    ManifestField,
    PatchDetail,
    ReportDetail,
    RunDetail,
    TreeDetail,
    UsageDetail,
)
from samework.api.evidence import Artifacts, facet_evidence
from samework.api.inventory import FACETS, not_applicable
from samework.api.manifest_groups import grouped
from samework.api.next_time import run_needs
from samework.errors import NotFound, UsageError
from samework.model.results import RunSummary
from samework.model.words import Grade, weakest
from samework.store.sql import load
from samework.text import shortened, storable

if TYPE_CHECKING:
    from samework.store.connection import StoreHandle

_PACKAGE = "samework.api"
_MAX_SHOWN = 8


def query_rows(handle: StoreHandle, name: str, **parameters: object) -> list[dict[str, Any]]:
    """Rows of `sql/<name>.sql` as dicts."""
    cursor = handle.db.execute(load(_PACKAGE, f"sql/{name}"), parameters)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def list_runs(
    handle: StoreHandle, *, task: str | None = None, arm: str | None = None, run_key: int | None = None
) -> list[RunSummary]:
    """Runs in the order of task, arm and repeat. Raises NotFound where a task or arm is named that no run has."""
    check_names(handle, task=task, arms=[arm] if arm is not None else [])
    return [_summary(row) for row in query_rows(handle, "runs", task=task, arm=arm, run_key=run_key)]


def check_names(handle: StoreHandle, *, task: str | None = None, arms: list[str] | None = None) -> None:
    """Raises NotFound with the known names where the store has no run of `task` or of one of `arms`."""
    wanted = [("task", task)] if task is not None else []
    wanted += [("arm", arm) for arm in arms or []]
    if not wanted:
        return
    known = query_rows(handle, "known_names")
    for kind, name in wanted:
        names = [row["name"] for row in known if row["kind"] == kind]
        if name not in names:
            raise NotFound(
                f"no run of the store has {kind} {shortened(str(name), 60)!r}; known: {_some(names)}",
                hint="samework runs",
                code="no-task" if kind == "task" else "no-arm",
            )


def run_key(handle: StoreHandle, word: str) -> tuple[int, str]:
    """(run_key, run_id) of the one run that `word` names: its id, a unique beginning of it, or task:arm:repeat.

    Raises: NotFound: no such run. UsageError: several; the message lists them.
    """
    shown = shortened(word, 80)
    if not word:
        raise UsageError("an empty name names no run", hint="samework runs")
    found = query_rows(handle, "find_run", word=storable(word))
    exact = [row for row in found if row["rank"] == 0]
    chosen = exact or found
    if not chosen:
        raise NotFound(f"no run is named {shown!r}", hint="samework runs", code="no-run")
    if len(chosen) > 1:
        more = ", ..." if len(chosen) > _MAX_SHOWN else ""
        names = "; ".join(
            shortened(f"{row['run_id']} ({row['task']}:{row['arm']}:{row['repeat']})", 120)
            for row in chosen[:_MAX_SHOWN]
        )
        raise UsageError(
            f"{shown!r} names {len(chosen)} runs: {names}{more}", hint="samework runs", code="ambiguous-run"
        )
    return int(chosen[0]["run_key"]), str(chosen[0]["run_id"])


def pair_of(handle: StoreHandle, a: str, b: str) -> tuple[tuple[int, RunSummary], tuple[int, RunSummary]]:
    """The run_keys and summaries of two runs of one task.

    Raises: NotFound: no such run. UsageError: both names are of one run, or the runs of two tasks.
    """
    keys = run_key(handle, a)[0], run_key(handle, b)[0]
    one, other = (list_runs(handle, run_key=key)[0] for key in keys)
    if keys[0] == keys[1]:
        raise UsageError(f"both names are of one run, {one.run_id}", hint="samework runs", code="one-run")
    if one.task != other.task:
        raise UsageError(
            f"runs are compared within one task only; these are of {shortened(one.task, 60)!r} and "
            f"{shortened(other.task, 60)!r}",
            hint="samework runs --task TASK",
            code="two-tasks",
        )
    return (keys[0], one), (keys[1], other)


def run_detail(handle: StoreHandle, key: int) -> RunDetail:
    """Everything `show` tells of the run with this key."""
    summary = _summary(query_rows(handle, "runs", task=None, arm=None, run_key=key)[0])
    head = query_rows(handle, "run_head", run_key=key)[0]
    tree, patch = _tree(handle, key), _patch(handle, key)
    tests = tuple(
        ReportDetail(**{**row, "findings": tuple(json.loads(row["findings"]))})
        for row in query_rows(handle, "run_reports", run_key=key)
    )
    fields = [
        ManifestField(row["field"], _value(row["value"]), row["source"], row["absence"], row["origin"])
        for row in query_rows(handle, "run_manifest", run_key=key)
    ]
    recorded = query_rows(handle, "run_grades", run_key=key)
    outcomes = {row["name"]: _value(row["value"]) for row in recorded if row["kind"] == "outcome"}
    invariants = {row["name"]: _value(row["value"]) for row in recorded if row["kind"] == "invariant"}
    held = Artifacts(tree, patch, tests, outcomes, invariants)
    digests = {row["facet"]: row for row in query_rows(handle, "run_facets", run_key=key)}
    return RunDetail(
        run=summary,
        facets=tuple(facet_evidence(facet, summary, digests, held) for facet in FACETS),
        usage=_usage(handle, key),
        tree=tree,
        patch=patch,
        tests=tests,
        outcomes=outcomes,
        invariants=invariants,
        manifest=grouped(fields),
        defects=tuple(
            Defect(row["path"], row["source_offset"], row["code"], row["reason"])
            for row in query_rows(handle, "run_defects", run_key=key)
        ),
        next_time=run_needs(handle, key, summary, digests),
        **head,
    )


def _summary(row: dict[str, Any]) -> RunSummary:
    evidence = {facet: row.get(facet) or Grade.NONE.value for facet in FACETS}
    if row["completion"]:
        evidence["tokens"] = weakest(Grade(row["completion"]), Grade(row["prompt"] or Grade.IMPLIED)).value
    for facet in FACETS:
        if evidence[facet] == Grade.NONE and not_applicable(row["kind"], facet):
            evidence[facet] = "not_applicable"
    return RunSummary(
        run_id=row["run_id"],
        task=row["task"],
        arm=row["arm"],
        repeat=row["repeat"],
        format=row["format"],
        complete=row["complete"],
        evidence=evidence,
        kind=row["kind"],
        end_reason=row["end_reason"],
        n_steps=row["n_steps"],
        n_calls=row["n_calls"],
    )


def _usage(handle: StoreHandle, key: int) -> UsageDetail | None:
    found = UsageDetail(**query_rows(handle, "run_usage", run_key=key)[0])
    return found if found.n_calls else None


def _tree(handle: StoreHandle, key: int) -> TreeDetail | None:
    rows = query_rows(handle, "run_tree", run_key=key)
    return TreeDetail(**{**rows[0], "flags": tuple(json.loads(rows[0]["flags"]))}) if rows else None


def _patch(handle: StoreHandle, key: int) -> PatchDetail | None:
    rows = query_rows(handle, "run_patch", run_key=key)
    if not rows:
        return None
    return PatchDetail(
        **{**rows[0], "repairs": tuple(json.loads(rows[0]["repairs"])), "paths": tuple(rows[0]["paths"] or ())}
    )


def _value(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _some(names: list[str]) -> str:
    shown = ", ".join(shortened(name, 40) for name in names[:_MAX_SHOWN])
    return (shown or "none") + (f" and {len(names) - _MAX_SHOWN} more" if len(names) > _MAX_SHOWN else "")
