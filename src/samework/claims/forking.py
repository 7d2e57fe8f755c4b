"""Claims about why two runs parted at a completion. Pure; the ladder of wording is enforced here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.claims.check import Check, Finding, concluded, groups_check, missing, required
from samework.claims.requirements import COLD_SCOPES, NEVER_COMPARED, RESET_SCOPE, REUSED, WEIGHTS
from samework.equivalence.manifest_diff import DIFFERS, REQUESTED, group_of
from samework.model.words import EventKind, FieldSource, Grade

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from samework.claims.facts import Facts
    from samework.model.results import Claim, FieldDifference, ForkPlace

_CERTIFICATE = "same_transcript_different_continuation"
_PREFIX = "the visible prefix did not determine the continuation"
_DETERMINED = frozenset({"model/greedy", "model/seeded"})
_ALL_BUT_STATE = "MQELHW"
_GROUPS = "MQECLHW"


def is_completion_fork(fork: ForkPlace) -> bool:
    """True where both runs parted in what the model wrote."""
    return fork.event == EventKind.COMPLETION


def certificate(fields: Mapping[str, FieldDifference], fork: ForkPlace) -> Claim:
    """Same transcript, different continuation: a model fork, direct prompt ids, no randomness, equal weights."""
    return concluded(_CERTIFICATE, "same transcript, different continuation", _certificate(fields, fork), _PREFIX)


def _certificate(fields: Mapping[str, FieldDifference], fork: ForkPlace) -> Check:
    check = Check()
    if fork.origin == "input/retokenised":
        check += Check(differing=(Finding("prompt_token_ids", "prompt token ids differ"),))
    elif fork.prompt_grade is None or not fork.origin.startswith("model"):
        check += Check(missing=(Finding("prompt_token_ids", "sameness of prompt token ids unknown"),))
    elif fork.prompt_grade != Grade.DIRECT:
        words = f"sameness of prompt token ids only {fork.prompt_grade}, not direct"
        check += Check(missing=(Finding("prompt_token_ids", words),))
    if fork.origin.endswith("/sampling"):
        check += Check(missing=(Finding("sampling.seed", "sampled without one seed recorded for both"),))
    elif fork.origin.startswith("model") and fork.origin not in _DETERMINED and "/" not in fork.origin:
        check += Check(missing=(missing("sampling.temperature", fields.get("sampling.temperature")),))
    return check + required(fields, WEIGHTS)


def serving_state_excluded(fields: Mapping[str, FieldDifference], facts: Facts) -> Claim:
    """Serving state is excluded only by measurement: nothing reused after a cold start, or a certificate.

    A declared cache policy never suffices: a second cache may exist that it does not name.
    """
    title = "exclusion of serving state as the cause of the fork"
    licensed = "serving state is excluded as a cause: no request reused anything after a measured cold start"
    if facts.determinism_certificate:
        licensed = "serving state is excluded as a cause: this engine's tokens are certified not to depend on it"
        return concluded("serving_state_excluded", title, Check(), licensed)
    return concluded("serving_state_excluded", title, _reused(fields) + _cold(fields), licensed)


def _reused(fields: Mapping[str, FieldDifference]) -> Check:
    field = next((fields[name] for name in REUSED.names if name in fields), None)
    if field is None or field.missing is not None:
        return Check(missing=(missing(REUSED.names[0], field),))
    sides = (("A", field.a, field.a_source), ("B", field.b, field.b_source))
    reused = [f"run {name} reused {n} tokens" for name, value, _ in sides if (n := _total(value))]
    if reused:
        return Check(differing=(Finding(field.field, " and ".join(reused)),))
    return Check(missing=tuple(_unmeasured(field.field, name) for name, _, source in sides if not _measured(source)))


def _cold(fields: Mapping[str, FieldDifference]) -> Check:
    field = next((fields[name] for name in RESET_SCOPE.names if name in fields), None)
    if field is None or field.missing is not None:
        return Check(missing=(missing(RESET_SCOPE.names[0], field),))
    found = []
    for name, value, source in (("A", field.a, field.a_source), ("B", field.b, field.b_source)):
        if not _measured(source):
            found.append(_unmeasured(field.field, name))
        elif value not in COLD_SCOPES:
            found.append(Finding(field.field, f"{field.field} of run {name} is no cold start"))
    return Check(missing=tuple(found))


def _unmeasured(field: str, run: str) -> Finding:
    return Finding(field, f"{field} not measured in run {run}")


def _measured(source: str | None) -> bool:
    return source == FieldSource.MEASURED


def _total(value: object) -> int:
    parts = value if isinstance(value, list) else [value]
    return int(sum(part for part in parts if isinstance(part, int | float)))


def hidden_state_consistent(fields: Mapping[str, FieldDifference], fork: ForkPlace) -> Claim | None:
    """Only where the serving state is in part unrecorded: then it may be said to be consistent with the fork."""
    if not groups_check(fields, "C").missing:
        return None
    check = _certificate(fields, fork) + groups_check(fields, _ALL_BUT_STATE)
    return concluded(
        "hidden_state_consistent",
        "hidden serving state as an explanation",
        check,
        "hidden serving state is consistent with the fork; that it caused it is not shown",
    )


def fork_attributed(fields: Mapping[str, FieldDifference], facts: Facts) -> Iterator[Claim]:
    """One claim over the fields that differ; more than one of them are an alias set that a pair cannot split."""
    factors = [field for field in fields.values() if _is_factor(field)]
    if not factors:
        return
    names = ", ".join(field.field for field in factors)
    check = groups_check(fields, _GROUPS, besides=frozenset(field.field for field in factors))
    if len(factors) > 1:
        words = "these fields differ together and cannot be told apart"
        aliases = tuple(Finding(field.field, words) for field in factors)
        check = Check(missing=aliases) + check
    if facts.self_repeat_disagreements is None:
        check += Check(missing=(Finding("self_repeats", "self-repeats in both arms unrecorded"),))
    elif facts.self_repeat_disagreements:
        words = f"{facts.self_repeat_disagreements} self-repeats disagree within an arm"
        check += Check(differing=(Finding("self_repeats", words),))
    yield concluded(
        "fork_attributed",
        f"attribution of the fork to {names}",
        check,
        _ladder(names, facts),
        remark=_rung(check, len(factors)),
    )


def _is_factor(field: FieldDifference) -> bool:
    if field.state != DIFFERS or field.field.endswith(REQUESTED) or field.field in NEVER_COMPARED:
        return False
    return (group_of(field.field) or "V") in _GROUPS


def _ladder(names: str, facts: Facts) -> str:
    if facts.donor_followed:
        return f"the fork follows the donor of {names}"
    if facts.assigned_factor == names:
        return f"the fork is toggled by {names}, with self-repeat controls"
    return f"the fork co-varies with {names}, all else being equal"


def _rung(check: Check, n_factors: int) -> str:
    """What may be said instead where the attribution is blocked."""
    if check.differing or not check.missing:
        return ""
    return "the fork co-varies with it" if n_factors == 1 else "the fork co-varies with them"
