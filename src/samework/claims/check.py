"""Hold the fields of a pair against requirements: which differ, which are not recorded, and the words for it. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

from samework.claims.requirements import NEVER_COMPARED, REQUIRED, SEED, TEMPERATURE, Requirement
from samework.equivalence.manifest_diff import DIFFERS, NOT_COMPARABLE, REQUESTED, group_of
from samework.model.results import Claim, FieldDifference
from samework.model.words import Absence
from samework.secrets.finding import may_be_said
from samework.text import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LICENSED, REFUTED, NOT_ESTABLISHABLE = "licensed", "refuted", "not_establishable"
_N_NAMED = 4
_VALUE_LENGTH = 40
_HOSTED_GROUPS = frozenset("ECLH")
_SIDES = {"a": "in run A", "b": "in run B", "both": "in both runs"}

Fields = "Mapping[str, FieldDifference]"


class Finding(msgspec.Struct, frozen=True):
    """One field that stands in the way of a claim, with words for it."""

    field: str
    words: str


class Check(msgspec.Struct, frozen=True):
    """What requirements came to. differing refute a claim, missing keep it from being established."""

    differing: tuple[Finding, ...] = ()
    missing: tuple[Finding, ...] = ()

    def __add__(self, other: Check) -> Check:
        return Check(self.differing + other.differing, self.missing + other.missing)


def by_name(difference: Iterable[FieldDifference]) -> dict[str, FieldDifference]:
    """Fields by dotted name."""
    return {field.field: field for field in difference}


def groups_check(fields: Mapping[str, FieldDifference], groups: str, *, besides: frozenset[str] = frozenset()) -> Check:
    """Hold whole groups to be recorded and equal.

    Args:
        fields: the manifest difference by name.
        groups: letters, such as "MQE".
        besides: fields that need not be equal (the factor that a fork is attributed to).
    """
    found = Check()
    for group in groups:
        for requirement in REQUIRED.get(group, ()):
            found += required(fields, requirement, besides=besides)
    if "Q" in groups:
        found += seed_check(fields)
    named = {finding.field for finding in found.differing + found.missing}
    met = {name for group in groups for need in REQUIRED.get(group, ()) for name in need.names}
    for field in fields.values():
        if field.field in named or field.field in besides or not _is_judged(field, groups):
            continue
        if field.state == DIFFERS:
            found += Check(differing=(_differing(field),))
        elif field.state == NOT_COMPARABLE and field.field not in met and field.field not in SEED.names:
            found += Check(missing=(missing(field.field, field),))
    return found


def _is_judged(field: FieldDifference, groups: str) -> bool:
    group = group_of(field.field)
    if group is None or group not in groups or field.field.endswith(REQUESTED):
        return False
    return field.field not in NEVER_COMPARED and field.field not in SEED.names


def required(
    fields: Mapping[str, FieldDifference], requirement: Requirement, *, besides: frozenset[str] = frozenset()
) -> Check:
    """Hold one requirement: met by any of its names that both sides record."""
    recorded = [fields[name] for name in requirement.names if name in fields and fields[name].missing is None]
    if not recorded:
        name = next((name for name in requirement.names if name in fields), requirement.names[0])
        return Check(missing=(missing(name, fields.get(name)),))
    judged = [field for field in recorded if field.field not in besides]
    if not requirement.compared:
        return Check()
    return Check(differing=tuple(_differing(field) for field in judged if field.state == DIFFERS))


def seed_check(fields: Mapping[str, FieldDifference]) -> Check:
    """Greedy on both sides needs no seed; otherwise a seed must be recorded and equal."""
    heat = fields.get(TEMPERATURE.names[0])
    if heat is None or heat.missing is not None or (_is_zero(heat.a) and _is_zero(heat.b)):
        return Check()
    return required(fields, SEED)


def _is_zero(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == 0


def hosted_check(fields: Mapping[str, FieldDifference], check: Check) -> Check:
    """A hosted side never licenses a claim about tokens or their cause, whatever else it declares."""
    hidden = unobservable(fields)
    if hidden and not check.differing and not check.missing:
        return Check(missing=tuple(missing(field.field, field) for field in hidden))
    return check


def unobservable(fields: Mapping[str, FieldDifference]) -> list[FieldDifference]:
    """Fields of engine, serving state, load and hardware that a side says cannot be observed: a hosted API."""
    return [
        field
        for field in fields.values()
        if group_of(field.field) in _HOSTED_GROUPS and Absence.UNOBSERVABLE in (field.a_source, field.b_source)
    ]


def missing(name: str, field: FieldDifference | None = None) -> Finding:
    """Words for a field that is not recorded on both sides."""
    if field is None:
        return Finding(name, f"{name} unrecorded in both runs")
    words = [
        source or Absence.UNRECORDED.value
        for value, source, side in ((field.a, field.a_source, "a"), (field.b, field.b_source, "b"))
        if value is None and field.missing in (side, "both")
    ]
    word = words[0] if len(set(words)) == 1 else Absence.UNRECORDED.value
    return Finding(name, f"{name} {word} {_SIDES[field.missing or 'both']}")


def _differing(field: FieldDifference) -> Finding:
    a, b = _shown(field.field, field.a, "one value"), _shown(field.field, field.b, "another")
    return Finding(field.field, f"{field.field} differs ({a}, {b})")


def _shown(name: str, value: object, unsaid: str) -> str:
    """The value, or the words for one that looks like a secret."""
    if value is None:
        return Absence.NOT_APPLICABLE.value
    text = value if isinstance(value, str) else json.dumps(value)
    return shortened(text, _VALUE_LENGTH) if may_be_said(name, text) else unsaid


def concluded(claim: str, title: str, check: Check, licensed: str, *, remark: str = "") -> Claim:
    """Verdict and sentence: what refutes goes before what is missing, and nothing in the way licenses.

    >>> concluded("exact_replay", "exact replay", Check(missing=(missing("prefix_cache_policy"),)), "").sentence
    'exact replay not establishable: prefix_cache_policy unrecorded in both runs'
    """
    tail = f"; {remark}" if remark else ""
    if check.differing:
        return _blocked(claim, REFUTED, f"{title} refuted", check.differing, tail)
    if check.missing:
        return _blocked(claim, NOT_ESTABLISHABLE, f"{title} not establishable", check.missing, tail)
    return Claim(claim, LICENSED, (), licensed + tail)


def _blocked(claim: str, verdict: str, lead: str, findings: tuple[Finding, ...], tail: str) -> Claim:
    names = tuple(dict.fromkeys(finding.field for finding in findings))
    words = list(dict.fromkeys(finding.words for finding in findings))
    more = f", and {len(words) - _N_NAMED} more" if len(words) > _N_NAMED else ""
    return Claim(claim, verdict, names, f"{lead}: {', '.join(words[:_N_NAMED])}{more}{tail}")
