"""Put what one source says into the open batch: new runs, artifacts joined to known runs, findings.

A run lands once: the same content is known, a patch beside its trajectory joins it whichever of the two came first.
Refuses to guess between several runs: a report that fits more than one is not joined.
"""

from __future__ import annotations

from os.path import commonpath
from typing import TYPE_CHECKING

from samework.errors import InputError
from samework.ingest import artifacts, grown, joining
from samework.ingest.assembly import Finding
from samework.ingest.index import KnownRun, run_identity
from samework.ingest.rows import RunRows
from samework.model.records import Damage, OutcomeRecord, PatchRecord
from samework.secrets.finding import may_be_said
from samework.store.sql import load
from samework.text import shortened, storable, visible

if TYPE_CHECKING:
    from samework.ingest.assembly import Report, RunAssembly
    from samework.ingest.identity import RunIdentity, SourceIdentity
    from samework.ingest.index import Index
    from samework.ingest.trees import Trees
    from samework.model.reader import Source
    from samework.model.results import SnapshotResult
    from samework.store.write import BatchWriter


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
        self.joined: dict[str, None] = {}
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
        is_partial = not assembly.has_trajectory and assembly.start.is_partial
        if is_partial and self._is_joined(assembly, facts, patch):
            return
        tree = self._tree(assembly)
        native_id = artifacts.text_or_none(assembly.start.native_id)
        held = grown.held(self.index, assembly.start, facts, self.identity)
        whole = grown.longer(self.writer, held, assembly)
        if whole is not None and self._is_met_again(whole, assembly, tree, patch):
            return
        outgrown = grown.shorter(self.writer, held, assembly) if whole is None else None
        grew_here = outgrown is not None and (outgrown.task, outgrown.arm) == (facts.task, facts.arm)
        prediction, waiting = (None, None) if grew_here else self._prediction(assembly, facts, patch)
        key = assembly.key if assembly.key is not None else self.writer.next_key("run")
        like = outgrown if grew_here else prediction or waiting
        repeat = facts.repeat or (self.index.free_repeat(facts.task, facts.arm) if like is None else like.repeat)
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
            is_partial=is_partial,
            native_id=native_id,
            started=artifacts.text_or_none(assembly.start.started),
        )
        self._artifacts(assembly, known, tree)
        self.writer.append("run", {name: [value] for name, value in self._run_row(assembly, known).items()})
        self._defects(assembly.findings, key)
        if outgrown is not None:
            self._outgrow(outgrown, known)
        if prediction is not None:
            joining.absorb(self.writer, self.index, prediction, known, joining.MOVED)
            joining.forget(self.writer, prediction.key)
            self.joined[known.run_id] = None
        if waiting is not None:
            self.index.unsettled.add((facts.task, facts.arm))
        self.index.add(known, self.identity.key)
        self._tell(assembly, known)

    def _tell(self, assembly: RunAssembly, known: KnownRun) -> None:
        """Note what came of a run, for the source's line in the summary."""
        self.n_events += assembly.finish().n_events
        reason = assembly.incomplete_reason
        if reason is not None and not self.incomplete:
            self.notes.append(self._said(assembly, reason))
        elif reason is None and assembly.findings and not self.n_findings:
            self.notes.append(f"not whole: {self._said(assembly, assembly.findings[0].damage.reason)}")
        self.n_findings += len(assembly.findings)
        (self.new if reason is None else self.incomplete).append(known.run_id)

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

    def _tree(self, assembly: RunAssembly) -> SnapshotResult | None:
        if assembly.tree is None:
            return None
        patch = assembly.patch.patch if assembly.patch is not None else None
        return self.trees.recorded(assembly.tree, self.source, patch)

    def _artifacts(self, assembly: RunAssembly, known: KnownRun, tree: SnapshotResult | None) -> None:
        rows = assembly.rows
        assembly.finish()
        if assembly.patch is not None:
            artifacts.patch_rows(rows, assembly.patch, assembly.start.base_commit)
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

    def _prediction(
        self, assembly: RunAssembly, facts: RunIdentity, patch: bytes | None
    ) -> tuple[KnownRun | None, KnownRun | None]:
        """The stored prediction that is surely of a trajectory, else the one that may turn out to be."""
        if not assembly.has_trajectory:
            return None, None
        sure = joining.whose(self.index, facts.task, facts.arm, patch, facts.repeat)
        return sure, None if sure is not None else joining.expected(self.index, facts.task, facts.arm, patch)

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

    def _is_joined(self, assembly: RunAssembly, facts: RunIdentity, patch: bytes | None) -> bool:
        """Join a prediction to the one stored run that it fits; of several, none."""
        found, is_beside = self.candidates(
            facts.task, facts.arm if facts.is_arm_given else None, assembly.start.arm or facts.arm
        )
        found = [run for run in found if run.has_trajectory and run.run_id not in self.joined]
        if facts.repeat is not None:
            found = [run for run in found if run.repeat == facts.repeat]
        equal = [run for run in found if patch is not None and run.patch_sha256 == patch]
        fitting = equal[:1] or [run for run in found if run.patch_sha256 is None or patch is None]
        if not fitting and is_beside:
            fitting = found
        if len(fitting) == 1:
            self._join(assembly, fitting[0])
            return True
        if fitting:
            assembly.damage(joining.SEVERAL)
        return False

    def _join(self, assembly: RunAssembly, run: KnownRun, tree: SnapshotResult | None = None) -> None:
        """Add what a record brings to the run that it is about."""
        rows = RunRows()  # those of the record itself hold its trajectory, which the run has
        added = self._join_patch(assembly, run, rows)
        if tree is not None and not joining.has_tree(self.writer, run.key):
            self.writer.delete("run_tree", "run_key", [run.key])
            artifacts.tree_row(rows, tree)
            self._note_tree(tree)
            added += 1
        rows.flush(self.writer, run.key)
        for outcome in assembly.outcomes.values():
            added += self._outcome(run, outcome, self.identity.path)
        for each in assembly.invariants.values():
            self.invariant(run, each.name, value=each.value)
        for report in assembly.reports:
            added += self.report(run, report, run.layout)
        if self.identity.key not in self.index.sources:
            self._defects(assembly.findings, run.key)
        self.joined[run.run_id] = None
        self.n_added += added

    def _join_patch(self, assembly: RunAssembly, run: KnownRun, rows: RunRows) -> int:
        patch = assembly.patch
        if patch is None or patch.patch is None:
            return 0
        sha256 = artifacts.patch_sha256(patch)
        if run.patch_sha256 is None:
            self.writer.delete("patch", "run_key", [run.key])
            artifacts.patch_rows(rows, patch, assembly.start.base_commit or run.base_commit)
            run.patch_sha256 = sha256
            return 1
        if run.patch_sha256 != sha256:
            reason = "the prediction differs from the patch of the trajectory, which is kept"
            assembly.damage(Damage(0, 0, reason, code="patch-differs", taints_run=False))
            self.notes.append(f"{run.task}: {reason}")
        return 0

    # Records that grow

    def _is_met_again(
        self, held: KnownRun, assembly: RunAssembly, tree: SnapshotResult | None, patch: bytes | None
    ) -> bool:
        """Whether a record that a held run goes on from, or ends with, is of that run; what it brings is joined.

        Two records that end alike and left other trees or patches are two runs, whatever the tool calls them.
        """
        brought = grown.brought(assembly, has_tree=tree is not None and tree.oid is not None)
        is_early = bool(brought) and grown.went_on(self.writer, held.key, assembly.finish().n_events)
        if brought and not is_early and self._contradicts(held, tree, patch):
            return False
        if assembly.key is not None:
            grown.forget(self.writer, assembly.key)
        self.note_known(held)
        if is_early:
            self._defects([Finding(self.identity.path, grown.early(brought))], held.key)
        elif brought:
            self._join(assembly, held, tree)
        return True

    def _contradicts(self, held: KnownRun, tree: SnapshotResult | None, patch: bytes | None) -> bool:
        if patch is not None and held.patch_sha256 not in {None, patch}:
            return True
        if tree is None or tree.oid is None:
            return False
        rows = self.writer.read(load("samework.ingest", "queries/run_tree"), {"run_key": held.key})
        return any(oid is not None and oid != tree.oid for oid, _ in rows)

    def _outgrow(self, old: KnownRun, new: KnownRun) -> None:
        """Let a longer record stand for a shorter one, with what was recorded beside it if nothing was done since."""
        if grown.went_on(self.writer, new.key, grown.n_events(self.writer, old.key)):
            self.index.remove(old)
            dropped = grown.drop_attached(self.writer, old.key)
            if dropped:
                self._defects([Finding(self.identity.path, grown.early(dropped))], new.key)
        else:
            joining.absorb(self.writer, self.index, old, new, grown.ATTACHED_TABLES)
        grown.forget(self.writer, old.key)
        self.notes.append(f"run {old.run_id} went on; the longer record stands for it")

    # Artifacts of known runs

    def report(self, run: KnownRun, report: Report, layout: str) -> bool:
        """Add a test report to a run; False where it is there already."""
        key = (report.sha256, *artifacts.suite_and_env(report.report, self.identity.given))
        held = self.index.reports.setdefault(run.key, set())
        if key in held:
            return False
        held.add(key)
        artifacts.write_report(
            self.writer, run.key, report.report, report.sha256, given=self.identity.given, layout=layout
        )
        return True

    def _outcome(self, run: KnownRun, outcome: OutcomeRecord, path: str) -> bool:
        """Add a grader's verdict to a run; False where one of that name is there."""
        name, value = storable(outcome.name), artifacts.value_text(outcome.value)
        of_run = self.index.outcomes.setdefault(run.key, {})
        held = of_run.get(name)
        if held is None:
            of_run[name] = value
            self.writer.append("run_outcome", {"run_key": [run.key], "name": [name], "value": [value]})
            return True
        if held != value:
            is_said = may_be_said(name, value) and may_be_said(name, held)
            given, kept = (shortened(value, 40), shortened(held, 40)) if is_said else ("one value", "another")
            self.notes.append(f"{visible(path)}: {name} is {given}, but {kept} is stored and kept")
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
