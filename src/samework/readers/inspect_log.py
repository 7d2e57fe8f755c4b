"""Inspect logs, `.json` and `.eval`: each sample and epoch is a run, its scores are outcomes.

Rules of this reader. The task is the eval's task and the sample's id; an epoch is a repeat, numbered in the order of
the epochs, so that a second log of the task goes on counting. A run is known by the uuid of its sample and by its
messages: a log that was converted, scored again or retried, with samples copied from an earlier one, adds no run twice,
and the scores that came first stay. What a run said is in its model calls (see `_inspect_sample`), since the messages
of a sample are only what was left at its end. Calls of scorers are left out. A sub-agent is a run of its own, of the
task `<task>/<its name>`. A sample that was logged before it was done ends with its log; what was scored, or stands in a
log that succeeded, was done. The scores of an invalidated sample are left out. A listing of logs is no log.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from samework.decode.document import read_document
from samework.decode.elements import Part, iter_parts
from samework.decode.shapes import as_count, as_dict, as_dicts, as_list, as_name, as_number, as_text, compact
from samework.errors import DamagedRecord, InputError, UnknownFormat
from samework.model.reader import Evidence
from samework.model.records import Damage, ManifestFact, OutcomeRecord, PatchRecord, RunEnd, RunStart
from samework.model.words import EndReason, EventKind, FieldSource, RunKind
from samework.readers.parts.inspect_sample import Sample, Thread
from samework.text import raw_bytes, shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_HEAD_BYTES = 4096
_JOURNAL = "_journal/"
_LOG = re.compile(rb'^\s*\{(?:\s*"(?:version|status|invalidated)"\s*:\s*["a-z0-9]+\s*,)*\s*"eval"\s*:\s*\{')
_LISTING = re.compile(
    rb'^\s*\{\s*"[^"]+\.(?:eval|json)"\s*:\s*\{(?:\s*"(?:version|status)"\s*:\s*["a-z0-9]+\s*,)*\s*"eval"\s*:'
)
_MEMBER = re.compile(r"(.*)_epoch_([0-9]{1,9})\.json")
_DIGITS = re.compile(r"([0-9]+)")
_STREAMED = frozenset({"samples"})
_SAMPLING = (
    "temperature", "top_p", "top_k", "seed", "max_tokens", "stop_seqs", "frequency_penalty", "presence_penalty",
    "num_choices", "reasoning_effort", "reasoning_tokens", "parallel_tool_calls", "cache_prompt",
)  # fmt: skip
_LIMIT_STOPS = frozenset({"max_tokens", "model_length"})


class InspectLog:
    """Reader of Inspect logs."""

    name = "inspect_log"
    title = "Inspect log (.eval, .json)"
    detects = (
        "an archive with header.json or _journal/start.json of an eval, or a JSON object with `version` and `eval`"
    )
    proven = True
    evidence = Evidence(
        text="yes",
        actions="yes",
        raw_arguments="where the provider's reply is logged",
        observations="yes",
        reuse="cached tokens of each call",
        base_commit="where the metadata of a sample name it",
        patch="where a scorer keeps it",
        outcome="scores",
    )

    def sniff(self, head: bytes, source: Source) -> float:
        """0.95 for a log, 0.9 for a listing of logs."""
        if source.is_dir:
            return 0.95 if _opens_eval(source) else 0.0
        start = head.removeprefix(b"\xef\xbb\xbf")[:_HEAD_BYTES]
        if _LOG.match(start):
            return 0.95 if b'"task"' in head or b'"model"' in head else 0.0
        return 0.9 if _LISTING.match(start) else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield a run for each sample and epoch.

        Raises: UnknownFormat: a listing of logs. DamagedRecord: not one sample could be read.
        """
        if not source.is_dir and _LISTING.match(source.head(_HEAD_BYTES).removeprefix(b"\xef\xbb\xbf")):
            raise UnknownFormat(
                "a listing of Inspect logs, no log itself", place=visible(source.path), code="log-listing"
            )
        log = _Log()
        first: Damage | None = None
        for record in log.archive(source) if source.is_dir else log.document(source):
            if isinstance(record, Damage) and not log.n_runs:
                first = first or record
            yield record
        if first is not None and first.code != "crashed-log" and not log.n_runs:
            raise DamagedRecord(first.reason, place=f"{visible(source.path)}, byte {first.offset}", code=first.code)
        if not log.n_runs:
            yield Damage(0, 0, "the log holds no samples", code="no-samples", taints_run=False)


class _Log:
    """One log: what its header says, and the runs that were read."""

    def __init__(self) -> None:
        self.header: dict[str, object] = {}
        self.n_runs = 0
        self.n_met: dict[str, int] = {}

    # Where samples come from

    def document(self, source: Source) -> Iterator[Record]:
        """Runs of a log in one JSON document; samples are read one at a time."""
        for part in iter_parts(source, _STREAMED):
            if isinstance(part, Damage):
                yield part
            elif part.index is None:
                self.header[part.key] = part.value
            else:
                if "eval" not in self.header:
                    self._look_ahead(source)
                yield from self._part(part)
        yield from self._fewer()

    def _look_ahead(self, source: Source) -> None:
        """A header that stands after the samples."""
        for part in iter_parts(source, _STREAMED):
            if isinstance(part, Part) and part.index is None:
                self.header[part.key] = part.value

    def _part(self, part: Part) -> Iterator[Record]:
        if isinstance(part.value, dict):
            yield from self.sample(part.value, part.offset)
        else:
            yield Damage(part.offset, len(part.raw), "an element of `samples` is no object", taints_run=False)

    def archive(self, source: Source) -> Iterator[Record]:
        """Runs of a log in an archive; one member is a sample."""
        names = source.names()
        header = _document(source, "header.json")
        if isinstance(header, Damage):
            yield header
        if not isinstance(header, dict):
            reason = "the log has no header.json: its writer stopped early, or writes still"
            yield Damage(0, 0, reason, code="crashed-log", taints_run=False)
            header = _document(source, _JOURNAL + "start.json" if _JOURNAL + "start.json" in names else "start.json")
        self.header = as_dict(header)
        held: set[tuple[str, int]] = set()
        for name in sorted((name for name in names if name.startswith("samples/")), key=_order):
            sample = _document(source, name)
            if isinstance(sample, dict):
                held.add(_sample_key(sample))
                yield from self.sample(sample, None)
            else:
                if found := _MEMBER.fullmatch(name.removeprefix("samples/")):
                    held.add((found[1], int(found[2])))
                reason = f"{shortened(name, 120)}: no object"
                yield sample if isinstance(sample, Damage) else Damage(0, 0, reason, taints_run=False)
        yield from self._summaries(source, names, held)

    def _summaries(self, source: Source, names: list[str], held: set[tuple[str, int]]) -> Iterator[Damage]:
        """Samples that the log sums up and does not hold."""
        wanted = ["summaries.json"] if "summaries.json" in names else [name for name in names if "summaries/" in name]
        for name in wanted:
            for summary in as_dicts(_document(source, name)):
                key = _sample_key(summary)
                if key not in held:
                    held.add(key)
                    reason = f"sample {shortened(key[0], 80)}, epoch {key[1]}: summed up, but its record is missing"
                    yield Damage(0, 0, reason, code="missing-sample", taints_run=False)

    def _fewer(self) -> Iterator[Damage]:
        total = as_count(as_dict(self.header.get("results")).get("total_samples"))
        if total is not None and 0 < self.n_runs < total:
            reason = f"the results count {total} samples, the log holds {self.n_runs}"
            yield Damage(0, 0, reason, code="missing-sample", taints_run=False)

    # Runs

    def sample(self, record: dict[str, object], offset: int | None) -> Iterator[Record]:
        """The run of a sample, then those of its sub-agents."""
        self.n_runs += 1
        sample = Sample(record, offset)
        native = self._native_id(record)
        start = self._start(record, sample, native)
        yield start
        yield from self._facts(sample.main)
        yield from sample.main.records
        for lost in sorted(sample.lost):
            yield Damage(offset or 0, 0, f"{lost} is not in the log", code="missing-content")
        yield from _outcomes(record, offset or 0)
        yield _end(record, sample.main, as_text(self.header.get("status")))
        for thread in list(sample.threads.values())[1:]:
            if any(not isinstance(each, Damage) for each in thread.records):
                yield from self._sub_agent(start, thread, native)

    def _sub_agent(self, start: RunStart, thread: Thread, native: str) -> Iterator[Record]:
        task = f"{start.task}/{thread.name}"
        place = self.n_met[f"{native} {task}"] = self.n_met.get(f"{native} {task}", 0) + 1
        yield RunStart(
            task=task if place == 1 else f"{task}.{place}",
            kind=start.kind,
            layout="inspect",
            agent=start.agent,
            model=start.model,
            native_id=f"{native}/{thread.id}",
            parent_native_id=f"{native}/{thread.parent}" if thread.parent else native,
            recorder=start.recorder,
            content_sha256=_sha256([start.content_sha256, thread.id]),
            extra={"sub_agent": thread.name},
        )
        yield from self._facts(thread)
        yield from thread.records
        yield RunEnd(EndReason.FINISHED if thread.stop == "stop" else EndReason.UNRECORDED, thread.stop)

    def _native_id(self, record: dict[str, object]) -> str:
        given = as_name(record.get("uuid"))
        log = as_dict(self.header.get("eval"))
        run = as_name(log.get("run_id")) or as_name(log.get("eval_id")) or as_name(log.get("created")) or ""
        sample, epoch = _sample_key(record)
        return given or f"{run}:{sample}:{epoch}"

    def _start(self, record: dict[str, object], sample: Sample, native: str) -> RunStart:
        log, (sample_id, epoch) = as_dict(self.header.get("eval")), _sample_key(record)
        metadata = as_dict(record.get("metadata"))
        task = as_name(log.get("task"))
        version = as_name(as_dict(log.get("packages")).get("inspect_ai"))
        events = as_dicts(record.get("events"))
        messages = [each.key for each in map(sample._message, as_dicts(record.get("messages")))]  # noqa: SLF001
        extra: dict[str, object] = {"epoch": epoch}
        extra |= {
            name: log[name] for name in ("eval_id", "run_id", "task_id", "task_version") if as_name(log.get(name))
        }
        extra |= {"scoring_calls": sample.n_scoring} if sample.n_scoring else {}
        extra |= {"failed_calls": sample.n_failed} if sample.n_failed else {}
        return RunStart(
            task=f"{task}/{sample_id}" if task else sample_id or None,
            kind=self._kind(sample),
            layout="inspect",
            agent=as_name(log.get("solver")) or "inspect",
            model=as_name(log.get("model")),
            native_id=native,
            recorder=f"inspect_ai {version or '(unknown version)'}",
            base_commit=as_text(metadata.get("base_commit")),
            repo=as_text(metadata.get("repo")),
            started=as_text(record.get("started_at")) or as_text(events[0].get("timestamp") if events else None),
            ended=as_text(record.get("completed_at")),
            content_sha256=_sha256([native, messages]),
            extra=extra,
        )

    def _kind(self, sample: Sample) -> RunKind:
        """A run with a sandbox may leave files; one with tools leaves calls; any other leaves text."""
        if as_dict(self.header.get("eval")).get("sandbox") or sample.sample.get("sandbox"):
            return RunKind.CODING
        records = [
            each for thread in sample.threads.values() for each in thread.records if not isinstance(each, Damage)
        ]
        has_tools = any(each.kind in {EventKind.TOOLS, EventKind.OBSERVATION} or each.calls for each in records)
        return RunKind.TOOL_USE if has_tools else RunKind.TEXT

    def _facts(self, thread: Thread) -> Iterator[Record]:
        log, plan = as_dict(self.header.get("eval")), as_dict(self.header.get("plan"))
        config = as_dict(log.get("model_generate_config")) | as_dict(plan.get("config")) | thread.config
        for name in _SAMPLING:
            if config.get(name) is not None:
                yield ManifestFact(f"sampling.{name}", config[name], FieldSource.DECLARED, where="plan.config")
        if thread.model is not None:
            yield ManifestFact("model.id", thread.model, FieldSource.MEASURED, where="output.model")
        revision = as_dict(log.get("revision"))
        declared = (
            ("model.id_requested", log.get("model"), "eval.model"),
            ("model.base_url", log.get("model_base_url"), "eval.model_base_url"),
            ("harness.name", "inspect_ai", "eval.packages"),
            ("harness.version", as_dict(log.get("packages")).get("inspect_ai"), "eval.packages"),
            ("harness.revision", revision.get("commit"), "eval.revision"),
            ("harness.task_version", log.get("task_version"), "eval.task_version"),
            ("harness.task_args", log.get("task_args") or None, "eval.task_args"),
            ("env.sandbox", _sandbox(log.get("sandbox")), "eval.sandbox"),
        )
        for field, value, where in declared:
            if value is not None and value != "":
                yield ManifestFact(field, value, FieldSource.DECLARED, where=where)


def _opens_eval(source: Source) -> bool:
    """Whether an archive is a log. An archive of a journal alone shows it without its folder."""
    for name in ("header.json", _JOURNAL + "start.json", "start.json"):
        try:
            found = source.child(name)
            head = b"" if found is None else found.head(_HEAD_BYTES)
        except InputError:
            continue
        if _LOG.match(head):
            return True
    return False


def _document(source: Source, name: str) -> object:
    """A member, decoded; None where there is none, damage where it cannot be read."""
    try:
        found = source.child(name)
        return None if found is None else read_document(found)
    except InputError as error:
        return Damage(0, 0, f"{shortened(name, 120)}: {error.message}", code=error.code, taints_run=False)


def _order(name: str) -> tuple[list[tuple[bool, int, str]], int]:
    """Samples by id, numbers by value, then by epoch."""
    found = _MEMBER.fullmatch(name.removeprefix("samples/"))
    sample, epoch = (found[1], int(found[2])) if found else (name, 0)
    parts = [(each.isdigit(), int(each[:18]) if each.isdecimal() else 0, each) for each in _DIGITS.split(sample)]
    return parts, epoch


def _sample_key(record: dict[str, object]) -> tuple[str, int]:
    epoch = as_count(record.get("epoch"))
    return as_name(record.get("id")) or "", 1 if epoch is None else epoch


def _sha256(value: object) -> str:
    return hashlib.sha256(raw_bytes(compact(value))).hexdigest()


def _sandbox(given: object) -> object:
    """Type and configuration's name; a configuration that is an object has no name."""
    if isinstance(given, str):
        return given
    if isinstance(given, list):
        given = {"type": next(iter(given), None), "config": given[1] if len(given) > 1 else None}
    parts = [as_name(as_dict(given).get(name)) for name in ("type", "config")]
    return ":".join(part for part in parts if part) or None


def _outcomes(record: dict[str, object], offset: int) -> Iterator[Record]:
    """Scores; one of several values is an outcome each. The patch that a scorer took is the run's."""
    scores = _scores(record)
    invalidation = as_dict(record.get("invalidation"))
    if invalidation:
        said = as_text(invalidation.get("reason")) or "without a reason"
        reason = f"the sample was invalidated, so its scores are left out: {shortened(said, 120)}"
        yield Damage(offset, 0, reason, code="invalidated-sample", taints_run=False)
    for name, score in scores.items():
        value = score.get("value") if isinstance(score, dict) else score
        for key, each in value.items() if isinstance(value, dict) else [("", value)]:
            label = f"{name}.{key}" if key else name
            known = each if isinstance(each, bool | str) else as_number(each)
            if isinstance(each, list):
                known = compact(each)
            if invalidation:
                continue
            if known is not None:
                yield OutcomeRecord(label, known)
            elif each is not None:
                reason = f"the score {shortened(label, 80)!r} is no finite number"
                yield Damage(offset, 0, reason, code="odd-number", taints_run=False)
        patch = as_dict(as_dict(score).get("metadata")).get("model_patch")
        if isinstance(patch, str):
            base = as_text(as_dict(record.get("metadata")).get("base_commit"))
            yield PatchRecord(raw_bytes(patch), base_commit=base)


def _scores(record: dict[str, object]) -> dict[str, object]:
    return as_dict(record.get("scores")) or ({"score": record["score"]} if record.get("score") else {})


def _was_done(record: dict[str, object], thread: Thread, status: str | None) -> bool:
    """Whether a sample had ended when it was logged; in older logs, which have no times, its last calls tell."""
    if status == "success" or record.get("completed_at") or _scores(record):
        return True
    return not record.get("started_at") and not thread.has_open_calls


def _end(record: dict[str, object], thread: Thread, status: str | None) -> RunEnd:
    """An error or a limit of the sample ends it, or the end of its log; else the last reply's reason."""
    ended = as_text(record.get("completed_at"))
    error, limit = as_dict(record.get("error")), record.get("limit")
    if error:
        message = as_text(error.get("message")) or "error"
        return RunEnd(EndReason.ERROR, shortened(message, 200), ended)
    if limit:
        kind = as_name(as_dict(limit).get("type")) or as_text(limit) or "limit"
        reason = (
            EndReason.TIMEOUT
            if kind in {"time", "working"}
            else EndReason.CANCELLED
            if kind == "operator"
            else EndReason.LIMIT
        )
        return RunEnd(reason, f"{shortened(kind, 40)} limit", ended)
    if not _was_done(record, thread, status):
        reason = EndReason.CANCELLED if status in {"cancelled", "error"} else EndReason.LOG_TRUNCATED
        return RunEnd(reason, f"logged before it was done, in a log that is {shortened(status or 'unfinished', 40)}")
    if thread.stop in _LIMIT_STOPS:
        return RunEnd(EndReason.LIMIT, thread.stop, ended)
    if thread.stop == "content_filter":
        return RunEnd(EndReason.ERROR, thread.stop, ended)
    is_recorded = thread.stop is not None or bool(as_list(record.get("messages")))
    return RunEnd(EndReason.FINISHED if is_recorded else EndReason.UNRECORDED, thread.stop, ended)


READER = InspectLog()
