"""Add artifacts that the user names to runs that are stored: a tree, a patch, test reports, a manifest, invariants.

What a run has already is not overwritten by weaker evidence; a tree that contradicts a recorded one of the same
strength is refused. Each attached file is kept like any source.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from samework.canon.arguments import canonical_value
from samework.decode.archive import expanded
from samework.decode.document import read_bytes, read_document_checked
from samework.decode.source import FileSource
from samework.errors import InputError, NotFound, UsageError
from samework.ingest import artifacts, bundle_files
from samework.ingest.assembly import Report
from samework.ingest.detect import detect
from samework.ingest.faults import records
from samework.ingest.identity import SourceIdentity
from samework.ingest.index import Index
from samework.ingest.landing import Landing
from samework.ingest.layouts import Pattern, matching_units
from samework.ingest.manifest_file import manifest_facts
from samework.ingest.pipeline import ingest_units
from samework.ingest.rows import RunRows, row_columns
from samework.ingest.settings import Given, IngestSettings
from samework.ingest.stored import StoredSource
from samework.ingest.trees import Trees, user_path
from samework.model.records import OutcomeRecord, PatchRecord, SuiteReport
from samework.model.results import SnapshotResult, SourceOutcome
from samework.model.words import Grade
from samework.store.sql import load
from samework.store.write import BatchWriter
from samework.text import shortened, storable, visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from samework.ingest.index import KnownRun
    from samework.ingest.settings import Progress
    from samework.model.reader import Source
    from samework.model.results import IngestSummary
    from samework.store.connection import StoreHandle
    from samework.store.journal import Act


class Attachment(msgspec.Struct, frozen=True):
    """What to add to one run. Paths are the user's own and may lie anywhere.

    worktree; or repo with commit, or with base and patch (without patch: the one recorded). tests: reports.
    invariants: predicate to result, None for unknown. suite / env: of the reports.
    """

    worktree: Path | None = None
    repo: Path | None = None
    commit: str | None = None
    base: str | None = None
    patch: Path | None = None
    tests: tuple[Path, ...] = ()
    manifest: Path | None = None
    invariants: dict[str, bool | None] = {}
    suite: str | None = None
    env: str | None = None


def attach_matching(
    handle: StoreHandle,
    pattern: str,
    settings: IngestSettings,
    *,
    start: Path | None = None,
    progress: Progress | None = None,
) -> IngestSummary:
    """Attach the files that fit a pattern to the runs that the fields of their paths name.

    Args:
        handle: open for writing.
        pattern: such as `logs/{task}/report.json`, looked for below `start` where it is relative.
        settings: task, arm, repeat, suite and env where the pattern has no such field.
        start: the present directory where None.
        progress: as in `pipeline.ingest`.

    Raises: UsageError: the pattern has no field or an unknown one. InputError: no file fits it. StoreError.
    """
    found = matching_units(Pattern(pattern), start or Path())
    if not found:
        raise InputError(f"no file fits {shortened(pattern, 200)!r}", code="no-such-path")
    return ingest_units(handle, found, settings, progress)


class Kept(msgspec.Struct, frozen=True):
    """An attachment of earlier: the digests of its files by path, and the tree that was taken."""

    files: dict[str, str] = {}
    tree: SnapshotResult | None = None


def attach(
    handle: StoreHandle, run_key: int, attachment: Attachment, kept: Kept | None = None, index: Index | None = None
) -> list[SourceOutcome]:
    """Add artifacts to one run; all of them land, or none.

    Args:
        handle: open for writing.
        run_key: the run.
        attachment: what to add.
        kept: add again what was added before.
        index: of the store as it is, where the caller has it; not to be used any more once this raised.

    Raises: NotFound: no such run. UsageError: the forms of a tree are mixed or incomplete. InputError: a file cannot
    be read, a tree cannot be taken or contradicts the recorded one. StoreError.
    """
    _check_forms(attachment)
    with BatchWriter(handle) as writer:
        writer.begin()
        work = _Attaching(writer, run_key, attachment, kept, index or Index.of(handle.db))
        work.run_all()
        writer.commit(work.source_rows, [work.act()])
    return work.outcomes


def _check_forms(asked: Attachment) -> None:
    if asked.worktree is not None and (asked.repo or asked.commit or asked.base):
        raise UsageError("a tree is a working tree, or a repository with a commit or a base: not both")
    if asked.repo is None and asked.commit is not None:
        raise UsageError("--commit needs --repo")
    if asked.repo is not None and (asked.commit is None) == (asked.base is None):
        raise UsageError("--repo needs --commit, or --base with the patch")


class _Attaching:
    """One attachment to one run, in the open batch."""

    def __init__(self, writer: BatchWriter, run_key: int, asked: Attachment, kept: Kept | None, index: Index) -> None:
        self.handle = handle = writer.handle
        self.writer = writer
        self.asked = asked
        self.index = index
        self.trees = Trees(handle)
        run = next((run for run in index.by_id.values() if run.key == run_key), None)
        if run is None:
            raise NotFound(f"no run has the number {run_key}", code="no-run")
        self.found: KnownRun = run
        self._kept = kept
        self._files: dict[str, str] = {}
        self._tree_taken: SnapshotResult | None = None
        self.outcomes: list[SourceOutcome] = []
        self.source_rows: list[dict[str, object]] = []

    def run_all(self) -> None:
        """Each part that was asked for, in order: patch before the tree that needs it."""
        asked = self.asked
        if asked.patch is not None:
            self._file(asked.patch, "patch", self._patch)
        if asked.worktree is not None or asked.repo is not None:
            self._tree()
        for path in asked.tests:
            self._file(path, "tests", self._tests)
        if asked.manifest is not None:
            self._file(asked.manifest, "manifest", self._manifest)
        for name, value in asked.invariants.items():
            row: dict[str, list[object]] = {"run_key": [self.found.key], "name": [storable(name)], "value": [value]}
            self.writer.replace("run_invariant", row)
            self._note(f"invariant {name}", "new", None)

    def act(self) -> Act:
        """What to do to attach the same again from the bytes that are kept."""
        asked = self.asked
        return {
            "do": "attach",
            "run": self.found.run_id,
            "asked": msgspec.to_builtins(asked, enc_hook=str),
            "kept": msgspec.to_builtins(Kept(self._files, self._tree_taken)),
        }

    def _stored(self, path: Path) -> Source:
        if self._kept is not None:
            return StoredSource(str(path), self._kept.files.get(str(path), ""), self.handle.sources)
        return FileSource(user_path(path))

    def _note(self, path: str, status: str, format_name: str | None, message: str | None = None) -> None:
        self.outcomes.append(SourceOutcome(visible(path), status, format_name, (self.found.run_id,), message))

    def _file(self, path: Path, role: str, add: Callable[[Source, Landing], tuple[str, bool]]) -> None:
        """Keep a file, and add what it holds; its source row names the run that it was attached to."""
        stored = self._stored(path)
        digest, n_bytes = bundle_files.hashed(stored)
        self._files[str(path)] = digest
        given = Given.of(suite=self.asked.suite, env=self.asked.env)
        settings = canonical_value({"attach": self.found.run_id, "role": role, **_said(given)})
        settings_sha256 = hashlib.sha256(settings.encode()).digest()
        sha256 = bytes.fromhex(digest)
        identity = SourceIdentity(sha256, sha256, n_bytes, str(path), "", role, given)
        landing = Landing(self.writer, self.index, self.trees, identity, stored)
        format_name, is_new = add(stored, landing)
        if (sha256, settings_sha256) not in self.index.sources:
            with stored.open() as stream:
                self.handle.sources.put(stream)
            self.index.sources[sha256, settings_sha256] = "ingested"
            self.source_rows.append(
                {
                    "source_sha256": sha256,
                    "settings_sha256": settings_sha256,
                    "path": storable(str(path)),
                    "format": format_name,
                    "n_bytes": n_bytes,
                    "status": "ingested",
                    "settings": settings,
                }
            )
        message = "; ".join(landing.notes) or None
        self._note(str(path), "new" if is_new else "known", format_name, message)

    def _tests(self, stored: Source, landing: Landing) -> tuple[str, bool]:
        source = expanded(stored)
        reader = detect(source)
        is_new, n_reports = False, 0
        for record in records(reader, source):
            if isinstance(record, SuiteReport | OutcomeRecord) and record.task not in {None, self.found.task}:
                continue
            if isinstance(record, SuiteReport):
                n_reports += 1
                task = self.found.task.encode("utf-8", "surrogatepass")
                digest = hashlib.sha256(landing.identity.content_sha256 + task).digest()
                layout = "swe-bench" if record.format == "swebench_report" else self.found.layout
                is_new |= landing.report(self.found, Report(record, digest), layout)
            elif isinstance(record, OutcomeRecord):
                n_reports += 1
                is_new |= landing.outcome(self.found, record, stored.path)
        if not n_reports:
            raise InputError(
                f"no test report for the task {shortened(self.found.task, 80)} ({reader.name})",
                place=visible(stored.path),
                code="no-report",
            )
        return reader.name, is_new

    def _manifest(self, stored: Source, landing: Landing) -> tuple[str, bool]:
        """Fields that the run lacks, or knows only to be missing, are added; recorded ones are kept."""
        value, findings = read_document_checked(stored)
        landing.notes.extend(findings)
        query = load("samework.ingest", "queries/run_manifest")
        held = {str(row[0]): row[1] for row in self.writer.read(query, {"run_key": self.found.key})}
        rows = RunRows()
        artifacts.manifest_rows(rows, list(manifest_facts(value, stored.path)))
        columns = row_columns("manifest_field")
        added = 0
        for row in rows.table("manifest_field"):
            fact = dict(zip(columns, row, strict=True))
            name = str(fact["field"])
            if name in held and (held[name] is not None or fact["value"] is None):
                if held[name] != fact["value"]:
                    landing.notes.append(f"{shortened(name, 80)} is recorded otherwise; the record is kept")
                continue
            self.writer.replace("manifest_field", {"run_key": [self.found.key], **{k: [v] for k, v in fact.items()}})
            added += 1
        return "manifest", added > 0

    def _patch(self, stored: Source, landing: Landing) -> tuple[str, bool]:
        record = PatchRecord(read_bytes(stored), base_commit=self.asked.base)
        sha256 = artifacts.patch_sha256(record)
        if self.found.patch_sha256 == sha256:
            return "patch", False
        if self.found.patch_sha256 is not None:
            raise InputError("the run has another patch recorded", place=visible(stored.path), code="patch-differs")
        rows = RunRows()
        self.writer.delete("patch", "run_key", [self.found.key])
        artifacts.patch_rows(rows, record, self.asked.base or self.found.base_commit)
        rows.flush(self.writer, self.found.key)
        self.found.patch_sha256 = sha256
        del landing
        return "patch", True

    # Trees

    def _tree(self) -> None:
        tree, place = self._taken()
        self._tree_taken = tree
        if tree.oid is None:
            raise InputError(tree.null_reason or "no tree can be taken", place=visible(place), code="no-tree")
        query = load("samework.ingest", "queries/run_tree")
        for oid, grade in self.writer.read(query, {"run_key": self.found.key}):
            if oid == tree.oid and Grade(str(grade)).strength >= tree.grade.strength:
                self._note(place, "known", tree.policy)
                return
            if oid is not None and oid != tree.oid and Grade(str(grade)).strength >= tree.grade.strength:
                raise InputError(
                    f"the run has another tree recorded ({oid}, {grade})", place=visible(place), code="tree-differs"
                )
        self.writer.delete("run_tree", "run_key", [self.found.key])
        rows = RunRows()
        artifacts.tree_row(rows, tree)
        rows.flush(self.writer, self.found.key)
        self._note(place, "new", tree.policy)

    def _taken(self) -> tuple[SnapshotResult, str]:
        asked = self.asked
        if self._kept is not None and self._kept.tree is not None:
            return self._kept.tree, str(asked.worktree or asked.repo)
        if asked.worktree is not None:
            return self.trees.worktree(user_path(asked.worktree), asked.base), str(asked.worktree)
        repo = user_path(asked.repo or Path())
        if asked.commit is not None:
            return self.trees.commit(repo, asked.commit), str(repo)
        patch = asked.patch.read_bytes() if asked.patch is not None else self._recorded_patch()
        return self.trees.patch(repo, asked.base or "", patch), str(repo)

    def _recorded_patch(self) -> bytes:
        """The run's own patch, if its stored text is still exactly the bytes that were recorded."""
        rows = self.writer.read(load("samework.ingest", "queries/run_patch"), {"run_key": self.found.key})
        if not rows:
            raise UsageError("the run has no patch recorded: give one with --patch", code="no-patch")
        digest, text = rows[0]
        data = str(text).encode()
        if hashlib.sha256(data).digest() != digest:
            raise InputError("the recorded patch is no UTF-8 text: give its file with --patch", code="no-patch")
        return data


def _said(given: Given) -> dict[str, str]:
    return {name: value for name in ("suite", "env") if (value := getattr(given, name)) is not None}
