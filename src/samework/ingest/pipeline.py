"""From paths to a store: each source lands whole or not at all, a known one not twice.

Small sources share a transaction; a large one streams into its own. Killed at any moment, the store holds whole
sources, and the same command again brings the rest. A bad source is a line of the summary; a broken store stops.
"""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from samework.canon.rulesets import DEFAULT_RULESETS
from samework.errors import InputError, StoreError, UnknownFormat
from samework.ingest import bundle_files, joining
from samework.ingest.advice import advice
from samework.ingest.ahead import Ahead
from samework.ingest.index import Index
from samework.ingest.landing import Landing
from samework.ingest.layouts import Unit, units
from samework.ingest.loose import join_loose
from samework.ingest.pace import bulk_pace
from samework.ingest.reading import Reading
from samework.ingest.registry import REPORTS
from samework.ingest.settings import IngestSettings
from samework.ingest.sources import identified, refuse_changed, size_of, state_of
from samework.ingest.trees import Trees
from samework.model.results import IngestSummary, SourceOutcome
from samework.store.files import remedy
from samework.store.write import BatchWriter
from samework.text import shortened, storable, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from samework.ingest.ahead import Read
    from samework.ingest.identity import SourceIdentity
    from samework.ingest.loose import Joined
    from samework.ingest.settings import Progress
    from samework.ingest.sources import Parts
    from samework.model.reader import Reader, Source
    from samework.model.results import SnapshotResult
    from samework.store.connection import StoreHandle
    from samework.store.journal import Act

_MAX_BATCH_SOURCES = 500


def ingest(
    handle: StoreHandle,
    paths: Iterable[Path | str],
    settings: IngestSettings | None = None,
    progress: Progress | None = None,
) -> IngestSummary:
    """Read files and directories into a store.

    Args:
        handle: open for writing.
        paths: files or directories.
        settings: what the user says beyond what the sources do.
        progress: called with (done bytes, total bytes, label).

    Returns:
        What became of each source.

    Raises:
        InputError: none of the paths exists. UsageError: a layout or format is not known. StoreError: nothing of the
        open batch is stored, all batches before it are.
    """
    settings = settings or IngestSettings()
    return ingest_units(handle, units([Path(path) for path in paths], settings), settings, progress)


def ingest_units(
    handle: StoreHandle,
    found: list[Unit],
    settings: IngestSettings,
    progress: Progress | None = None,
    *,
    trees: Mapping[str, SnapshotResult] | None = None,
    is_whole: bool = True,
) -> IngestSummary:
    """Read sources that were found already; as `ingest`.

    trees: those taken before, instead of taking them anew. is_whole: these are all that the user named; else
    predictions that wait for their run go on waiting.
    """
    began = time.monotonic()
    with bulk_pace(), BatchWriter(handle) as writer, ThreadPoolExecutor(2, thread_name_prefix="sources") as keepers:
        session = _Session(writer, keepers, settings, progress, Trees(handle, trees))
        session.total_bytes = sum(size_of(unit) for unit in found if unit.error is None)
        with Ahead(found, settings) as ahead:
            for unit, read in ahead:
                session.take(unit, read)
        if is_whole:
            session.settle()
        session.commit()
    return session.summary(time.monotonic() - began)


class _Session:
    """One ingest: the open batch, what is known, what became of each source."""

    def __init__(
        self,
        writer: BatchWriter,
        keepers: ThreadPoolExecutor,
        settings: IngestSettings,
        progress: Progress | None,
        trees: Trees,
    ) -> None:
        self.handle = handle = writer.handle
        self.writer = writer
        self.keepers = keepers
        self.settings = settings
        self.progress = progress
        self.trees = trees
        self.index = Index.of(handle.db)
        self.outcomes: list[SourceOutcome] = []
        self.total_bytes = self.done_bytes = self.read_bytes = 0
        self.n_joined = 0
        self._rows: list[dict[str, object]] = []
        self._acts: list[Act] = []
        self._keeping: list[tuple[Future[str], str, str]] = []
        self._batch_bytes = 0
        self._is_open = False

    # Sources

    def take(self, unit: Unit, read: Read | None) -> None:
        """Ingest one source; what is wrong with it is its outcome. read: what a worker read of it."""
        n_bytes = size_of(unit) if unit.error is None else 0
        self.tick(unit, 0)
        try:
            if unit.error is not None:
                raise unit.error
            if unit.reader is None:
                raise UnknownFormat("no reader knows this", place=visible(unit.path))
            self._take_known_reader(unit, unit.reader, n_bytes, read)
        except InputError as error:
            self._refused(unit, error)
        self.done_bytes += n_bytes
        self.tick(unit, 0)

    def _take_known_reader(self, unit: Unit, reader: Reader, n_bytes: int, read: Read | None) -> None:
        is_large = n_bytes > self.settings.batch_bytes
        before = state_of(unit)
        if read is not None and read.state != before:
            read = None  # it was written to since a worker read it
        identity, parts = (read.identity, read.parts) if read is not None else self._identify(unit, reader)
        is_known = self.index.sources.get(identity.key) == "ingested"
        if is_known and reader.name not in REPORTS:
            runs = self.index.by_source.get(identity.key, [])
            for run in runs:
                self.index.met(run, identity.root, identity.path, is_folder=identity.is_folder)
            self._note(unit, "known", tuple(run.run_id for run in runs))
            return
        if is_large:
            self.commit()
        self._begin()
        if not is_known:
            self._keep(unit, parts)
        try:
            self._read(unit, reader, identity, before, read, is_streaming=is_large, is_known=is_known)
        except InputError:
            if is_large:
                self._roll_back()
            raise
        self._batch_bytes += n_bytes
        if is_large or self._batch_bytes >= self.settings.batch_bytes or len(self._rows) >= _MAX_BATCH_SOURCES:
            self.commit()

    def _read(
        self,
        unit: Unit,
        reader: Reader,
        identity: SourceIdentity,
        before: object,
        read: Read | None,
        *,
        is_streaming: bool,
        is_known: bool,
    ) -> None:
        landing = Landing(self.writer, self.index, self.trees, identity, unit.source)

        def tick(offset: int) -> None:
            self.tick(unit, offset)

        reading = Reading(
            unit, reader, landing, is_streaming=is_streaming, tick=tick, check=lambda: refuse_changed(unit, before)
        )
        if read is not None:
            reading.take(read.runs, read.loose, read.findings)
        else:
            reading.run()
        loose = self._joined(landing, reading)
        self._acts.append(self._act(unit, identity))
        if not is_known:
            for finding in reading.findings:
                landing.defect(finding, None)
            self._source_row(identity, landing, "ingested", None)
        notes = list(landing.notes)
        if loose is not None and loose.unmatched:
            notes.append(f"{len(loose.unmatched)} of tasks without a run here")
        if loose is not None and loose.ambiguous:
            notes.append(
                f"{len(loose.ambiguous)} that fit several runs, not joined: name the run with `samework attach`"
            )
        self._landed(unit, landing, notes, len(reading.findings))

    def settle(self) -> None:
        """Find out whose the predictions are that wait for the end."""
        if not self.index.unsettled:
            return
        self._begin()
        self.n_joined += sum(run is not None for _, run in joining.settle(self.writer, self.index))
        self._acts.append({"do": "settle"})

    def _act(self, unit: Unit, identity: SourceIdentity) -> Act:
        """What to do to read this source again from the bytes that are kept."""
        return {
            "do": "ingest",
            "sha256": identity.sha256.hex(),
            "is_files": unit.stored.is_dir,
            "path": unit.path,
            "root": identity.root,
            "named": unit.named,
            "format": identity.format,
            "given": msgspec.to_builtins(identity.given),
            "trees": msgspec.to_builtins(self.trees.drain()),
        }

    @staticmethod
    def _joined(landing: Landing, reading: Reading) -> Joined | None:
        if not reading.loose:
            return None
        try:
            return join_loose(landing, reading.loose)
        except InputError as error:
            if not (landing.new or landing.known or landing.incomplete or landing.joined):
                raise
            landing.notes.append(error.message)
            return None

    def _landed(self, unit: Unit, landing: Landing, notes: list[str], n_findings: int) -> None:
        joined = landing.joined
        self.n_joined += len(joined)
        if joined:
            notes.insert(0, f"joined to {len(joined)} run{'s' if len(joined) > 1 else ''}")
        if n_findings:
            notes.append(f"{n_findings} places could not be read")
        n_findings += landing.n_findings
        message = shortened("; ".join(notes), 400) if notes else None
        is_told = False
        for status, runs in (
            ("new", landing.new),
            ("incomplete", landing.incomplete),
            ("known", [run for run in landing.known if run not in joined]),
        ):
            if runs:
                said = (None, 0) if is_told else (message, n_findings)
                self._note(unit, status, tuple(dict.fromkeys(runs)), *said)
                is_told = True
        if not is_told:
            self._note(unit, "known" if landing.n_added == 0 and joined else "new", (), message, n_findings)

    # Identity and bytes

    def _identify(self, unit: Unit, reader: Reader) -> tuple[SourceIdentity, Parts]:
        return identified(unit, reader, self.settings, worktree_oid=self._worktree_oid)

    def _worktree_oid(self, source: Source) -> str | None:
        """The tree of a bundle's working tree: it is part of what the bundle is, though no file of it is."""
        record = bundle_files.worktree(source)
        tree = None if record is None else self.trees.recorded(record, source, None)
        return None if tree is None else tree.oid

    def _keep(self, unit: Unit, parts: Parts) -> None:
        for source, digest in parts:
            if not self.handle.sources.has(digest):
                self._keeping.append((self.keepers.submit(self._put, source), digest, unit.path))

    def _put(self, source: Source) -> str:
        with source.open() as stream:
            return self.handle.sources.put(stream)

    def _source_row(self, identity: SourceIdentity, landing: Landing | None, status: str, reason: str | None) -> None:
        row: dict[str, object] = {
            "source_sha256": identity.sha256,
            "settings_sha256": identity.given.sha256,
            "path": storable(identity.path),
            "format": identity.format,
            "n_bytes": identity.n_bytes,
            "status": status,
            "reason": reason,
            "n_runs": 0 if landing is None else len(landing.new) + len(landing.incomplete),
            "n_events": 0 if landing is None else landing.n_events,
            "settings": identity.given.text,
        }
        if identity.key in self.index.sources:
            self.writer.replace(
                "source", {name: [value] for name, value in {**row, "batch": self.writer.batch}.items()}
            )
        else:
            self._rows.append(row)
        self.index.sources[identity.key] = status

    # Batches

    def _begin(self) -> None:
        if self._is_open:
            return
        self.writer.begin()
        self._is_open = True
        fresh = [ruleset for ruleset in DEFAULT_RULESETS.values() if ruleset.id not in self.index.rulesets]
        if fresh:
            self.writer.append(
                "ruleset",
                {
                    "ruleset_id": [ruleset.id for ruleset in fresh],
                    "facet": [ruleset.facet for ruleset in fresh],
                    "name": [ruleset.name for ruleset in fresh],
                    "rules": [ruleset.text for ruleset in fresh],
                },
            )
            self.index.rulesets.update(ruleset.id for ruleset in fresh)

    def commit(self) -> None:
        """Make the open batch durable: first the bytes of its sources, then its rows."""
        try:
            for future, digest, path in self._keeping:
                if future.result() != digest:
                    raise StoreError(
                        "the file changed while it was kept; nothing of the open batch is stored",
                        place=visible(path),
                        hint="Repeat the command when its writer is done.",
                    )
        except OSError as error:
            raise StoreError(
                f"the bytes of a source could not be kept: {error.strerror or error}",
                effect="Nothing of the open batch is stored; all batches before it are.",
                hint=" ".join(filter(None, (remedy(error), "Then repeat the command."))),
            ) from error
        self._keeping.clear()
        if self._is_open:
            self.writer.commit(self._rows, self._acts)
        self._rows, self._acts, self._is_open, self._batch_bytes = [], [], False, 0

    def _roll_back(self) -> None:
        for future, _, _ in self._keeping:
            future.cancel()
        self._keeping.clear()
        self.writer.rollback()
        self._rows, self._acts, self._is_open, self._batch_bytes = [], [], False, 0
        self.index = Index.of(self.handle.db)

    # Telling

    def tick(self, unit: Unit, offset: int) -> None:
        """Tell how far it is."""
        if self.progress is not None:
            self.progress(min(self.done_bytes + offset, self.total_bytes), self.total_bytes, visible(unit.path))

    def _note(
        self, unit: Unit, status: str, runs: tuple[str, ...], message: str | None = None, n_findings: int = 0
    ) -> None:
        name = unit.reader.name if unit.reader is not None else None
        self.outcomes.append(SourceOutcome(visible(unit.path), status, name, runs, message, n_findings=n_findings))

    def _refused(self, unit: Unit, error: InputError) -> None:
        is_stray = not unit.named and isinstance(error, UnknownFormat)
        status = "skipped" if is_stray or error.code == "outside-layout" else "refused"
        name = unit.reader.name if unit.reader is not None else None
        self.outcomes.append(
            SourceOutcome(
                visible(unit.path),
                status,
                name,
                (),
                error.message,
                code=error.code,
                place=error.place,
                hint=advice(error),
            )
        )
        if status == "refused" and unit.reader is not None and error.code not in _PASSING:
            self._remember_refusal(unit, unit.reader, error)

    def _remember_refusal(self, unit: Unit, reader: Reader, error: InputError) -> None:
        try:
            identity, _ = self._identify(unit, reader)
        except InputError:  # its bytes cannot be had, so there is nothing to remember it by
            return
        if identity.key not in self.index.sources:
            self._begin()
            self._source_row(identity, None, "refused", storable(error.message))

    def summary(self, seconds: float) -> IngestSummary:
        """Counts over all outcomes; a run that another took in meanwhile is not counted."""
        n_runs = {
            status: sum(run in self.index.by_id for each in self.outcomes if each.status == status for run in each.runs)
            for status in ("new", "known", "incomplete")
        }
        n_files = {status: sum(each.status == status for each in self.outcomes) for status in ("refused", "skipped")}
        return IngestSummary(
            tuple(self.outcomes),
            n_new=n_runs["new"],
            n_known=n_runs["known"],
            n_incomplete=n_runs["incomplete"],
            n_joined=self.n_joined,
            n_refused=n_files["refused"],
            n_skipped=n_files["skipped"],
            n_bytes=self.done_bytes,
            seconds=seconds,
        )


_PASSING = frozenset({"changed-while-read"})
