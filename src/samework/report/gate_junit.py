r"""A gate's answer as JUnit XML: one test case a task; undecided tasks are skipped, with the reason.

Where the gate does not decide, its own case says so, for a reader that takes skipped tests for passed ones. Text of
runs is made visible first; what XML 1.0 cannot hold (control characters, surrogates, U+FFFE, U+FFFF) becomes an escape.
"""

from __future__ import annotations

import re
from io import BytesIO
from typing import TYPE_CHECKING

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from samework.experiment.gate_said import task_said
from samework.text import visible

if TYPE_CHECKING:
    from samework.model.gate import GateResult, GateTask

_NO_XML = re.compile("[\ufffe\uffff]")
_GATE_CASE = "the gate"


def gate_junit(found: GateResult) -> bytes:
    """The report as bytes, UTF-8 with an XML declaration; every reader of JUnit XML opens it."""
    suite = TestSuite(_safe(f"samework gate {found.require}"))
    for name, value in _properties(found).items():
        suite.add_property(_safe(name), _safe(value))
    suite.add_testcases([*(_case(task, found) for task in found.by_task), _whole(found)])
    root = JUnitXml()
    root.add_testsuite(suite)
    root.update_statistics()  # type: ignore[no-untyped-call]
    made = BytesIO()
    root.write(made)
    return made.getvalue()


def _properties(found: GateResult) -> dict[str, str]:
    asked = {
        "verdict": found.verdict.value,
        "baseline": found.baseline,
        "candidate": found.candidate,
        "require": found.require,
        "at_most": found.at_most or "no failing task",
        "strict": str(found.strict).lower(),
        "accept_provisional": str(found.accept_provisional).lower(),
    }
    control = found.baseline_control
    shown = {f"tasks.{name}": str(number) for name, number in found.tasks.items()}
    shown["baseline_control.tasks"] = str(control.tasks)
    shown["baseline_control.differs"] = str(control.differs)
    return asked | shown


def _case(task: GateTask, found: GateResult) -> TestCase:
    case = TestCase(_safe(task.task), classname=_safe(f"samework.gate.{found.require}"))
    why = task_said(task, found.require)
    details = [f"samework compare {pair.a} {pair.b}" for pair in task.examples]
    details += [f"{gap.facet}: {gap.sentence or gap.reason}" for gap in task.missing]
    if task.standing == "failed":
        case.result = [_told(Failure(_safe(why), task.standing.value), details)]
    elif task.standing != "passed":
        case.result = [_told(Skipped(_safe(why), task.standing.value), details)]
    return case


def _whole(found: GateResult) -> TestCase:
    """The verdict over all tasks: with --at-most it may pass although a task fails, and fail to decide otherwise."""
    case = TestCase(_GATE_CASE, classname="samework.gate")
    if found.verdict != "passes":
        kind = Failure if found.verdict == "fails" else Error
        case.result = [_told(kind(_safe(found.said[0]), found.verdict.value), list(found.said[1:]))]
    return case


def _told(element: Failure | Skipped | Error, lines: list[str]) -> Failure | Skipped | Error:
    if lines:
        element.text = _safe("\n".join(lines))
    return element


def _safe(text: str) -> str:
    shown = visible(text)
    return _NO_XML.sub(lambda found: f"\\u{ord(found.group()):04x}", shown)
