"""What the words of a report mean, in a sentence each. Text only; refuses to decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from samework.model.results import Reconvergence
    from samework.report.data import TestsView

CLASSES = ("token-identical", "tree-identical", "tests-identical", "divergent", "unresolved")
FACETS = ("tokens", "text", "actions", "observations", "patch", "tree", "tests", "outcome", "invariants", "review")

QUESTION = {
    "token-identical": "Did the model say exactly the same?",
    "tree-identical": "Did it leave exactly the same files?",
    "tests-identical": "Can the tests tell the two results apart?",
    "divergent": "Is the work another one?",
    "unresolved": "Does the evidence decide at all?",
}
MEANING = {
    "token-identical": "Both runs produced the same tokens and left the same result.",
    "tree-identical": "The runs took different words to the same files: the work did not change.",
    "tests-identical": "The files differ, and the recorded tests cannot tell the two results apart.",
    "divergent": "The work changed: the runs left different results, and the tests tell them apart.",
    "unresolved": "The evidence does not decide which class this pair belongs to.",
}
MEANING_WITHOUT_TOKENS = {
    "tree-identical": "The runs left the same files; whether the tokens were the same was not recorded.",
    "tests-identical": "The tests cannot tell the results apart; whether the files are the same was not recorded.",
}
STATUS = {
    "established": "All that decides was recorded.",
    "at_least": "It may belong to a stronger class: a stronger facet was not recorded.",
    "provisional": "It rests on an assumption or an inference, and better evidence could overturn it.",
    "unresolved": "",
}
VERDICT_GLYPH = {"same": "●", "different": "◆", "unknown": "○", "not_applicable": "–"}  # noqa: RUF001 (a dash on purpose)
CONSEQUENCE = {
    "C0": "only the wording changed",
    "C1": "calls or results changed, and the files came out the same",
    "C2": "the files changed, the tests did not notice",
    "C3": "the tests came out differently",
    "C4": "a reviewer found that it matters",
    "CU": "what came of it is not recorded",
}
_EFFECT = {"consequential": "the work changed, how far is not recorded", "absorbed": "the files came out the same"}
CLAIM_GLYPH = {"licensed": "✓", "refuted": "✗", "not_establishable": "?"}
FUNNEL = (
    ("tokens", "other tokens"),
    ("actions", "another tool call"),
    ("tree", "other files"),
    ("tests", "other test outcomes"),
)


def meaning(run_class: str, status: str) -> str:
    """One sentence on what a class says of a pair."""
    if status == "at_least" and run_class in MEANING_WITHOUT_TOKENS:
        return MEANING_WITHOUT_TOKENS[run_class]
    return MEANING[run_class]


def came_of(consequence: str, effect: str) -> str:
    """What a consequence means; an unknown one still says what is known of it."""
    if consequence == "CU" and effect in _EFFECT:
        return _EFFECT[effect]
    return CONSEQUENCE[consequence]


def steps(first: int, n: int) -> str:
    """Steps of one side of a span.

    >>> steps(3, 4), steps(3, 1), steps(3, 0)
    ('3 to 6', '3', '–')
    """  # noqa: RUF002 (a dash on purpose)
    if not n:
        return "\N{EN DASH}"
    return f"{first:,}" if n == 1 else f"{first:,} to {first + n - 1:,}"


def meeting(found: Reconvergence) -> str:
    """Where two runs go alike again, in words."""
    by = "the trees of their workspaces" if found.by == "workspace" else "their calls"
    return f"after step {found.step_a} of A and step {found.step_b} of B they go alike to the end, by {by}"


def tests_counted(tests: TestsView) -> str:
    """How many tests of a pair agree, differ, are not known of one side, and were set aside."""
    parts = [
        f"{counted(tests.n_equal, 'node has', 'nodes have')} equal outcomes",
        counted(tests.n_differing, "differs", "differ"),
    ]
    if tests.n_open:
        parts.append(f"{tests.n_open:,} unknown, for a report that lacks them is incomplete")
    aside = f"; {len(tests.quarantined):,} set aside as flaky" if tests.quarantined else ""
    return f"{', '.join(parts)}{aside}."


def plain(slug: str) -> str:
    """A slug as words.

    >>> plain("token_ids_unrecorded")
    'token ids unrecorded'
    """
    return slug.replace("_", " ")


def counted(n: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun.

    >>> counted(1, "pair"), counted(12345, "pair")
    ('1 pair', '12,345 pairs')
    """
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"
