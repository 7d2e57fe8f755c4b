"""The gate: checks what was asked, and says of each gap what to record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from samework.api.files import writing
from samework.api.inventory import prevents
from samework.api.runs import check_names
from samework.errors import UsageError
from samework.experiment.gate import gate
from samework.experiment.gate_requirement import requirement
from samework.experiment.gate_terms import Terms, parsed_share

if TYPE_CHECKING:
    from pathlib import Path

    from samework.model.gate import GateGap, GateResult
    from samework.store.connection import StoreHandle

# Reasons that lie in a pair or that `show` has no sentence for; by slug, the part after @ left out.
_RECORD: Final[dict[str, str]] = {
    "env_assumed": (
        "nobody recorded the suite's environment, so equal and unequal outcomes are provisional; name it with "
        "`--suite NAME --env NAME` at ingest, or take what is provisional with --accept-provisional"
    ),
    "base_assumed": (
        "nobody recorded the commit that the patches apply to, so equal patches are provisional; record it, or take "
        "what is provisional with --accept-provisional"
    ),
    "env_unrecorded": "the environment of the tests is unrecorded and --strict assumes none; name it with `--env NAME`",
    "suite_unrecorded": "the reports name no suite; name it with `--suite NAME` at ingest or attach",
    "suite_or_env_differs": (
        "the two runs were tested with different suites or environments; run one suite in one environment on both"
    ),
    "report_incomplete": (
        "a report is incomplete: a test absent from it says nothing, so tests can differ but never be the same; let "
        "the suite run to its end"
    ),
    "flaky_overlap": "the same tests passed and failed; repeat the suite on both trees, or leave --strict out",
    "no_report": "no test report: `samework attach RUN --tests FILE` adds one",
    "vacuous": "agreement about nothing is not evidence: no test was executed, or no call was made",
    "tree_unrecorded": (
        "no tree and no patch: `samework attach RUN --worktree DIR` or `--repo DIR --base COMMIT --patch FILE` adds it"
    ),
    "patch_unusable": "the patch cannot stand for a tree; attach the worktree, or the repository with the base commit",
    "policy": "the trees were taken in different ways or under different scopes; take both alike",
    "base_unrecorded": "a patch without its base commit cannot be compared; record the base commit of the task",
    "kind_has_no_tree": "runs of this kind leave no tree to test: gate them apart, by --require outcome or actions",
    "incomplete_record": "the record of a run is damaged or cut; ingest it again when it is whole",
    "censored": "a run was cut off from outside before it could differ; run it again to its end",
    "no_trajectory": "no trajectory: ingest the record of what the run did",
    "names_differ": "the two runs were graded by different names; grade both alike",
    "outcome_unrecorded": "no grader's outcome is recorded; ingest the grader's report",
    "invariants_undeclared": "no invariants: `samework attach RUN --invariant NAME=true` declares one",
    "invariant_unknown": "an invariant's result is unknown; record whether it holds",
    "tokenizer": "token ids of different or unknown tokenizers cannot be compared; record tokenizer in run.json",
}


def run_gate(
    handle: StoreHandle,
    *,
    baseline: str,
    candidate: str,
    require: str,
    at_most: str | None,
    task: str | None,
    strict: bool,
    accept_provisional: bool,
) -> GateResult:
    """The gate's answer, with a sentence for each gap. Raises UsageError, NotFound, EvidenceError."""
    if baseline == candidate:
        raise UsageError("baseline and candidate are one arm; a gate compares two", hint="samework runs")
    terms = Terms(
        baseline=baseline,
        candidate=candidate,
        wanted=requirement(require),
        at_most=parsed_share(at_most) if at_most is not None else None,
        strict=strict,
        accept_provisional=accept_provisional,
    )
    check_names(handle, task=task, arms=[baseline, candidate])
    found = gate(handle, terms, task=task)
    tasks = tuple(msgspec.structs.replace(item, missing=_told(item.missing)) for item in found.by_task)
    return msgspec.structs.replace(found, missing=_told(found.missing), by_task=tasks)


def _told(gaps: tuple[GateGap, ...]) -> tuple[GateGap, ...]:
    return tuple(msgspec.structs.replace(gap, sentence=what_to_record(gap.facet, gap.reason)) for gap in gaps)


def what_to_record(facet: str, reason: str) -> str:
    """The sentence for a gap in a pair; the same as `samework show` gives where it has one.

    >>> what_to_record("tests", "suite_or_env_differs").partition(";")[0]
    'the two runs were tested with different suites or environments'
    """
    slug = reason.partition("@")[0]
    return _RECORD.get(slug) or prevents(facet, slug) or f"{facet}: {slug.replace('_', ' ')}"


def write_gate_files(found: GateResult, *, junit: Path | None = None, summary: Path | None = None) -> None:
    """Write what CI shows.

    Args:
        found: a gate's answer.
        junit: file for JUnit XML; one that exists is replaced.
        summary: file to whose end the Markdown is added, as GitHub wants it; made where there is none.

    Raises:
        InputError: a file cannot be written; the message has the reason.
    """
    from samework.report.gate_junit import gate_junit
    from samework.report.gate_markdown import gate_markdown

    if junit is not None:
        with writing(junit):
            junit.write_bytes(gate_junit(found))
    if summary is not None:
        with writing(summary), summary.open("ab") as end:
            end.write(gate_markdown(found).encode("utf-8", "backslashreplace"))
