"""Terminal-Bench 1 results: results.json of a job, or of one trial; each trial is a run with its test report.

The record holds no conversation, only what the tests said. A trial without parser results has no report, and one whose
tests ran out of time has an incomplete one.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from samework.decode.elements import Part, iter_parts
from samework.decode.shapes import as_dict, as_name, as_number, as_text, compact
from samework.errors import DamagedRecord
from samework.model.reader import Evidence
from samework.model.records import (
    Damage,
    NodeOutcome,
    OutcomeRecord,
    RunEnd,
    RunStart,
    SuiteReport,
)
from samework.model.words import EndReason, NodeResult, RunKind
from samework.text import raw_bytes, shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_KEYS = (rb'"is_resolved"\s*:', rb'"parser_results"\s*:', rb'"task_id"\s*:', rb'"(?:trial_name|failure_mode)"\s*:')
_STREAMED = frozenset({"results"})
_TRIAL = re.compile(r".+\.([0-9]{1,9})-of-[0-9]{1,9}(?:\..*)?", re.DOTALL)
_RESULTS = {
    "passed": NodeResult.PASSED,
    "failed": NodeResult.FAILED,
    "error": NodeResult.ERROR,
    "skipped": NodeResult.SKIPPED,
    "xfailed": NodeResult.XFAILED,
    "xpassed": NodeResult.XPASSED,
}
_ENDS = {
    "none": EndReason.FINISHED,
    "unset": EndReason.FINISHED,
    "agent_timeout": EndReason.TIMEOUT,
    "context_length_exceeded": EndReason.LIMIT,
    "output_length_exceeded": EndReason.LIMIT,
    "test_timeout": EndReason.FINISHED,
    "parse_error": EndReason.FINISHED,
    "agent_installation_failed": EndReason.ERROR,
    "fatal_llm_parse_error": EndReason.ERROR,
    "unknown_agent_error": EndReason.ERROR,
    "unknown": EndReason.ERROR,
}


class TerminalBench:
    """Reader of Terminal-Bench results."""

    name = "terminal_bench"
    title = "Terminal-Bench 1 results"
    detects = "a JSON object with `is_resolved` and `parser_results`, or with a list `results` of such"
    proven = False
    evidence = Evidence(tests="outcome of each test by name", outcome="resolved")

    def sniff(self, head: bytes, source: Source) -> float:
        """0.95 where the keys of a trial are in the head."""
        if source.is_dir or not head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"{", b"[")):
            return 0.0
        return 0.95 if all(re.search(key, head) for key in _KEYS) else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield a run a trial.

        Raises: DamagedRecord: not one trial could be read.
        """
        members: dict[str, object] = {}
        first: Damage | None = None
        n_runs = 0
        for part in iter_parts(source, _STREAMED):
            if isinstance(part, Damage):
                first = first or part
                yield part
            elif part.index is None:
                members[part.key] = part.value
            elif isinstance(part.value, dict) and as_name(part.value.get("task_id")):
                n_runs += 1
                yield from _trial(part.value, part.offset)
            else:
                first = first or _no_trial(part)
                yield _no_trial(part)
        if not n_runs and as_name(members.get("task_id")):
            n_runs = 1
            yield from _trial(members, 0)
        if not n_runs:
            reason = first.reason if first is not None else "no trial"
            raise DamagedRecord(reason, place=visible(source.path), code=first.code if first else "damaged-record")


def _no_trial(part: Part) -> Damage:
    return Damage(part.offset, len(part.raw), "no trial: it names no task", taints_run=False)


def _trial(record: dict[str, object], offset: int) -> Iterator[Record]:
    name = as_name(record.get("trial_name"))
    found = _TRIAL.fullmatch(name or "")
    kept = ("total_input_tokens", "total_output_tokens", "recording_path")
    extra = {key: record[key] for key in kept if as_name(record.get(key)) is not None}
    yield RunStart(
        task=as_name(record.get("task_id")),
        repeat=found[1] if found else None,
        kind=RunKind.CODING,
        layout="terminal-bench",
        native_id=name or as_name(record.get("id")),
        recorder="terminal-bench",
        started=as_text(record.get("agent_started_at")) or as_text(record.get("trial_started_at")),
        ended=as_text(record.get("agent_ended_at")) or as_text(record.get("trial_ended_at")),
        content_sha256=hashlib.sha256(raw_bytes(compact(record))).hexdigest(),
        extra=extra or None,
    )
    mode = as_text(record.get("failure_mode")) or ""
    results = record.get("parser_results")
    if isinstance(results, dict):
        yield _report(results, mode, offset)
    resolved = record.get("is_resolved")
    if isinstance(resolved, bool):
        yield OutcomeRecord("resolved", resolved)
    if (reward := as_number(as_dict(record.get("extra")).get("reward"))) is not None:
        yield OutcomeRecord("reward", reward)
    yield RunEnd(_ENDS.get(mode, EndReason.UNRECORDED), shortened(mode, 80) or None)


def _report(results: dict[str, object], mode: str, offset: int) -> SuiteReport:
    """The tests by name. Of a run of the tests that was cut short, nobody knows what is missing."""
    known = {node: _RESULTS.get(str(word).lower()) for node, word in results.items()}
    odd = sorted({shortened(str(results[node]), 40) for node, result in known.items() if result is None})
    is_cut = mode == "test_timeout"
    reason = "test_timeout" if is_cut else "unknown_outcome" if odd else None if known else "no_tests"
    return SuiteReport(
        tuple(NodeOutcome(node, result) for node, result in known.items() if result is not None),
        complete=reason is None,
        format="terminal_bench",
        incomplete_reason=reason,
        findings=tuple(f"the outcome {word!r} is not known" for word in odd),
        offset=offset,
    )


READER = TerminalBench()
