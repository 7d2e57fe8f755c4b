"""What the store already holds, as far as ingest must know it to add nothing twice.

Loaded once per ingest, kept up to date as sources land. Refuses to guess: a run is found by its identity only.
"""

from __future__ import annotations

import hashlib
from pathlib import PurePath
from typing import TYPE_CHECKING, Self

from samework.canon.arguments import canonical_value
from samework.store.sql import load

if TYPE_CHECKING:
    import duckdb

_RUN_ID_DIGITS = 16


class KnownRun:
    """A run in the store or in the open batch. path: of its source. root: path named in this ingest it came from.

    native_id: the tool's own id of it. is_folder: its source is a directory of its own; None for a run that was not met
    in this ingest.
    """

    __slots__ = (
        "arm",
        "base_commit",
        "content",
        "has_trajectory",
        "is_folder",
        "key",
        "layout",
        "native_id",
        "patch_sha256",
        "path",
        "repeat",
        "root",
        "run_id",
        "task",
    )

    def __init__(  # noqa: PLR0917 (in the order of the query)
        self,
        key: int,
        run_id: str,
        task: str,
        arm: str,
        repeat: str,
        content: bytes,
        *,
        has_trajectory: bool,
        layout: str,
        base_commit: str | None,
        patch_sha256: bytes | None,
        path: str,
        root: str | None = None,
        is_folder: bool | None = None,
        native_id: str | None = None,
    ) -> None:
        self.key = key
        self.run_id = run_id
        self.task = task
        self.arm = arm
        self.repeat = repeat
        self.content = content
        self.has_trajectory = has_trajectory
        self.layout = layout
        self.base_commit = base_commit
        self.patch_sha256 = patch_sha256
        self.path = path
        self.root = root
        self.is_folder = is_folder
        self.native_id = native_id


class Index:
    """Sources, runs and reports by identity."""

    def __init__(self) -> None:
        self.sources: dict[tuple[bytes, bytes], str] = {}
        self.reports: set[tuple[int, bytes]] = set()
        self.outcomes: dict[tuple[int, str], str] = {}
        self.rulesets: set[bytes] = set()
        self.by_id: dict[str, KnownRun] = {}
        self.by_content: dict[tuple[str, str, bytes], list[KnownRun]] = {}
        self.by_arm: dict[tuple[str, str], list[KnownRun]] = {}
        self.by_task: dict[str, list[KnownRun]] = {}
        self.by_source: dict[tuple[bytes, bytes], list[KnownRun]] = {}
        self.by_folder: dict[str, list[KnownRun]] = {}

    @classmethod
    def of(cls, db: duckdb.DuckDBPyConnection) -> Self:
        """Read the index from a store."""
        made = cls()
        for sha256, settings, status in db.execute(load("samework.ingest", "queries/known_sources")).fetchall():
            made.sources[sha256, settings] = status
        for row in db.execute(load("samework.ingest", "queries/known_runs")).fetchall():
            made.add(
                KnownRun(
                    *row[:6],
                    has_trajectory=row[6],
                    layout=row[7],
                    base_commit=row[8],
                    patch_sha256=row[9],
                    path=row[10] or "",
                    native_id=row[13],
                ),
                (row[11], row[12]),
            )
        made.reports.update(db.execute(load("samework.ingest", "queries/known_reports")).fetchall())
        for key, name, value in db.execute(load("samework.ingest", "queries/known_outcomes")).fetchall():
            made.outcomes[key, name] = value
        made.rulesets.update(key for (key,) in db.execute("SELECT ruleset_id FROM main.ruleset").fetchall())
        return made

    def add(self, run: KnownRun, source: tuple[bytes, bytes]) -> None:
        """Remember a run of a source (sha256, settings)."""
        self.by_id[run.run_id] = run
        self.by_content.setdefault((run.task, run.arm, run.content), []).append(run)
        self.by_arm.setdefault((run.task, run.arm), []).append(run)
        self.by_task.setdefault(run.task, []).append(run)
        self.by_source.setdefault(source, []).append(run)
        self.by_folder.setdefault(folder_of(run.path), []).append(run)

    def met(self, run: KnownRun, root: str, path: str, *, is_folder: bool) -> None:
        """Remember where a run was met again: what lies beside it there is its own."""
        self.by_folder[folder_of(run.path)].remove(run)
        run.root, run.path, run.is_folder = root, path, is_folder
        self.by_folder.setdefault(folder_of(path), []).append(run)

    def remove(self, run: KnownRun) -> None:
        """Forget a run that another took in."""
        self.by_id.pop(run.run_id, None)
        for held in (
            self.by_content[run.task, run.arm, run.content],
            self.by_arm[run.task, run.arm],
            self.by_task[run.task],
            self.by_folder[folder_of(run.path)],
            *self.by_source.values(),
        ):
            if run in held:
                held.remove(run)
        for key in [key for key in self.outcomes if key[0] == run.key]:
            del self.outcomes[key]
        self.reports = {key for key in self.reports if key[0] != run.key}

    def same_content(self, task: str, arm: str, content: bytes, repeat: str | None, nth: int) -> KnownRun | None:
        """The run that holds this content already: of that repeat where one is given, else the nth such run."""
        held = self.by_content.get((task, arm, content), [])
        if repeat is not None:
            return next((run for run in held if run.repeat == repeat), None)
        return held[nth] if nth < len(held) else None

    def of_native(self, task: str, arm: str, layout: str, native_id: str | None) -> list[KnownRun]:
        """Runs with a trajectory that a tool knows by this id; none where it has no id."""
        if native_id is None:
            return []
        held = self.by_arm.get((task, arm), [])
        return [run for run in held if run.native_id == native_id and run.layout == layout and run.has_trajectory]

    def free_repeat(self, task: str, arm: str) -> str:
        """The smallest ordinal from 1 that no run of the task and arm has."""
        taken = {run.repeat for run in self.by_arm.get((task, arm), [])}
        return next(name for ordinal in range(1, len(taken) + 2) if (name := str(ordinal)) not in taken)


def folder_of(path: str) -> str:
    """The directory that holds a path.

    >>> folder_of("runs/a/report.json")
    'runs/a'
    """
    return str(PurePath(path).parent)


def run_identity(task: str, arm: str, repeat: str, content: bytes) -> str:
    """First 16 hex digits of sha256 over the canonical JSON of task, arm, repeat and content digest.

    >>> run_identity("t", "a", "1", bytes(32))
    'd95458af963b1d2d'
    """
    text = canonical_value([task, arm, repeat, content.hex()])
    return hashlib.sha256(text.encode()).hexdigest()[:_RUN_ID_DIGITS]
