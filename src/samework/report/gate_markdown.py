"""A gate's answer as Markdown for the summary of a CI job, at most `LIMIT` characters, untrusted text escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.experiment.gate_said import VERDICT_WORDS, task_said
from samework.report.markdown import LIMIT, code, plain_text
from samework.text import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.gate import GateResult, GateTask

_SIGNS = {"passes": "\N{WHITE HEAVY CHECK MARK}", "fails": "\N{CROSS MARK}", "does_not_decide": "\N{WARNING SIGN}"}
_NAME = 120
_CUT = "\n*Cut here; `samework gate --json` has all of it.*\n"
ORDER = ("failed", "undecided", "one_arm")


def gate_markdown(found: GateResult) -> str:
    """The answer as Markdown: verdict, sentences, what to record, and the tasks that do not pass."""
    made: list[str] = []
    used = 0
    for line in _lines(found):
        if used + len(line) + 1 > LIMIT - len(_CUT):
            return "\n".join(made) + "\n" + _CUT
        made.append(line)
        used += len(line) + 1
    return "\n".join(made) + "\n"


def unpassed(found: GateResult) -> list[GateTask]:
    """Tasks that do not pass: failed ones first, then undecided ones, then those that one arm ran."""
    left = [task for task in found.by_task if task.standing in ORDER]
    return sorted(left, key=lambda task: ORDER.index(task.standing))


def _lines(found: GateResult) -> Iterator[str]:
    yield f"## {_SIGNS[found.verdict]} samework gate {VERDICT_WORDS[found.verdict]}"
    yield ""
    for sentence in found.said:
        yield f"- {plain_text(sentence)}"
    for anomaly in found.anomalies:
        yield f"- **{plain_text(anomaly.code)}**: {plain_text(shortened(anomaly.text, 400))}"
    if found.missing:
        yield "\n### What to record\n"
        for gap in found.missing:
            runs = f" (such as {', '.join(code(run) for run in gap.runs)})" if gap.runs else ""
            n_tasks = f"{gap.n_tasks:,} task{'' if gap.n_tasks == 1 else 's'}"
            yield f"- {plain_text(gap.facet)}, {n_tasks}: {plain_text(gap.sentence or gap.reason)}{runs}"
    rows = unpassed(found)
    if not rows:
        return
    yield "\n### Tasks that do not pass\n"
    yield "| task | | why | look at |"
    yield "|---|---|---|---|"
    for task in rows:
        pair = task.examples[0] if task.examples else None
        look = code(f"samework compare {shortened(pair.a, _NAME)} {shortened(pair.b, _NAME)}") if pair else ""
        standing = plain_text(task.standing.replace("_", " "))
        why = plain_text(task_said(task, found.require))
        yield f"| {plain_text(shortened(task.task, _NAME))} | {standing} | {why} | {look} |"
