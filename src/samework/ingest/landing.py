"""Put what one source says into the open batch: new runs, artifacts joined to known runs, findings.

A run lands once: the same content is known, a patch beside its trajectory joins it whichever of the two came first.
Refuses to guess between several runs: a report that fits more than one is not joined.
"""

from __future__ import annotations

from os.path import commonpath
from typing import TYPE_CHECKING

from samework.errors import InputError
from samework.ingest import artifacts, grown
from samework.ingest.index import KnownRun, run_identity
from samework.ingest.rows import row_columns
from samework.model.records import Damage, OutcomeRecord, PatchRecord
from samework.text import shortened, storable, visible

if TYPE_CHECKING:
    from samework.ingest.assembly import Finding, Report, RunAssembly
    from samework.ingest.identity import RunIdentity, SourceIdentity
    from samework.ingest.index import Index
    from samework.ingest.trees import Trees
    from samework.model.reader import Source
    from samework.model.results import SnapshotResult
    from samework.store.write import BatchWriter

_MOVED = ("test_report", "run_outcome", "run_invariant", "run_tree", "patch", "patch_path", "manifest_field", "defect")
_ONE_ROW = frozenset({"run_tree", "patch"})


class Landing:
    """Lands the runs and artifacts of one source.

    new, known, incomplete, joined: run ids. n_added: artifacts added to runs that were known. n_findings: places, and
    parts that a run names, that could not be used. notes: sentences for the source's line in the summary.
    """

    def __init__(
        self, writer: BatchWriter, index: Index, trees: Trees, identity: SourceIdentity, source: Source
    ) -> None:
        self.writer = writer
        self.index = index
        self.trees = trees
        self.identity = identity
        self.source = source
        self.new: list[str] = []
        self.known: list[str] = []
        self.incomplete: list[str] = []
        self.joined: list[str] = []
        self.notes: list[str] = []
        self.n_events = self.n_added = self.n_findings = 0
        self._nth: dict[tuple[str, str, bytes], int] = {}

    def known_run(self, facts: RunIdentity, run_id: str | None) -> KnownRun | None:
        """The run that holds this content already, None where it is new.

        Raises: InputError: the run's own id belongs to another run.
        """
        if run_id is not None and (held := self.index.by_id.get(run_id)) is not None:
            if held.content != facts.content:
                raise InputError(
                    f"its run_id {shortened(run_id, 80)} belongs to another run",
                    place=visible(self.identity.path),
                    code="run-id-taken",
                )
            return held
        key = (facts.task, facts.arm, facts.content)
        nth = self._nth.get(key, 0)
        self._nth[key] = nth + 1
        return self.index.same_content(*key, facts.repeat, nth)

    def note_known(self, run: KnownRun) -> None:
        """Remember that a run was met again, here."""
        self.index.met(run, self.identity.root, self.identity.path, is_folder=self.identity.is_folder)
        self.known.append(run.run_id)

    def run(self, assembly: RunAssembly, facts: RunIdentity) -> None:
        """Land a run that is not known."""
        self._patch_from_tree(assembly)
        patch = None if assembly.patch is None else artifacts.patch_sha256(assembly.patch)
        if not assembly.has_trajectory and assembly.start.is_partial:
            found = self._run_to_join(facts, assembly.start.arm, patch)
            if found is not None:
                self._join_partial(assembly, found)
                return
        native_id = artifacts.text_or_none(assembly.start.native_id)
        held = self.index.of_native(facts.task, facts.arm, assembly.start.layout, native_id)
        held = [run for run in held if facts.repeat in {None, run.repeat}]
        if (whole := grown.longer(self.writer, held, assembly)) is not None:
            if assembly.key is not None:
                grown.forget(self.writer, assembly.key)
            self.note_known(whole)
            return
        outgrown = grown.shorter(self.writer, held, assembly)
        absorbed = outgrown or self._partial_to_absorb(assembly, facts, patch)
        key = assembly.key if assembly.key is not None else self.writer.next_key("run")
        repeat = facts.repeat
        if repeat is None:
            repeat = absorbed.repeat if absorbed is not None else self.index.free_repeat(facts.task, facts.arm)
        run_id = assembly.start.run_id or run_identity(facts.task, facts.arm, repeat, facts.content)
        known = KnownRun(
            key,
            run_id,
            facts.task,
            facts.arm,
            repeat,
            facts.content,
            has_trajectory=assembly.has_trajectory,
            layout=assembly.start.layout,
            base_commit=assembly.start.base_commit,
            patch_sha256=patch,
            path=self.identity.path,
            root=self.identity.root,
            is_folder=self.identity.is_folder,
            native_id=native_id,
        )
        self._artifacts(assembly, known)
        self.writer.append("run", {name: [value] for name, value in self._run_row(assembly, known).items()})
        self._defects(assembly.findings, key)
        if outgrown is not None:
            self._absorb(outgrown, known, assembly, grown.ATTACHED_TABLES)
            grown.forget(self.writer, outgrown.key)
            self.notes.append(f"run {outgrown.run_id} went on; the longer record stands for it")
        elif absorbed is not None:
            self._absorb(absorbed, known, assembly, _MOVED)
            self.writer.delete("facet_digest", "run_key", [absorbed.key])
            self.writer.delete("run", "run_key", [absorbed.key])
            self.joined.append(known.run_id)
        self.index.add(known, self.identity.key)
        self.n_events += assembly.finish().n_events
        reason = assembly.incomplete_reason
        if reason is not None and not self.incomplete:
            self.notes.append(self._said(assembly, reason))
        elif reason is None and assembly.findings and not self.n_findings:
            self.notes.append(f"not whole: {self._said(assembly, assembly.findings[0].damage.reason)}")
        self.n_findings += len(assembly.findings)
        (self.new if reason is None else self.incomplete).append(run_id)

    def _said(self, assembly: RunAssembly, reason: str) -> str:
        """A reason, after the file of the source that it is about where that is not the source itself."""
        path = next((each.path for each in assembly.findings if each.damage.reason == reason), self.identity.path)
        inner = path.removeprefix(self.identity.path).strip("/")
        place = f"{shortened(inner, 120)}, " if inner and inner != path.strip("/") else ""
        return f"{place}{shortened(reason, 200)}"

    def _run_row(self, assembly: RunAssembly, known: KnownRun) -> dict[str, object]:
        start, end, folded = assembly.start, assembly.end, assembly.finish()
        row: dict[str, object] = {
            name: artifacts.text_or_none(getattr(start, name))
            for name in (
                "agent", "agent_version", "model", "native_id", "parent_native_id", "recorder", "tokenizer", "started",
                "base_commit", "repo",
            )
        }  # fmt: skip
        row |= {name: getattr(known, name) for name in ("run_id", "task", "arm", "repeat", "layout", "has_trajectory")}
        return row | {
            "run_key": known.key,
            "kind": start.kind.value,
            "format": assembly.format,
            "ended": artifacts.text_or_none(end.ended or start.ended),
            "end_reason": end.reason.value,
            "end_detail": artifacts.text_or_none(end.detail),
            "complete": assembly.incomplete_reason is None,
            "incomplete_reason": artifacts.text_or_none(assembly.incomplete_reason),
            "n_events": folded.n_events,
            "n_steps": folded.n_steps,
            "n_calls": folded.n_calls,
            "content_sha256": known.content,
            "source_sha256": self.identity.sha256,
            "settings_sha256": self.identity.given.sha256,
            "last_chain": folded.last_chain,
            "extra": None if not start.extra else artifacts.value_text(start.extra),
        }

    def _artifacts(self, assembly: RunAssembly, known: KnownRun) -> None:
        rows = assembly.rows
        assembly.finish()
        if assembly.patch is not None:
            artifacts.patch_rows(rows, assembly.patch, assembly.start.base_commit)
        if assembly.tree is not None:
            patch = assembly.patch.patch if assembly.patch is not None else None
            tree = self.trees.recorded(assembly.tree, self.source, patch)
            if tree is not None:
                artifacts.tree_row(rows, tree)
                self._note_tree(tree)
        artifacts.manifest_rows(rows, assembly.facts)
        for outcome in assembly.outcomes.values():
            self._outcome(known, outcome, self.identity.path)
        rows.table("run_invariant").extend((storable(each.name), each.value) for each in assembly.invariants.values())
        rows.flush(self.writer, known.key)
        for report in assembly.reports:
            self.report(known, report, known.layout)

    def _note_tree(self, tree: SnapshotResult) -> None:
        if tree.oid is None and tree.null_reason is not None:
            self.n_findings += 1
            self.notes.append(f"no tree: {shortened(tree.null_reason, 200)}")

    def _patch_from_tree(self, assembly: RunAssembly) -> None:
        """A base and a patch are a patch that was submitted, whether their repository is at hand or not."""
        tree = assembly.tree
        if tree is None or tree.patch is None or (assembly.patch is not None and assembly.patch.patch is not None):
            return
        child = self.source.child(tree.patch)
        if child is None:
            reason = f"the patch file {shortened(tree.patch, 120)} is missing"
            assembly.damage(Damage(0, 0, reason, code="missing-file", taints_run=False))
            assembly.patch = PatchRecord(None, base_commit=tree.base, null_reason=reason)
            return
        with child.open() as stream:
            assembly.patch = PatchRecord(stream.read(), base_commit=tree.base)

    # Joining

    def candidates(self, task: str, given_arm: str | None, source_arm: str | None) -> tuple[list[KnownRun], bool]:
        """Runs that artifacts of a task may belong to, and whether they lie beside it in this ingest.

        Runs of the same named path count first, the nearest of them; then those of the same task and arm.
        """
        beside = [
            run
            for run in self.index.by_task.get(task, [])
            if run.root == self.identity.root and (given_arm is None or run.arm == given_arm)
        ]
        if beside:
            distance = {run.run_id: len(_common(run.path, self.identity.path)) for run in beside}
            nearest = max(distance.values())
            return [run for run in beside if distance[run.run_id] == nearest], True
        arm = given_arm or source_arm
        if arm is not None:
            return list(self.index.by_arm.get((task, arm), [])), False
        return list(self.index.by_task.get(task, [])), False

    def _run_to_join(self, facts: RunIdentity, source_arm: str | None, patch: bytes | None) -> KnownRun | None:
        found, is_beside = self.candidates(
            facts.task, facts.arm if facts.is_arm_given else None, source_arm or facts.arm
        )
        found = [run for run in found if run.has_trajectory and run.run_id not in self.joined]
        if facts.repeat is not None:
            found = [run for run in found if run.repeat == facts.repeat]
        equal = [run for run in found if patch is not None and run.patch_sha256 == patch]
        open_ones = [run for run in found if run.patch_sha256 is None or patch is None]
        if equal or open_ones:
            return (equal or open_ones)[0]
        return found[0] if is_beside and len(found) == 1 else None

    def _join_partial(self, assembly: RunAssembly, run: KnownRun) -> None:
        added = 0
        rows = assembly.rows
        patch = assembly.patch
        if patch is not None and patch.patch is not None:
            sha256 = artifacts.patch_sha256(patch)
            if run.patch_sha256 is None:
                self.writer.delete("patch", "run_key", [run.key])
                artifacts.patch_rows(rows, patch, assembly.start.base_commit or run.base_commit)
                rows.flush(self.writer, run.key)
                run.patch_sha256 = sha256
                added += 1
            elif run.patch_sha256 != sha256:
                reason = "the prediction differs from the patch of the trajectory, which is kept"
                assembly.damage(Damage(0, 0, reason, code="patch-differs", taints_run=False))
                self.notes.append(f"{run.task}: {reason}")
        for outcome in assembly.outcomes.values():
            added += self._outcome(run, outcome, self.identity.path)
        for report in assembly.reports:
            added += self.report(run, report, run.layout)
        if self.identity.key not in self.index.sources:
            self._defects(assembly.findings, run.key)
        self.joined.append(run.run_id)
        self.n_added += added

    def _partial_to_absorb(self, assembly: RunAssembly, facts: RunIdentity, patch: bytes | None) -> KnownRun | None:
        """The run known only by artifacts that this trajectory belongs to."""
        if not assembly.has_trajectory:
            return None
        held = [run for run in self.index.by_arm.get((facts.task, facts.arm), []) if not run.has_trajectory]
        equal = [run for run in held if patch is not None and run.patch_sha256 == patch]
        if equal:
            return equal[0]
        lacking = [run for run in held if run.patch_sha256 is None or patch is None]
        if len(lacking) == 1 and facts.repeat in {None, lacking[0].repeat}:
            return lacking[0]
        return None

    def _absorb(self, old: KnownRun, new: KnownRun, assembly: RunAssembly, tables: tuple[str, ...]) -> None:
        """Move the artifacts of a run to the one that stands for it now, and forget that it was known."""
        if old.run_id in self.index.by_id:
            self.index.remove(old)
        for table in tables:
            columns = row_columns(table)
            names = ("run_key", *columns)
            listed = ", ".join(f'"{name}"' for name in names)
            query = f'SELECT {listed} FROM main."{table}" WHERE run_key = $key'  # noqa: S608 (own names)
            rows = self.writer.read(query, {"key": old.key})
            if not rows:
                continue
            self.writer.delete(table, "run_key", [old.key])
            if self._keeps_own(table, new, assembly):
                continue
            kept = [row for row in rows if self._is_wanted(table, dict(zip(names, row, strict=True)), assembly)]
            if kept:
                moved = dict(zip(names, map(list, zip(*kept, strict=True)), strict=True))
                self.writer.append(table, {**moved, "run_key": [new.key] * len(kept)})
            for row in kept:
                self._remember(table, new, dict(zip(names, row, strict=True)))

    @staticmethod
    def _keeps_own(table: str, new: KnownRun, assembly: RunAssembly) -> bool:
        has_patch = assembly.patch is not None and assembly.patch.patch is not None
        if table in {"patch", "patch_path"}:
            return has_patch
        return table == "run_tree" and assembly.tree is not None and new is not None

    def _is_wanted(self, table: str, row: dict[str, object], assembly: RunAssembly) -> bool:
        if table == "run_outcome":
            return row["name"] not in assembly.outcomes
        if table == "run_invariant":
            return row["name"] not in assembly.invariants
        if table == "manifest_field":
            return row["field"] not in {fact.field for fact in assembly.facts}
        return True

    def _remember(self, table: str, run: KnownRun, row: dict[str, object]) -> None:
        if table == "test_report":
            self.index.reports.add((run.key, row["report_sha256"]))  # type: ignore[arg-type]
        elif table == "run_outcome":
            self.index.outcomes[run.key, str(row["name"])] = str(row["value"])
        elif table == "patch":
            run.patch_sha256 = row["patch_sha256"]  # type: ignore[assignment]

    # Artifacts of known runs

    def report(self, run: KnownRun, report: Report, layout: str) -> bool:
        """Add a test report to a run; False where it is there already."""
        key = (run.key, report.sha256)
        if key in self.index.reports:
            return False
        self.index.reports.add(key)
        artifacts.write_report(
            self.writer, run.key, report.report, report.sha256, given=self.identity.given, layout=layout
        )
        return True

    def _outcome(self, run: KnownRun, outcome: OutcomeRecord, path: str) -> bool:
        """Add a grader's verdict to a run; False where one of that name is there."""
        key, value = (run.key, storable(outcome.name)), artifacts.value_text(outcome.value)
        held = self.index.outcomes.get(key)
        if held is None:
            self.index.outcomes[key] = value
            self.writer.append("run_outcome", {"run_key": [run.key], "name": [key[1]], "value": [value]})
            return True
        if held != value:
            self.notes.append(
                f"{visible(path)}: {key[1]} is {shortened(value, 40)}, but {shortened(held, 40)} is stored and kept"
            )
        return False

    outcome = _outcome

    def invariant(self, run: KnownRun, name: str, *, value: bool | None) -> None:
        """Set a declared predicate of a run, instead of what was said before."""
        self.writer.replace("run_invariant", {"run_key": [run.key], "name": [storable(name)], "value": [value]})

    def _defects(self, findings: list[Finding], run_key: int | None) -> None:
        for finding in findings:
            self.defect(finding, run_key)

    def defect(self, finding: Finding, run_key: int | None) -> None:
        """Write a finding about the source."""
        damage = finding.damage
        row: dict[str, object] = {
            "defect_key": self.writer.next_key("defect"),
            "source_sha256": self.identity.sha256,
            "settings_sha256": self.identity.given.sha256,
            "run_key": run_key,
            "path": storable(finding.path),
            "source_offset": damage.offset,
            "n_bytes": damage.n_bytes,
            "code": damage.code,
            "reason": storable(damage.reason),
        }
        self.writer.append("defect", {name: [value] for name, value in row.items()})


def _common(one: str, other: str) -> str:
    try:
        return commonpath([one, other])
    except ValueError:
        return ""
