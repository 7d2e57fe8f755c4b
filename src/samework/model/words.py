"""The words of the field, each once: verdicts, grades, facets, classes, origins, consequences.

Values are what JSON, SQL and reports show. Refuses to hold logic beyond an order of strength.
"""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """What the evidence says of one facet of a pair."""

    SAME = "same"
    DIFFERENT = "different"
    UNKNOWN = "unknown"
    NOT_APPLICABLE = "not_applicable"


class Grade(StrEnum):
    """How strong a piece of evidence is; see `strength`."""

    DIRECT = "direct"
    DIGEST = "digest"
    DERIVED = "derived"
    IMPLIED = "implied"
    ASSERTED = "asserted"
    NONE = "none"

    @property
    def strength(self) -> int:
        """5 for direct down to 0 for none."""
        return _STRENGTH[self]


_STRENGTH = {grade: 5 - place for place, grade in enumerate(Grade)}


def weakest(*grades: Grade) -> Grade:
    """The minimum grade; `none` where there is nothing to weigh.

    >>> weakest(Grade.DIRECT, Grade.ASSERTED)
    <Grade.ASSERTED: 'asserted'>
    """
    return min(grades, key=lambda grade: grade.strength, default=Grade.NONE)


class Facet(StrEnum):
    """The sides of a run that can be compared."""

    TOKENS = "tokens"
    TEXT = "text"
    ACTIONS = "actions"
    OBSERVATIONS = "observations"
    PATCH = "patch"
    TREE = "tree"
    TESTS = "tests"
    OUTCOME = "outcome"
    INVARIANTS = "invariants"


class RunClass(StrEnum):
    """Class of a pair, strongest first; `unresolved` is no class."""

    TOKEN = "token-identical"  # noqa: S105 (a class, not a password)
    TREE = "tree-identical"
    TESTS = "tests-identical"
    DIVERGENT = "divergent"
    UNRESOLVED = "unresolved"


class Status(StrEnum):
    """How firmly a class is held."""

    ESTABLISHED = "established"
    AT_LEAST = "at_least"
    PROVISIONAL = "provisional"
    UNRESOLVED = "unresolved"


class RunKind(StrEnum):
    """What a run was to leave: a tree, calls, or text."""

    CODING = "coding"
    TOOL_USE = "tool-use"
    TEXT = "text"


class EventKind(StrEnum):
    """Kinds of event of a trajectory."""

    SYSTEM = "system"
    TOOLS = "tools"
    USER = "user"
    CONTEXT_EDIT = "context_edit"
    COMPLETION = "completion"
    OBSERVATION = "observation"
    END = "end"


class EndReason(StrEnum):
    """Why a run ended, in words common to all formats.

    After timeout, crash, cancelled and log_truncated it was cut off from outside, so that a shorter record is no
    different one: the queries that ask for this name these four.
    """

    FINISHED = "finished"
    LIMIT = "limit"
    ERROR = "error"
    TIMEOUT = "timeout"
    CRASH = "crash"
    CANCELLED = "cancelled"
    LOG_TRUNCATED = "log_truncated"
    UNRECORDED = "unrecorded"


class FieldSource(StrEnum):
    """Where a manifest value comes from, strongest first."""

    MEASURED = "measured"
    DECLARED = "declared"
    DEFAULTED = "defaulted"


class Absence(StrEnum):
    """Why a manifest value is missing. Absent is never zero."""

    UNRECORDED = "unrecorded"
    REDACTED = "redacted"
    UNOBSERVABLE = "unobservable"
    NOT_APPLICABLE = "n/a"


class NodeResult(StrEnum):
    """Outcome of one test node; `missing` is an absent node of a complete report."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"
    MISSING = "missing"

    @property
    def executed(self) -> bool:
        """True where the test body really ran."""
        return self in _EXECUTED


_EXECUTED = frozenset({NodeResult.PASSED, NodeResult.FAILED, NodeResult.ERROR, NodeResult.XFAILED, NodeResult.XPASSED})


class Consequence(StrEnum):
    """What a fork led to; `changed work` is C2 and above."""

    COMPLETION_ONLY = "C0"
    ABSORBED = "C1"
    TREE = "C2"
    TESTS = "C3"
    REVIEW = "C4"
    UNKNOWN = "CU"
