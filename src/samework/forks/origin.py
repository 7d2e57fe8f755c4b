"""Where a fork comes from, by the kind of the first differing event and what is recorded of it. Pure.

Refuses to name an origin where the record before the fork has gaps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from samework.model.words import EventKind, Grade
from samework.secrets.finding import may_be_said
from samework.text import shortened

if TYPE_CHECKING:
    from samework.forks.rows import Branch, Member, Node, RunFacts

_INPUTS = {EventKind.SYSTEM.value, EventKind.TOOLS.value, EventKind.USER.value}


class Origin(msgspec.Struct, frozen=True):
    """A word such as `model/greedy`, the sentence that decided it, and the grade of equal prompt ids where they did."""

    word: str
    evidence: str
    prompt_grade: str | None = None


def fork_origin(node: Node, runs: dict[int, RunFacts], workspaces: dict[tuple[int, int], str] | None = None) -> Origin:
    """Origin of a node, by the table of docs/equivalence.md, forks.

    Args:
        node: the runs and the events by which they left.
        runs: facts by run_key.
        workspaces: tree of the workspace by (run_key, seq), where the observation's own is not recorded.
    """
    branches = [way for way in (_whole(branch, runs) for branch in node.branches) if way]
    if len(branches) < _TWO:
        return Origin("unknown", "a record is incomplete before this event: what came first cannot be told")
    gone = [way for way in branches if way[0].kind != EventKind.END.value]
    if len(gone) < _TWO:
        return Origin("termination", _ending(branches, runs))
    found = _by_kind(node, gone, runs, workspaces or {})
    if len(gone) < len(branches):
        return msgspec.structs.replace(found, evidence=found.evidence + "; another run ended here")
    return found


_TWO = 2


def _whole(branch: Branch, runs: dict[int, RunFacts]) -> list[Member]:
    return [m for m in branch.members if runs[m.run_key].is_whole_before(m.source_offset)]


def _ending(branches: list[list[Member]], runs: dict[int, RunFacts]) -> str:
    reasons = sorted(
        {way[0].branch.decode("utf-8", "replace") for way in branches if way[0].kind == EventKind.END.value}
    )
    arms = {runs[m.run_key].run_id for way in branches if way[0].kind == EventKind.END.value for m in way}
    return f"{len(arms)} run(s) ended here by themselves ({', '.join(reasons)})"


def _by_kind(
    node: Node, ways: list[list[Member]], runs: dict[int, RunFacts], workspaces: dict[tuple[int, int], str]
) -> Origin:
    kinds = sorted({way[0].kind for way in ways})
    if len(kinds) > 1:
        return Origin("harness", f"after the same record comes {' or '.join(kinds)}")
    kind = kinds[0]
    if kind in _INPUTS:
        return Origin("input", f"the {kind} text differs")
    if kind == EventKind.CONTEXT_EDIT:
        return Origin("harness", "the harness edited the context differently")
    if kind == EventKind.OBSERVATION:
        return _environment(ways, workspaces)
    return _completion(node, ways, runs)


def _environment(ways: list[list[Member]], workspaces: dict[tuple[int, int], str]) -> Origin:
    """The call is the same, for the chain before it is; what it met may not have been."""
    trees: set[str] = set()
    for member in (member for way in ways for member in way):
        before = member.workspace or workspaces.get(
            (member.run_key, -1 if member.call_seq is None else member.call_seq)
        )
        if before is None:
            return Origin("environment/workspace_unrecorded", "the same call was answered differently")
        trees.add(before)
    if len(trees) == 1:
        return Origin(
            "environment/workspace_equal", "the same call on the same workspace tree was answered differently"
        )
    return Origin("environment/workspace_differed", "the same call met workspace trees that differed already")


def _completion(node: Node, ways: list[list[Member]], runs: dict[int, RunFacts]) -> Origin:
    facts = [runs[member.run_key] for way in ways for member in way]
    sub, sampling = sampling_of(facts)
    prompts, why, grade = _prompts(ways, runs)
    before = "; the visible text is the same" if node.only_tokens else ""
    if prompts == "differ":
        return Origin("input/retokenised", f"prompt token ids differ under equal text{before}")
    if prompts == "equal":
        return Origin("model" + sub, f"{why}; {sampling}{before}", grade)
    if any(fact.observations_cut for fact in facts):
        return Origin("unknown", f"the recorder cut observations, and {why}")
    return Origin("model-or-template" + sub, f"{why}; {sampling}{before}")


def _prompts(ways: list[list[Member]], runs: dict[int, RunFacts]) -> tuple[str, str, str | None]:
    """equal, differ or unrecorded; why, in words; and the grade where the ids of all runs are equal."""
    members = [member for way in ways for member in way]
    tokenizers = {runs[member.run_key].tokenizer for member in members}
    missing = sum(member.prompt is None for member in members)
    if len(tokenizers) > 1 or None in tokenizers:
        why = "prompt token ids unrecorded" if missing else "the tokenizer is not known to be the same"
        return "unrecorded", why, None
    known = [{member.prompt for member in way if member.prompt is not None} for way in ways]
    distinct = set().union(*known)
    if len(distinct) == 1 and not missing:
        direct = all(runs[member.run_key].prompt_grade == Grade.DIRECT for member in members)
        held = "engine-emitted" if direct else "by digest"
        grade = Grade.DIRECT.value if direct else Grade.DIGEST.value
        return "equal", f"prompt token ids equal in {len(members)} runs ({held})", grade
    if any(sum(prompt in way for way in known) > 1 for prompt in distinct):
        why = f"prompt token ids equal across branches in some of {len(members)} runs, other or unrecorded in the rest"
        return "equal", why, None
    if len({runs[member.run_key].prompt_grade == Grade.DIGEST for member in members}) > 1:
        return "unrecorded", "prompt token ids are held of some runs, and only a producer's digest of others", None
    if len(distinct) > 1:
        return "differ", "", None
    return "unrecorded", f"prompt token ids unrecorded in {missing} of {len(members)} runs", None


def sampling_of(facts: list[RunFacts]) -> tuple[str, str]:
    """Suffix of the origin and words: /greedy, /seeded, /sampling, or nothing where the temperature is unrecorded."""
    heats = {_number(fact.temperature) for fact in facts}
    asked = " (as requested)" if any(fact.temperature_is_requested for fact in facts) else ""
    if None in heats:
        return "", "temperature unrecorded"
    shown = ", ".join(f"{heat:g}" for heat in sorted(heat for heat in heats if heat is not None))
    if heats == {0.0}:
        return "/greedy", f"temperature 0{asked}"
    seeds = {None if fact.seed is None else str(fact.seed) for fact in facts}
    if None in seeds:
        return "/sampling", f"temperature {shown}{asked}, seed unrecorded: other samples are to be expected"
    if len(seeds) == 1 and len(heats) == 1:
        seed = str(seeds.pop())
        said = shortened(seed, 40) if may_be_said("seed", seed) else "one"
        return "/seeded", f"temperature {shown}{asked}, seed {said} in all runs"
    return "/sampling", f"temperature {shown}{asked}, seeds or temperatures differ"


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
