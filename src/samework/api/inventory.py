"""What a piece of missing evidence prevents, in sentences: the answer to "why can samework not tell?". Pure."""

from __future__ import annotations

from typing import Final

FACETS: Final = ("tokens", "text", "actions", "observations", "patch", "tree", "tests", "outcome", "invariants")

_PREVENTS: Final[dict[tuple[str, str], str]] = {
    ("tokens", "token_ids_unrecorded"): (
        "no token ids: token-identical can never be established for this run; have the harness record the ids the "
        "engine returns (return_token_ids, or completion logprobs with ids)"
    ),
    ("tokens", "token_ids_partly_recorded"): (
        "token ids of some completions only: token-identical cannot be established; record them for every call"
    ),
    ("tokens", "prompt_ids_unrecorded"): (
        "token ids of completions but not of prompts: equal prompts are implied by equal text at best"
    ),
    ("tokens", "reasoning_hidden"): (
        "the provider kept reasoning back: equal visible text does not show equal tokens, so token-identical cannot "
        "be established"
    ),
    ("tokens", "tokenizer"): (
        "token ids without the tokenizer's digest: ids of two runs cannot be compared; record tokenizer in run.json"
    ),
    ("tree", "no_submission"): (
        "nothing was submitted: what the run left in its workspace is unknown, not empty; attach the worktree if it "
        "still exists"
    ),
    ("tree", "snapshot_failed"): "Git could not take the tree: no verdict on the tree can be given",
    ("tests", "incomplete"): (
        "the report is incomplete: a test absent from it says nothing, so tests can differ but never be the same"
    ),
    ("tests", "vacuous"): "no test was executed: agreement about nothing is not evidence",
}

_MISSING: Final[dict[str, str]] = {
    "tokens": "no completion with token ids: token-identical cannot be established",
    "text": "no completion recorded: neither text nor tokens can be compared",
    "actions": "no trajectory: what the run did cannot be compared, and no fork can be placed",
    "observations": "no complete tool results: an environment that answered differently cannot be told from a model "
    "that did",
    "tree": "no tree and no patch: whether the work is the same can rest on tests only; "
    "`samework attach RUN --worktree DIR` or `--repo DIR --base COMMIT --patch FILE` adds it",
    "tests": "no test report: different trees stay unresolved between tests-identical and divergent; "
    "`samework attach RUN --tests FILE` adds one",
}


def prevents(facet: str, reason: str | None) -> str | None:
    """The sentence for a facet without evidence; None where its absence costs nothing (the tree says it of patches).

    >>> prevents("tests", None).split(":")[0]
    'no test report'
    """
    return _PREVENTS.get((facet, reason or ""), _MISSING.get(facet))


def not_applicable(kind: str, facet: str) -> bool:
    """True where a run of this kind has no such artifact: text has no tree, tool use leaves calls only.

    >>> not_applicable("tool-use", "tree"), not_applicable("coding", "tree")
    (True, False)
    """
    return kind != "coding" and facet in {"patch", "tree", "tests"}
