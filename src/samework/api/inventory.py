"""What a piece of missing evidence prevents, of a run or a pair: the answer to "why can samework not tell?". Pure."""

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
    ("text", "recorder_truncated"): "the record does not hold what some completion said: its text cannot be compared",
    ("actions", "recorder_truncated"): (
        "the record does not hold what some completion said: whether it called a tool cannot be told"
    ),
    ("tree", "no_submission"): (
        "nothing was submitted: what the run left in its workspace is unknown, not empty; attach the worktree if it "
        "still exists"
    ),
    ("tree", "snapshot_failed"): "Git could not take the tree: no verdict on the tree can be given",
    ("tests", "incomplete"): (
        "a report is incomplete: a test absent from it says nothing, so tests can differ but never be the same; let "
        "the suite run to its end"
    ),
    ("tests", "vacuous"): "no test was executed: agreement about nothing is not evidence",
    ("actions", "vacuous"): "no call was made: agreement about nothing is not evidence",
    ("observations", "vacuous"): "no tool answered: agreement about nothing is not evidence",
}
_SAME_AS: Final = {"report_incomplete": "incomplete"}  # what a pair calls it, and what a run does

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


# Reasons that lie in a pair, or that are the same on every facet; by slug, the part after @ left out.
_OF_PAIRS: Final[dict[str, str]] = {
    "env_assumed": (
        "nobody recorded the suite's environment, so equal and unequal outcomes are provisional; name it with "
        "`--suite NAME --env NAME` at ingest, or take what is provisional with --accept-provisional"
    ),
    "base_assumed": (
        "nobody recorded the commit that the patches apply to, so equal patches are provisional; record it, or take "
        "what is provisional with --accept-provisional"
    ),
    "tree_asserted": (
        "only the id of a tree is told and nobody holds the tree, so the verdict is provisional; attach the worktree "
        "or the repository, or take what is provisional with --accept-provisional"
    ),
    "patches_contradict": (
        "patches name the same blob ids for different changes or on different files, so their ids prove nothing; "
        "attach the worktrees, or the repository with the base commit"
    ),
    "env_unrecorded": "the environment of the tests is unrecorded and --strict assumes none; name it with `--env NAME`",
    "suite_unrecorded": "the reports name no suite; name it with `--suite NAME` at ingest or attach",
    "suite_or_env_differs": (
        "the two runs were tested with different suites or environments; run one suite in one environment on both"
    ),
    "flaky_overlap": "the same tests passed and failed; repeat the suite on both trees, or leave --strict out",
    "patch_unusable": "the patch cannot stand for a tree; attach the worktree, or the repository with the base commit",
    "policy": "the trees were taken in different ways or under different scopes; take both alike",
    "base_unrecorded": "a patch without its base commit cannot be compared; record the base commit of the task",
    "kind_has_no_tree": "runs of this kind leave no tree to test: gate them apart, by --require outcome or actions",
    "incomplete_record": "the record of a run is damaged or cut; ingest it again when it is whole",
    "censored": "a run was cut off from outside before it could differ; run it again to its end",
    "names_differ": "the two runs were graded by different names; grade both alike",
    "outcome_unrecorded": "no grader's outcome is recorded; ingest the grader's report",
    "invariants_undeclared": "no invariants: `samework attach RUN --invariant NAME=true` declares one",
    "invariant_unknown": "an invariant's result is unknown; record whether it holds",
}


def prevents(facet: str, reason: str | None) -> str | None:
    """The sentence for a facet without evidence; None where its absence costs nothing (the tree says it of patches).

    >>> prevents("tests", None).split(":")[0]
    'no test report'
    """
    return _PREVENTS.get((facet, reason or ""), _MISSING.get(facet))


def what_to_record(facet: str, reason: str) -> str:
    """The sentence for a gap in a pair; the same as for a run where it is one of its gaps.

    >>> what_to_record("tests", "suite_or_env_differs").partition(";")[0]
    'the two runs were tested with different suites or environments'
    >>> what_to_record("tests", "report_incomplete") == prevents("tests", "incomplete")
    True
    """
    slug = reason.partition("@")[0]
    return _OF_PAIRS.get(slug) or prevents(facet, _SAME_AS.get(slug, slug)) or f"{facet}: {slug.replace('_', ' ')}"


def not_applicable(kind: str, facet: str) -> bool:
    """True where a run of this kind has no such artifact: text has no tree, tool use leaves calls only.

    >>> not_applicable("tool-use", "tree"), not_applicable("coding", "tree")
    (True, False)
    """
    return kind != "coding" and facet in {"patch", "tree", "tests"}
