"""What the store already holds, as far as ingest must know it to add nothing twice.

Loaded once per ingest, kept up to date as sources land. Refuses to guess: a run is found by its identity only.
"""

from __future__ import annotations

import hashlib
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, Self

from samework.canon.arguments import canonical_value
from samework.ingest.identity import plain_name
from samework.store.sql import load
from samework.text import storable

if TYPE_CHECKING:
    import duckdb

PARTIAL: Final = frozenset({"predictions"})
"""Formats whose runs are the patches of trajectories that lie elsewhere."""
_RUN_ID_DIGITS = 16

ReportKey = tuple[bytes, str | None, str | None]
"""Digest of a report, and the suite and environment under which it is stored."""


class KnownRun:
    """A run in the store or in the open batch. path: of its source. root: path named in this ingest it came from.

    native_id: the tool's own id of it. is_partial: a prediction that fits no run so far. is_folder: its source is a
    directory of its own; None for a run that was not met in this ingest. source: sha256 and settings, as it is stored.
    started: as recorded. is_named_by_file: its task is the name of the file that it was first met in.
    """

    __slots__ = (
        "arm",
        "base_commit",
        "content",
        "has_trajectory",
        "is_folder",
        "is_named_by_file",
        "is_partial",
        "key",
        "layout",
        "native_id",
        "patch_sha256",
        "path",
        "repeat",
        "root",
        "run_id",
        "source",
        "started",
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
        is_partial: bool = False,
        native_id: str | None = None,
        started: str | None = None,
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
        self.is_partial = is_partial
        self.native_id = native_id
        self.started = started
        self.is_named_by_file = task == storable(plain_name(path))
        self.source: tuple[bytes, bytes] | None = None


class Index:
    """Sources and runs by identity; reports and outcomes by run.

    unsettled: tasks and arms with a prediction that waits for the end of the ingest, to see how many runs it fits.
    """

    def __init__(self) -> None:
        self.sources: dict[tuple[bytes, bytes], str] = {}
        self.reports: dict[int, set[ReportKey]] = {}
        self.outcomes: dict[int, dict[str, str]] = {}
        self.unsettled: set[tuple[str, str]] = set()
        self.rulesets: set[bytes] = set()
        self.by_id: dict[str, KnownRun] = {}
        self.by_content: dict[tuple[str, str, bytes], list[KnownRun]] = {}
        self.by_arm: dict[tuple[str, str], list[KnownRun]] = {}
        self.by_task: dict[str, list[KnownRun]] = {}
        self.by_source: dict[tuple[bytes, bytes], list[KnownRun]] = {}
        self.by_folder: dict[str, list[KnownRun]] = {}
        self.by_native: dict[tuple[str, str, str, str], list[KnownRun]] = {}
        self.by_start: dict[tuple[str, str | None, str], list[KnownRun]] = {}
        self.partial: dict[tuple[str, str], list[KnownRun]] = {}
        self.by_repeat: dict[tuple[str, str, str], list[KnownRun]] = {}
        self._lowest: dict[tuple[str, str], int] = {}

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
                    is_partial=not row[6] and row[14] in PARTIAL,
                    started=row[15],
                ),
                (row[11], row[12]),
            )
        for key, *report in db.execute(load("samework.ingest", "queries/known_reports")).fetchall():
            made.reports.setdefault(key, set()).add((report[0], report[1], report[2]))
        for key, name, value in db.execute(load("samework.ingest", "queries/known_outcomes")).fetchall():
            made.outcomes.setdefault(key, {})[name] = value
        made.unsettled.update(key for key, held in made.partial.items() if _share_a_repeat(held, made.by_arm[key]))
        made.rulesets.update(key for (key,) in db.execute("SELECT ruleset_id FROM main.ruleset").fetchall())
        return made

    def add(self, run: KnownRun, source: tuple[bytes, bytes]) -> None:
        """Remember a run of a source (sha256, settings)."""
        run.source = source
        self.by_id[run.run_id] = run
        self.by_repeat.setdefault((run.task, run.arm, run.repeat), []).append(run)
        self.by_content.setdefault((run.task, run.arm, run.content), []).append(run)
        self.by_arm.setdefault((run.task, run.arm), []).append(run)
        self.by_task.setdefault(run.task, []).append(run)
        self.by_source.setdefault(source, []).append(run)
        self.by_folder.setdefault(folder_of(run.path), []).append(run)
        if run.native_id is not None and run.has_trajectory:
            self.by_native.setdefault((run.task, run.arm, run.layout, run.native_id), []).append(run)
            if run.started is not None:
                self.by_start.setdefault((run.layout, run.native_id, run.started), []).append(run)
        if run.is_partial:
            self.partial.setdefault((run.task, run.arm), []).append(run)

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
            self.by_source.get(run.source, []) if run.source is not None else [],
            self.by_native.get((run.task, run.arm, run.layout, run.native_id or ""), []),
            self.by_start.get((run.layout, run.native_id, run.started or ""), []),
            self.partial.get((run.task, run.arm), []),
        ):
            if run in held:
                held.remove(run)
        self._free(run)
        self.outcomes.pop(run.key, None)
        self.reports.pop(run.key, None)

    def rename(self, run: KnownRun, repeat: str) -> None:
        """Give a run another repeat, and the id that follows from it."""
        self.by_id.pop(run.run_id, None)
        self._free(run)
        run.repeat = repeat
        run.run_id = run_identity(run.task, run.arm, repeat, run.content)
        self.by_id[run.run_id] = run
        self.by_repeat.setdefault((run.task, run.arm, repeat), []).append(run)

    def _free(self, run: KnownRun) -> None:
        key = (run.task, run.arm)
        self.by_repeat[*key, run.repeat].remove(run)
        if run.repeat.isdecimal() and key in self._lowest:
            self._lowest[key] = min(self._lowest[key], max(int(run.repeat), 1))

    def same_content(self, task: str, arm: str, content: bytes, repeat: str | None, nth: int) -> KnownRun | None:
        """The run that holds this content already: of that repeat where one is given, else the nth such run."""
        held = self.by_content.get((task, arm, content), [])
        if repeat is not None:
            return next((run for run in held if run.repeat == repeat), None)
        return held[nth] if nth < len(held) else None

    def same_session(
        self, task: str, arm: str, repeat: str | None, layout: str, native_id: str | None
    ) -> list[KnownRun]:
        """Runs with a trajectory that may be this session: of the tool's own id, else of the repeat that is named."""
        if native_id is not None:
            held = self.by_native.get((task, arm, layout, native_id), [])
            return [run for run in held if repeat in {None, run.repeat}]
        held = [] if repeat is None else self.by_repeat.get((task, arm, repeat), [])
        return [run for run in held if run.has_trajectory and run.layout == layout and run.native_id is None]

    def begun_with(self, layout: str, native_id: str | None, started: str | None) -> list[KnownRun]:
        """Runs with a trajectory, of any task and arm, that a tool knows by this id and that began at this time."""
        return [] if started is None else list(self.by_start.get((layout, native_id, started), []))

    def free_repeat(self, task: str, arm: str) -> str:
        """The smallest ordinal from 1 that no run of the task and arm has."""
        ordinal = self._lowest.get((task, arm), 1)
        while self.by_repeat.get((task, arm, str(ordinal))):
            ordinal += 1
        self._lowest[task, arm] = ordinal
        return str(ordinal)


def _share_a_repeat(predictions: list[KnownRun], runs: list[KnownRun]) -> bool:
    """Whether a prediction has the repeat of a trajectory: an ingest ended before it was settled whose it is."""
    held = {run.repeat for run in predictions}
    return any(run.has_trajectory and run.repeat in held for run in runs)


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
