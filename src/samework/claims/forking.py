"""Claims about why two runs parted at a completion. Pure; the words come from `ladder`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.claims.check import Check, Finding, concluded, groups_check, hosted_check, missing, required, seed_check
from samework.claims.ladder import STATE, Rung, ladder_sentence, rung_of
from samework.claims.requirements import (
    COLD_SCOPES,
    EVERYTHING,
    NEVER_COMPARED,
    RESET_SCOPE,
    REUSED,
    TEMPERATURE,
    WEIGHTS_DIGEST,
)
from samework.equivalence.manifest_diff import DIFFERS, REQUESTED, group_of
from samework.model.words import EventKind, FieldSource, Grade

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from samework.claims.facts import Facts
    from samework.model.results import Claim, FieldDifference, ForkPlace

_CERTIFICATE = "same_transcript_different_continuation"
_PREFIX = "the visible prefix did not determine the continuation"
_ALL_BUT_STATE = "MQELHW"
_RUN = {"a": "A", "b": "B"}


def is_completion_fork(fork: ForkPlace) -> bool:
    """True where both runs parted in what the model wrote."""
    return fork.event == EventKind.COMPLETION


def certificate(fields: Mapping[str, FieldDifference], fork: ForkPlace, facts: Facts) -> Claim:
    """Same transcript, different continuation: a model fork, direct prompt ids, no randomness, equal weights."""
    check = hosted_check(fields, _certificate(fields, fork, facts))
    return concluded(_CERTIFICATE, "same transcript, different continuation", check, _PREFIX)


def _certificate(fields: Mapping[str, FieldDifference], fork: ForkPlace, facts: Facts) -> Check:
    check = _same_prefix(fork)
    for side, reason in facts.cut_off:
        words = f"run {_RUN[side]} was cut off in this completion ({reason})"
        check += Check(missing=(Finding("end_reason", words),))
    return check + required(fields, TEMPERATURE) + seed_check(fields) + required(fields, WEIGHTS_DIGEST)


def _same_prefix(fork: ForkPlace) -> Check:
    """The model read the same token ids, and both were held."""
    if fork.origin == "input/retokenised":
        return Check(differing=(Finding("prompt_token_ids", "prompt token ids differ"),))
    if fork.origin == "unknown":
        return Check(missing=(Finding("record", "the record before the fork is incomplete"),))
    if fork.prompt_grade is None or not fork.origin.startswith("model"):
        return Check(missing=(Finding("prompt_token_ids", "sameness of prompt token ids unknown"),))
    if fork.prompt_grade != Grade.DIRECT:
        words = f"sameness of prompt token ids only {fork.prompt_grade}, not direct"
        return Check(missing=(Finding("prompt_token_ids", words),))
    return Check()


def serving_state_excluded(fields: Mapping[str, FieldDifference], facts: Facts) -> Claim:
    """Serving state is excluded only by measurement: nothing reused after a cold start, or a certificate.

    A declared cache policy never suffices: a second cache may exist that it does not name.
    """
    title = "exclusion of serving state as the cause of the fork"
    licensed = "serving state is excluded as a cause: no request reused anything after a measured cold start"
    check = _reused(fields) + _cold(fields)
    if facts.determinism_certificate:
        check = Check()
        licensed = "serving state is excluded as a cause: this engine's tokens are certified not to depend on it"
        if facts.n_certified:
            bound = 1 - 0.05 ** (1 / facts.n_certified)
            licensed += (
                f" (0 of {facts.n_certified} tasks differ between cold and warm caches; the rate is below {bound:.3g} "
                "at 95 % confidence)"
            )
    return concluded("serving_state_excluded", title, hosted_check(fields, check), licensed)


def _reused(fields: Mapping[str, FieldDifference]) -> Check:
    field = next((fields[name] for name in REUSED.names if name in fields), None)
    if field is None or field.missing is not None:
        return Check(missing=(missing(REUSED.names[0], field),))
    sides = (("A", field.a, field.a_source), ("B", field.b, field.b_source))
    reused = [f"run {name} reused {n} tokens" for name, value, _ in sides if (n := _least_reused(value))]
    if reused:
        return Check(differing=(Finding(field.field, " and ".join(reused)),))
    unmeasured = [name for name, value, source in sides if n_reused(value) is None or source != FieldSource.MEASURED]
    return Check(missing=tuple(_unmeasured(field.field, name) for name in unmeasured))


def _cold(fields: Mapping[str, FieldDifference]) -> Check:
    field = next((fields[name] for name in RESET_SCOPE.names if name in fields), None)
    if field is None or field.missing is not None:
        return Check(missing=(missing(RESET_SCOPE.names[0], field),))
    found = []
    for name, value, source in (("A", field.a, field.a_source), ("B", field.b, field.b_source)):
        if source != FieldSource.MEASURED:
            found.append(_unmeasured(field.field, name))
        elif value not in COLD_SCOPES:
            found.append(Finding(field.field, f"{field.field} of run {name} is no cold start"))
    return Check(missing=tuple(found))


def _unmeasured(field: str, run: str) -> Finding:
    return Finding(field, f"{field} not measured in run {run}")


def n_reused(value: object) -> int | None:
    """Tokens reused over all calls; None where a call's count, or all, is no count: absent is not zero.

    >>> n_reused([0, 75]), n_reused(0), n_reused([0, None])
    (75, 0, None)
    """
    parts = value if isinstance(value, list) else [value]
    if not parts or any(isinstance(part, bool) or not isinstance(part, int | float) for part in parts):
        return None
    return int(sum(parts))


def _least_reused(value: object) -> int:
    """Tokens known to be reused, whatever the calls that tell of none did."""
    parts = value if isinstance(value, list) else [value]
    return sum(n or 0 for n in map(n_reused, parts))


def hidden_state_consistent(fields: Mapping[str, FieldDifference], fork: ForkPlace, facts: Facts) -> Claim | None:
    """Only where the serving state is in part unrecorded: then it may be said to be consistent with the fork."""
    if not groups_check(fields, STATE).missing:
        return None
    check = _certificate(fields, fork, facts) + groups_check(fields, _ALL_BUT_STATE)
    return concluded(
        "hidden_state_consistent",
        "hidden serving state as an explanation",
        hosted_check(fields, check),
        "hidden serving state is consistent with the fork; that it caused it is not shown",
    )


def factors_of(fields: Mapping[str, FieldDifference]) -> list[FieldDifference]:
    """Fields that differ and may stand behind a difference of tokens."""
    return [field for field in fields.values() if _is_factor(field)]


def _is_factor(field: FieldDifference) -> bool:
    if field.state != DIFFERS or field.field.endswith(REQUESTED) or field.field in NEVER_COMPARED:
        return False
    return (group_of(field.field) or "-") in EVERYTHING


def fork_attributed(fields: Mapping[str, FieldDifference], facts: Facts) -> Iterator[Claim]:
    """One claim over the fields that differ; more than one of them are an alias set that a pair cannot split."""
    factors = [field.field for field in factors_of(fields)]
    if not factors:
        return
    names = ", ".join(factors)
    rung = rung_of(factors, facts)
    check = groups_check(fields, EVERYTHING, besides=frozenset(factors))
    if len(factors) > 1 and rung is not Rung.FOLLOWS:
        words = "these fields differ together and cannot be told apart"
        check = Check(missing=tuple(Finding(name, words) for name in factors)) + check
    check = hosted_check(fields, check + repeats_check(facts))
    is_blocked = bool(check.differing or check.missing)
    yield concluded(
        "fork_attributed",
        f"attribution of the fork to {names}",
        check,
        ladder_sentence(rung, names, facts, elsewhere_equal=True),
        remark=_instead(check, rung, names, facts) if is_blocked else "",
    )


def repeats_check(facts: Facts) -> Check:
    """Both arms have repeats, and none of them disagrees."""
    if facts.self_repeat_disagreements is None:
        return Check(missing=(Finding("self_repeats", "self-repeats in both arms unrecorded"),))
    n_disagreeing = facts.self_repeat_disagreements + facts.self_repeat_disagreements_elsewhere
    if not n_disagreeing:
        return Check()
    words = f"{n_disagreeing} self-repeats disagree within an arm"
    if facts.self_repeat_disagreements_elsewhere:
        words += f" ({facts.self_repeat_disagreements_elsewhere} of them on other tasks)"
    return Check(differing=(Finding("self_repeats", words),))


def _instead(check: Check, rung: Rung, names: str, facts: Facts) -> str:
    """What may be said where the attribution is blocked: an intervention stands for itself, all else co-varies."""
    if check.differing:
        return ""
    if rung is Rung.FOLLOWS:
        return ladder_sentence(rung, names, facts, elsewhere_equal=False)
    return "the fork co-varies with them" if ", " in names else "the fork co-varies with it"
