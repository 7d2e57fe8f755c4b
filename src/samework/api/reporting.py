"""Collect what a report shows, build it, and write it as the file's ending says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.api.files import write_whole
from samework.api.judging import classes, compare, forks
from samework.api.pair_material import fork_material, ruleset_notes, tests_material, tree_material
from samework.api.runs import list_runs, run_detail, run_key
from samework.errors import UsageError
from samework.report.build import experiment_report, pair_report, party, store_report, task_report
from samework.text import visible

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from samework.api.details import RunDetail
    from samework.report.data import Party, ReportData
    from samework.store.connection import StoreHandle

ENDINGS = (".html", ".md", ".json")


def write_report(
    handle: StoreHandle,
    out: Path,
    *,
    a: str | None,
    b: str | None,
    task: str | None,
    experiment: Sequence[str] | None,
    redact: bool,
) -> Path:
    """Write a report of a pair, an experiment, a task or the store to `out`; see `Store.report`."""
    ending = out.suffix.lower()
    if ending not in ENDINGS:
        raise UsageError(
            f"a report is written to a file ending in {', '.join(ENDINGS)}", place=visible(str(out), one_line=True)
        )
    if (a is None) != (b is None) or (a is not None and (task is not None or experiment is not None)):
        raise UsageError("a report is of two runs, of an experiment, of a task, or of the whole store")
    if a is not None and b is not None:
        data = pair_data(handle, a, b, redact=redact)
    elif experiment is not None:
        data = experiment_data(handle, experiment, task=task, redact=redact)
    elif task is not None:
        data = task_data(handle, task, redact=redact)
    else:
        data = store_data(handle, redact=redact)
    write_whole(out, rendered(data, ending), "the report cannot be written")
    return out


def rendered(data: ReportData, ending: str) -> str:
    """The report as text of the form that a file ending names."""
    if ending == ".html":
        from samework.report.html import render_html

        return render_html(data)
    if ending == ".md":
        from samework.report.markdown import render_markdown

        return render_markdown(data)
    from samework.report.json import render_json

    return render_json(data)


def pair_data(handle: StoreHandle, a: str, b: str, *, redact: bool) -> ReportData:
    """A report of two runs."""
    keys = run_key(handle, a)[0], run_key(handle, b)[0]
    result = compare(handle, a, b, strict=False, whole_texts=True)
    details = run_detail(handle, keys[0]), run_detail(handle, keys[1])
    return pair_report(
        result,
        _party(details[0]),
        _party(details[1]),
        fork=fork_material(handle, *keys, result.fork),
        tree=tree_material(handle, *details),
        tests=tests_material(handle, keys, details, result.facets["tests"]),
        rulesets=ruleset_notes(handle),
        redact=redact,
    )


def _party(detail: RunDetail) -> Party:
    agent = " ".join(part for part in (detail.agent, detail.agent_version) if part) or None
    return party(detail.run, agent=agent, model=detail.model)


def task_data(handle: StoreHandle, task: str, *, redact: bool) -> ReportData:
    """A report of one task."""
    found = classes(handle, task=task, arm=None, across=None, strict=False)
    return task_report(
        found.by_task[0],
        forks(handle, task=task, whole_texts=True),
        list_runs(handle, task=task),
        facets=found.facets,
        rulesets=ruleset_notes(handle),
        redact=redact,
    )


def experiment_data(handle: StoreHandle, arms: Sequence[str], *, task: str | None, redact: bool) -> ReportData:
    """A report of an experiment over arms, in one task where it is named."""
    from samework.api.experimenting import experiment

    found = experiment(
        handle,
        arms=arms,
        by=None,
        task=task,
        level=None,
        success=None,
        margin=None,
        strata=None,
        donor=(),
        power=False,
        strict=False,
    )
    return experiment_report(found, rulesets=ruleset_notes(handle), redact=redact)


def store_data(handle: StoreHandle, *, redact: bool) -> ReportData:
    """A report of everything in the store."""
    return store_report(
        classes(handle, task=None, arm=None, across=None, strict=False),
        forks(handle, whole_texts=True),
        list_runs(handle),
        rulesets=ruleset_notes(handle),
        redact=redact,
    )
