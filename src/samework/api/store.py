"""The public surface: a `Store` whose methods are the commands, each opening the database only while it works."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from samework.errors import InputError, UsageError
from samework.text import visible

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from typing import Self

    from samework.api.details import NamedQuery, QueryResult, RunDetail
    from samework.api.scanning import SecretPlace
    from samework.ingest.repair import Repair
    from samework.ingest.settings import Progress
    from samework.model.causes import CausesResult
    from samework.model.experiment import ExperimentResult
    from samework.model.funnel import Funnel
    from samework.model.gate import GateResult
    from samework.model.results import (
        Claim,
        ClassesResult,
        ForkNode,
        IngestSummary,
        PairResult,
        PairRow,
        RunSummary,
        SnapshotResult,
        SourceOutcome,
    )
    from samework.model.review import PairReviews
    from samework.store.backup import Backup
    from samework.store.connection import StoreHandle
    from samework.store.verify import Finding

    Where = str | os.PathLike[str]


class Store:
    """A store of runs.

    Readers open it read only and close it again; `sql` keeps its connection until the next write or `close`.
    """

    def __init__(self, path: Where) -> None:
        """Name a store; nothing is opened yet."""
        self.path = Path(path)
        self._reader: StoreHandle | None = None
        self._shown: set[str] = set()

    def __repr__(self) -> str:
        """`Store(".samework")`."""
        return f"Store({str(self.path)!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection that `sql` keeps, if any."""
        if self._reader is not None:
            self._reader.release()
            self._reader = None
            self._shown.clear()

    @contextmanager
    def _reading(self) -> Iterator[StoreHandle]:
        from samework.store.connection import open_store

        if self._reader is not None:
            yield self._reader
            return
        with open_store(self.path, read_only=True) as handle:
            yield handle

    @contextmanager
    def _writing(self) -> Iterator[StoreHandle]:
        from samework.store.connection import open_store

        self.close()
        with open_store(self.path, read_only=False) as handle:
            yield handle

    # Bringing in

    def ingest(
        self,
        *paths: Where,
        format: str | None = None,  # noqa: A002 (the name of the option)
        task: str | None = None,
        arm: str | None = None,
        repeat: str | None = None,
        suite: str | None = None,
        env: str | None = None,
        layout: str | None = None,
        jobs: int = 1,
        progress: Progress | None = None,
    ) -> IngestSummary:
        """Read files and directories into the store; a source lands whole or not at all, a known one not twice.

        Args:
            paths: files or directories.
            format: reader to use instead of detection.
            task: task of every run, instead of what the source records; likewise arm, repeat, suite, env.
            arm: see task.
            repeat: see task.
            suite: see task.
            env: see task.
            layout: pattern such as `{arm}/{task}.traj` that takes these from the path.
            jobs: processes that read.
            progress: called now and then with bytes done, bytes in all and a label.

        Raises: InputError: a path does not exist. UsageError: a pattern or format is not known. StoreError.
        """
        from samework.ingest.pipeline import ingest
        from samework.ingest.settings import IngestSettings

        if not paths:
            raise UsageError("nothing to ingest was named", hint="samework ingest --help")
        settings = IngestSettings(
            format=format, task=task, arm=arm, repeat=repeat, suite=suite, env=env, layout=layout, jobs=jobs
        )
        with self._writing() as handle:
            return ingest(handle, [Path(path) for path in paths], settings, progress)

    def attach(
        self,
        run: str | None = None,
        *,
        worktree: Where | None = None,
        repo: Where | None = None,
        commit: str | None = None,
        base: str | None = None,
        patch: Where | None = None,
        tests: Sequence[Where] = (),
        manifest: Where | None = None,
        invariants: Mapping[str, bool | None] | None = None,
        match: str | None = None,
        task: str | None = None,
        arm: str | None = None,
        suite: str | None = None,
        env: str | None = None,
    ) -> list[SourceOutcome]:
        """Add artifacts to one run, or with `match` test reports to many by the fields in their paths.

        Args:
            run: a run; None with `match`.
            worktree: directory that holds the resulting tree.
            repo: repository of the resulting tree, with `commit`, or with `base` and `patch`.
            commit: see repo.
            base: see repo.
            patch: file with the patch that the run submitted.
            tests: test reports.
            manifest: a `manifest.json`.
            invariants: predicate to result, None for unknown.
            match: pattern of paths such as `logs/{task}/report.json`.
            task: task of the matched files, where the pattern has none.
            arm: their arm, likewise.
            suite: suite of the test reports.
            env: environment of the test reports.

        Raises: NotFound, UsageError, InputError, StoreError.
        """
        from samework.api.attaching import attach

        with self._writing() as handle:
            return attach(
                handle,
                run,
                worktree=worktree,
                repo=repo,
                commit=commit,
                base=base,
                patch=patch,
                tests=tests,
                manifest=manifest,
                invariants=invariants or {},
                match=match,
                task=task,
                arm=arm,
                suite=suite,
                env=env,
            )

    # Reading

    def runs(self, *, task: str | None = None, arm: str | None = None) -> list[RunSummary]:
        """Runs with the grade of their evidence, ordered by task, arm and repeat."""
        from samework.api.runs import list_runs

        with self._reading() as handle:
            return list_runs(handle, task=task, arm=arm)

    def show(self, run: str) -> RunDetail:
        """One run: what is recorded, at which grade, what is missing and what that prevents."""
        from samework.api.runs import run_detail, run_key

        with self._reading() as handle:
            return run_detail(handle, run_key(handle, run)[0])

    def compare(self, a: str, b: str, *, strict: bool = False, near_tie: float | None = None) -> PairResult:
        """Facets, class, fork, consequence, manifest difference and claims of two runs of one task.

        Args:
            a: a run: its id, a unique beginning of it, or task:arm:repeat.
            b: another run of the same task.
            strict: take no unrecorded suite or environment as equal.
            near_tie: margin, in nats, up to which the fork is called a near tie; None for the usual 0.5.

        Raises: NotFound, UsageError: the runs are not of one task, or are one run.
        """
        from samework.api.judging import compare

        with self._reading() as handle:
            return compare(handle, a, b, strict=strict, near_tie=near_tie)

    def classes(
        self,
        *,
        task: str | None = None,
        arm: str | None = None,
        across: Sequence[str] | None = None,
        strict: bool = False,
    ) -> ClassesResult:
        """Classes of all runs of each task, and the counts of their pairs.

        Args:
            task: only this task.
            arm: only runs of this arm.
            across: two arms; counts pairs of one run of each.
            strict: take no unrecorded suite or environment as equal.
        """
        from samework.api.judging import classes

        with self._reading() as handle:
            return classes(handle, task=task, arm=arm, across=across, strict=strict)

    def pairs(
        self,
        *,
        task: str | None = None,
        run_class: str | None = None,
        status: str | None = None,
        limit: int | None = None,
        strict: bool = False,
    ) -> list[PairRow]:
        """Pairs of runs, each once, with class, status and the verdict of each facet.

        Args:
            task: only this task.
            run_class: only pairs of this class.
            status: only pairs of this status.
            limit: at most so many.
            strict: take no unrecorded suite or environment as equal.
        """
        from samework.api.judging import pairs

        with self._reading() as handle:
            return pairs(handle, task=task, run_class=run_class, status=status, limit=limit, strict=strict)

    def forks(
        self,
        *,
        task: str | None = None,
        tool_calls: bool = False,
        changed_work: bool = False,
        absorbed: bool = False,
        origin: str | None = None,
        near_tie: float | None = None,
    ) -> list[ForkNode]:
        """Branch nodes: places after which runs of a task went different ways.

        Args:
            task: only this task.
            tool_calls: only forks that changed a tool call.
            changed_work: only forks after which trees or tests differ (C2 and above).
            absorbed: only forks after which something else was done and the tree came out the same.
            origin: only forks whose origin is or begins with this word.
            near_tie: margin, in nats, up to which a fork is called a near tie; None for the usual 0.5.
        """
        from samework.api.judging import forks

        with self._reading() as handle:
            return forks(
                handle,
                task=task,
                tool_calls=tool_calls,
                changed_work=changed_work,
                absorbed=absorbed,
                origin=origin,
                near_tie=near_tie,
            )

    def fork_graph(self, task: str) -> Any:
        """The trie of trajectories of a task as a networkx DiGraph, branch nodes and leaves only."""
        from samework.api.runs import check_names
        from samework.forks.graph import fork_graph

        with self._reading() as handle:
            check_names(handle, task=task)
            return fork_graph(handle, task)

    def causes(self, task: str | None = None, node: str | None = None, *, tool_calls: bool = False) -> CausesResult:
        """Which recorded fields go with the ways that runs took: candidates, tested within tasks, never yet causes.

        Args:
            task: only this task.
            node: only this fork (`ForkNode.node`, or a beginning of it).
            tool_calls: only forks that changed a tool call.

        Raises: NotFound, UsageError: no such task or fork. EvidenceError: there is no fork to ask about.
        """
        from samework.api.judging import causes

        with self._reading() as handle:
            return causes(handle, task=task, node=node, tool_calls=tool_calls)

    def claims(self, a: str, b: str) -> tuple[Claim, ...]:
        """Sentences about replay and cause that the evidence of two runs licenses, refutes or cannot establish."""
        return self.compare(a, b).claims

    def gate(
        self,
        *,
        baseline: str,
        candidate: str,
        require: str = "tests-identical",
        at_most: str | None = None,
        task: str | None = None,
        strict: bool = False,
        accept_provisional: bool = False,
    ) -> GateResult:
        """Whether the candidate arm does the work of the baseline arm, task by task.

        Args:
            baseline: an arm.
            candidate: another one.
            require: token-, tree- or tests-identical (a stronger class is enough), or a facet that must be the same.
            at_most: share of failing tasks that is let pass, such as `5%`; None: none is.
            task: only this task.
            strict: take no unrecorded suite or environment as equal.
            accept_provisional: let a class that rests on an assumption be enough.

        Raises: UsageError, NotFound. EvidenceError: the arms have no task in common.
        """
        from samework.api.gating import run_gate

        with self._reading() as handle:
            return run_gate(
                handle,
                baseline=baseline,
                candidate=candidate,
                require=require,
                at_most=at_most,
                task=task,
                strict=strict,
                accept_provisional=accept_provisional,
            )

    def experiment(
        self,
        *,
        arms: Sequence[str] | None = None,
        by: str | None = None,
        task: str | None = None,
        level: Sequence[str] | None = None,
        success: str | None = None,
        margin: float | str | None = None,
        strata: str | None = None,
        donor: Sequence[str] = (),
        power: bool = False,
        strict: bool = False,
        redact: bool = False,
    ) -> ExperimentResult:
        """Arms over the items that they have in common: self-repeats beside differences, tests, flips, limits.

        Args:
            arms: two or more arms; with `by`, values of that field.
            by: a manifest field whose values are the arms.
            task: only this task.
            level: of tokens, text, actions, tree, tests, outcome; default all but text.
            success: what counts as success: `tests`, the name of an outcome, or `reward>=0.5`; default the evidence
                that most runs have.
            margin: difference of success rates that does not matter, declared beforehand: 0.02 or "2%".
            strata: a manifest field, or `task-prefix`, by which items are stratified.
            donor: transplants as ARM=DONOR,RECIPIENT, beside those that manifests record.
            power: also plan repeats; without arms, from declared rates alone.
            strict: take no unrecorded suite or environment as equal.
            redact: name arms and strata that are values of a field without what looks like a secret, as the command.

        Raises: NotFound, UsageError. EvidenceError: the evidence decides nothing. SameworkError: the extra `stats` is
            not installed.
        """
        from samework.api.experimenting import experiment

        with self._reading() as handle:
            return experiment(
                handle,
                arms=arms,
                by=by,
                task=task,
                level=level,
                success=success,
                margin=margin,
                strata=strata,
                donor=donor,
                power=power,
                strict=strict,
                redact=redact,
            )

    def funnel(
        self,
        *,
        task: str | None = None,
        arm: str | None = None,
        across: Sequence[str] | None = None,
        strict: bool = False,
    ) -> Funnel:
        """How many pairs have other tokens, another tool call, another tree, other tests, and matter to a reviewer.

        Args: as of `classes`.
        """
        from samework.api.judging import funnel

        with self._reading() as handle:
            return funnel(handle, task=task, arm=arm, across=across, strict=strict)

    def review(self, a: str, b: str, *, judgement: str, by: str, reason: str, blind: bool = False) -> PairReviews:
        """Record what a reviewer says of two runs of one task, and return all reviews of the pair.

        Args:
            a: a run: its id, a unique beginning of it, or task:arm:repeat.
            b: another run of the same task.
            judgement: matters, no-matter or unsure.
            by: the reviewer; a later review of theirs supersedes this one.
            reason: why.
            blind: the reviewer did not know which arm was which.

        Raises: NotFound, UsageError, StoreError.
        """
        from samework.api.reviewing import record_review

        with self._writing() as handle:
            return record_review(handle, a, b, judgement=judgement, by=by, reason=reason, blind=blind)

    def reviews(self, a: str, b: str) -> PairReviews:
        """What reviewers said of two runs of one task. No class rests on it. Raises NotFound, UsageError."""
        from samework.api.reviewing import pair_reviews

        with self._reading() as handle:
            return pair_reviews(handle, a, b)

    # Asking and telling

    def sql(self, text: str, parameters: Mapping[str, object] | None = None) -> Any:
        """Answer SQL as a DuckDB relation: `.fetchall()`, `.arrow()`, or `.df()` and `.pl()` where pandas or polars is.

        It reads the same views as `query`, on a connection that is read only and stays open. It runs in this process
        with the rights of this process: for text of your own. `query` is for text of others.
        """
        from samework.api.engine_views import show_engine_views
        from samework.store.connection import open_store

        if self._reader is None:
            self._reader = open_store(self.path, read_only=True)
        show_engine_views(self._reader, text, self._shown)
        return self._reader.db.sql(text, params=dict(parameters) if parameters else None)

    def query(
        self, text: str, *, limit: int | None = None, seconds: float | None = None, redact: bool = False
    ) -> QueryResult:
        """Answer SQL in a child process that can read the store and nothing else, bounded in time, memory and rows.

        Args:
            text: one SELECT.
            limit: at most so many rows.
            seconds: the time after which it is ended.
            redact: take what looks like a secret out of the rows (digests stay), as the command does.

        Raises: UsageError: refused or wrong. LimitExceeded: a bound was met. StoreError.
        """
        from samework.api.asking import query

        self.close()
        return query(self.path, text, limit=limit, seconds=seconds, redact=redact)

    def scan(self) -> list[SecretPlace]:
        """Where the store holds what looks like a secret: run, event, byte, kind and digest, never the secret."""
        from samework.api.scanning import scan

        with self._reading() as handle:
            return scan(handle)

    def named(self, name: str | None = None) -> list[NamedQuery]:
        """Saved queries; with a name only that one. Raises NotFound, with the known names."""
        from samework.api.asking import named_queries

        return named_queries(name)

    def report(
        self,
        out: Where,
        *,
        a: str | None = None,
        b: str | None = None,
        task: str | None = None,
        experiment: Sequence[str] | None = None,
        redact: bool = True,
    ) -> Path:
        """Write a report: of a pair (`a` and `b`), of an `experiment`, of a `task`, or of the whole store.

        Args:
            out: file; its ending says the form: .html, .md or .json.
            a: first run of a pair.
            b: second run of a pair.
            task: a task.
            experiment: arms to compare, over all tasks or the one named.
            redact: take secrets out (their digests stay).

        Raises: UsageError: the ending is not known, or only one run is named.
        """
        from samework.api.reporting import write_report

        with self._reading() as handle:
            return write_report(handle, Path(out), a=a, b=b, task=task, experiment=experiment, redact=redact)

    def verify(self) -> list[Finding]:
        """Hash everything again and hold it against the ledger. Returns findings; none is a whole store."""
        from samework.store.verify import verify_store

        self.close()
        return verify_store(self.path, objects_check=objects_check)

    def repair(self, *, progress: Progress | None = None) -> Repair:
        """Make the database again from the ingested bytes; the old store is kept beside the new one.

        Raises: NotFound: there is nothing to make it from. StoreLocked. StoreDamaged: the new one does not verify, the
        old one was not touched. StoreError.
        """
        from samework.ingest.repair import repair

        self.close()
        return repair(self.path, objects_check=objects_check, progress=progress)

    def backup(self, out: Where) -> Backup:
        """Write a checked copy of the store to one file. Raises InputError: it exists; StoreError, StoreDamaged."""
        from samework.store.backup import backup

        self.close()
        if Path(out).exists():
            raise InputError("there is a file already", place=visible(str(out), one_line=True), code="file-exists")
        return backup(self.path, Path(out), objects_check=objects_check)

    def snapshot(self, worktree: Where, *, scope: Sequence[str] = ()) -> SnapshotResult:
        """Tree oid and content digest of a working tree; nothing is stored."""
        from samework.api.snapshots import snapshot

        return snapshot(Path(worktree), scope=scope)


def objects_check(path: Path, trees: Collection[str]) -> list[tuple[str, str]]:
    """What is wrong with the Git objects of a store, as (where, what); trees: ids that it must hold."""
    from samework.trees.object_store import object_faults

    return list(object_faults(path, trees))
