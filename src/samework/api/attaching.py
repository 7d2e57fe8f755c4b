"""Attach artifacts: to one run that is named, or to many by the fields in the paths of files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from samework.api.runs import check_names, run_key
from samework.errors import UsageError
from samework.ingest import attach as ingest_attach
from samework.ingest.settings import IngestSettings

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from samework.model.results import SourceOutcome
    from samework.store.connection import StoreHandle

    Where = str | os.PathLike[str]


def attach(
    handle: StoreHandle,
    run: str | None,
    *,
    worktree: Where | None,
    repo: Where | None,
    commit: str | None,
    base: str | None,
    patch: Where | None,
    tests: Sequence[Where],
    manifest: Where | None,
    invariants: Mapping[str, bool | None],
    match: str | None,
    task: str | None,
    arm: str | None,
    suite: str | None,
    env: str | None,
) -> list[SourceOutcome]:
    """See `Store.attach`."""
    asked = ingest_attach.Attachment(
        worktree=_path(worktree),
        repo=_path(repo),
        commit=commit,
        base=base,
        patch=_path(patch),
        tests=tuple(Path(test) for test in tests),
        manifest=_path(manifest),
        invariants=dict(invariants),
        suite=suite,
        env=env,
    )
    if match is not None:
        if run is not None or asked != ingest_attach.Attachment(suite=suite, env=env):
            raise UsageError("--match finds the runs itself: give no RUN and no other files with it")
        check_names(handle, task=task, arms=[arm] if arm is not None else [])
        settings = IngestSettings(task=task, arm=arm, suite=suite, env=env)
        return list(ingest_attach.attach_matching(handle, match, settings).sources)
    if run is None:
        raise UsageError("name a run, or give --match PATTERN", hint="samework attach --help")
    if asked == ingest_attach.Attachment(suite=suite, env=env):
        raise UsageError("nothing to attach was named", hint="samework attach --help")
    return ingest_attach.attach(handle, run_key(handle, run)[0], asked)


def _path(where: Where | None) -> Path | None:
    return None if where is None else Path(where)
