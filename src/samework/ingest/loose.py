"""Join reports and verdicts that stand outside of any run to the runs they are about.

A report that fits no run, or more than one, is not joined, and the answer says how to attach it.
"""

from __future__ import annotations

import hashlib
from pathlib import PurePath
from typing import TYPE_CHECKING

import msgspec

from samework.errors import InputError
from samework.ingest.assembly import Report
from samework.ingest.index import folder_of
from samework.model.records import SuiteReport
from samework.text import shortened, storable, visible

if TYPE_CHECKING:
    from samework.ingest.index import KnownRun
    from samework.ingest.landing import Landing
    from samework.model.records import OutcomeRecord

_LAYOUTS = {"swebench_report": "swe-bench"}


class Joined(msgspec.Struct):
    """What became of loose records: how many were added, were there before, fit no run, fit several."""

    added: int = 0
    known: int = 0
    unmatched: list[str] = []
    ambiguous: list[str] = []


def join_loose(landing: Landing, records: list[SuiteReport | OutcomeRecord]) -> Joined:
    """Join records of one source.

    Raises: InputError: none of them belongs to a run.
    """
    result = Joined()
    for record in records:
        task = landing.identity.given.task or record.task
        beside = _beside(landing) if task is None else []
        task = task or _folder_task(landing, beside)
        run = beside[0] if len(beside) == 1 else None
        if run is None and task is not None:
            run = _run_of(landing, storable(task), record.arm, result)
        if run is None:
            if len(beside) > 1:
                result.ambiguous.append("its folder")
            elif task is None:
                result.unmatched.append("a task that it does not name")
            continue
        if _add(landing, run, record, task or ""):
            result.added += 1
            landing.n_added += 1
        else:
            result.known += 1
        landing.joined[run.run_id] = None
    if not result.added and not result.known:
        raise _refusal(landing, result)
    return result


def _beside(landing: Landing) -> list[KnownRun]:
    """Runs whose trajectory lies in the same folder as a report that names no task."""
    identity, given = landing.identity, landing.identity.given
    found = landing.index.by_folder.get(folder_of(identity.path), [])
    return [
        run
        for run in found
        if run.has_trajectory
        and run.root == identity.root
        and given.arm in {None, run.arm}
        and given.repeat in {None, run.repeat}
        and not run.is_folder  # a bundle is a folder of its own
    ]


def _folder_task(landing: Landing, beside: list[KnownRun]) -> str | None:
    """A report that names no task may lie in the folder of its task; only where such a task is stored.

    A folder that holds runs of its own says nothing of a task that happens to have its name.
    """
    if beside:
        return beside[0].task if len(beside) == 1 else None
    name = PurePath(landing.identity.path).parent.name
    return name if name in landing.index.by_task else None


def _run_of(landing: Landing, task: str, arm: str | None, result: Joined) -> KnownRun | None:
    given = landing.identity.given
    found, _ = landing.candidates(task, given.arm, arm)
    if given.repeat is not None:
        found = [run for run in found if run.repeat == given.repeat]
    found = [run for run in found if run.has_trajectory] or found
    if len(found) == 1:
        return found[0]
    (result.ambiguous if found else result.unmatched).append(task)
    return None


def _add(landing: Landing, run: KnownRun, record: SuiteReport | OutcomeRecord, task: str) -> bool:
    if not isinstance(record, SuiteReport):
        return landing.outcome(run, record, landing.identity.path)
    digest = hashlib.sha256(landing.identity.content_sha256 + task.encode("utf-8", "surrogatepass")).digest()
    layout = _LAYOUTS.get(record.format, run.layout)
    return landing.report(run, Report(record, digest), layout)


def _refusal(landing: Landing, result: Joined) -> InputError:
    path = visible(landing.identity.path)
    if result.ambiguous:
        tasks = _some(result.ambiguous)
        return InputError(
            f"a report that fits several runs of {tasks}",
            place=path,
            hint=f"Name the run: `samework attach RUN --tests {path}`, or give --arm and --repeat.",
            code="ambiguous-report",
        )
    return InputError(
        f"a report of {_some(result.unmatched)}, of which no run is stored",
        place=path,
        hint=f"Ingest the run first, or name it: `samework attach RUN --tests {path}`.",
        code="report-without-run",
    )


def _some(tasks: list[str]) -> str:
    shown = ", ".join(shortened(task, 80) for task in tasks[:3])
    return f"{shown} and {len(tasks) - 3} more" if len(tasks) > 3 else shown  # noqa: PLR2004
