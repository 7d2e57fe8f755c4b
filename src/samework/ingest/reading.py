"""Lead the records of one source to the runs they belong to, and these to the batch.

Refuses what a reader refuses; damage inside a run is the run's, damage between runs is the source's.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from samework.decode.archive import expanded
from samework.decode.document import read_bytes, read_document_checked
from samework.errors import InputError
from samework.ingest import bundle_files
from samework.ingest.assembly import Findings, Report, RunAssembly
from samework.ingest.detect import detect
from samework.ingest.faults import records
from samework.ingest.identity import run_facts
from samework.ingest.manifest_file import manifest_facts
from samework.model.events import Event
from samework.model.records import (
    Damage,
    Include,
    OutcomeRecord,
    PatchRecord,
    RunEnd,
    RunStart,
    SuiteReport,
)
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from samework.ingest.identity import RunIdentity
    from samework.ingest.landing import Landing
    from samework.ingest.layouts import Unit
    from samework.model.reader import Reader, Source
    from samework.model.records import Record

_TICK_EVENTS = 1024


class Reading:
    """Reads one source into a landing.

    tick: told the byte reached. check: raises where the source changed while it was read.
    is_streaming: rows are written as they come, for the source has a transaction of its own; otherwise nothing is
    written before the source has been read to its end.
    """

    def __init__(
        self,
        unit: Unit,
        reader: Reader,
        landing: Landing,
        *,
        is_streaming: bool,
        tick: Callable[[int], None],
        check: Callable[[], None],
    ) -> None:
        self.unit = unit
        self.reader = reader
        self.landing = landing
        self.is_streaming = is_streaming
        self.tick = tick
        self.check = check
        self.loose: list[SuiteReport | OutcomeRecord] = []
        self.findings = Findings()
        self._done: list[tuple[RunAssembly, RunIdentity]] = []
        self._run: RunAssembly | None = None
        self._facts: RunIdentity | None = None
        self._is_skipping = False
        self._ordinal = 0

    def run(self) -> None:
        """Read the source and land what it holds.

        Raises: InputError: nothing can be read, or a run cannot be kept; nothing was written unless streaming.
        """
        for assembly, facts in self.gathered():
            self.landing.run(assembly, facts)

    def gathered(self) -> list[tuple[RunAssembly, RunIdentity]]:
        """Read the source to its end; the runs that were not landed on the way. Raises as `run`."""
        for record in records(self.reader, self.unit.source):
            if type(record) is Event:
                self._event(record)
            else:
                self._other(record)
        self._finish_run()
        self.check()
        return self._done

    def take(
        self,
        runs: list[tuple[RunAssembly, RunIdentity]],
        loose: list[SuiteReport | OutcomeRecord],
        findings: Findings,
    ) -> None:
        """Land what another process gathered of this source. Raises as `run`."""
        self.loose, self.findings = loose, findings
        self.check()
        known = [self.landing.known_run(facts, assembly.start.run_id) for assembly, facts in runs]
        for found, (assembly, facts) in zip(known, runs, strict=True):
            if found is None:
                self.landing.run(assembly, facts)
            else:
                self.landing.note_known(found)

    def _event(self, event: Event) -> None:
        run = self._run
        if run is None:
            if self._is_skipping:
                return
            self._start(RunStart())
            run = self._run
            if run is None:
                return
        fold = run.fold
        if fold is None:
            fold = run.ensure_fold()
        fold.add(event)
        if fold.n_events % _TICK_EVENTS == 0:
            self.tick(event.offset or 0)
        if self.is_streaming and run.is_large:
            self._flush(run)

    def _flush(self, run: RunAssembly) -> None:
        if run.key is None:
            run.key = self.landing.writer.next_key("run")
        run.rows.flush(self.landing.writer, run.key)

    def _other(self, record: Record) -> None:
        if isinstance(record, RunStart):
            self._finish_run()
            self._start(record)
        elif isinstance(record, RunEnd):
            if self._run is not None:
                self._run.merge_end(record)
            self._finish_run()
            self._is_skipping = False
        elif self._run is not None:
            self._within(self._run, record)
        elif self._is_skipping:
            return
        elif isinstance(record, Damage):
            self.findings.note(self.unit.path, record)
        elif isinstance(record, SuiteReport | OutcomeRecord):
            self.loose.append(record)
        elif isinstance(record, PatchRecord):
            self._start(RunStart(task=record.task, arm=record.arm, base_commit=record.base_commit, is_partial=True))
            if self._run is not None:
                self._run.other(record)
            self._finish_run()
            self._is_skipping = False

    def _start(self, start: RunStart) -> None:
        facts = run_facts(start, self.landing.identity, self._ordinal)
        self._ordinal += 1
        known = self.landing.known_run(facts, start.run_id)
        if known is not None:
            self.landing.note_known(known)
            self._is_skipping = True
            return
        self._facts = facts
        self._run = RunAssembly(start, self.reader.name, self.unit.path)

    def _finish_run(self) -> None:
        run, facts = self._run, self._facts
        self._run = self._facts = None
        if run is None or facts is None:
            return
        if self.is_streaming:
            self.landing.run(run, facts)
        else:
            self._done.append((run, facts))

    def _within(self, run: RunAssembly, record: Record) -> None:
        if isinstance(record, Damage):
            run.damage(record)
        elif isinstance(record, SuiteReport):
            digest = hashlib.sha256(self.landing.identity.content_sha256 + str(len(run.reports)).encode()).digest()
            run.reports.append(Report(record, digest))
        elif isinstance(record, Include):
            self._include(run, record)
        else:
            run.other(record)

    # Files of a bundle

    def _include(self, run: RunAssembly, include: Include) -> None:
        """Read a file of the source with its own reader into the run. What is missing or damaged is a finding."""
        try:
            child = self.unit.source.child(include.path)
            if child is None:
                if not include.optional:
                    taints = include.role == "transcript"
                    reason = f"the file {shortened(include.path, 120)} ({include.role}) is missing"
                    run.damage(Damage(0, 0, reason, code="missing-file", taints_run=taints))
                return
            self._included(run, include, child)
        except InputError as error:
            reason = f"{include.role}: {error.message}"
            path = f"{self.unit.path}/{include.path}"
            run.damage(Damage(0, 0, reason, code=error.code, taints_run=include.role == "transcript"), path)

    def _included(self, run: RunAssembly, include: Include, child: Source) -> None:
        if include.role == "manifest":
            value, findings = read_document_checked(child)
            for fact in manifest_facts(value, visible(include.path)):
                run.other(fact)
            for finding in findings:
                run.damage(Damage(0, 0, finding, code="odd-json", taints_run=False), child.path)
            return
        if include.role == "patch":
            run.other(PatchRecord(read_bytes(child)))
            return
        source = expanded(child)
        reader = detect(source)
        if include.role == "tests":
            self._tests(run, include, source, reader)
        else:
            self._transcript(run, source, reader)

    def _tests(self, run: RunAssembly, include: Include, source: Source, reader: Reader) -> None:
        digest = bytes.fromhex(bundle_files.hashed(source)[0])
        for ordinal, record in enumerate(records(reader, source)):
            if isinstance(record, SuiteReport):
                report = with_suite(record, include.suite, include.env)
                own = digest if ordinal == 0 else hashlib.sha256(digest + str(ordinal).encode()).digest()
                run.reports.append(Report(report, own))
            elif isinstance(record, Damage):
                run.damage(record, source.path)
            elif isinstance(record, OutcomeRecord):
                run.other(record)

    def _transcript(self, run: RunAssembly, source: Source, reader: Reader) -> None:
        run.format = reader.name
        n_runs = 0
        for record in records(reader, source):
            if isinstance(record, RunStart):
                n_runs += 1
                if n_runs > 1:
                    reason = "the transcript holds several runs; the first is taken"
                    run.damage(Damage(0, 0, reason, code="several-runs"), source.path)
                    return
                run.merge_start(record)
            elif isinstance(record, RunEnd):
                run.merge_end(record)
            elif isinstance(record, Event):
                run.ensure_fold().add(record)
                if self.is_streaming and run.is_large:
                    self._flush(run)
            elif isinstance(record, Damage):
                run.damage(record, source.path)
            elif not isinstance(record, Include):
                self._within(run, record)


def with_suite(report: SuiteReport, suite: str | None, env: str | None) -> SuiteReport:
    """The report under the suite and environment that its bundle or the user declares, where they do."""
    return msgspec.structs.replace(report, suite=suite or report.suite, env=env or report.env)
