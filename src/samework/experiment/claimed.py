"""The family of tests that an experiment prints as claims: Holm over all of them, and the sentence that each allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from samework.model.experiment import Family
from samework.stats.families import holm
from samework.text import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from samework.model.experiment import (
        CrossArm,
        DonorFollowing,
        Flips,
        LevelResult,
        MarginResult,
        PathResult,
        SeveralArms,
        Success,
    )

LEVEL: Final = 0.05
NOT_DETECTED: Final = "not detected; a difference too small or too rare for these runs is not excluded"


def adjusted(
    levels: Sequence[LevelResult], success: Success | None, donors: Sequence[DonorFollowing]
) -> tuple[tuple[LevelResult, ...], Success | None, tuple[DonorFollowing, ...], Family]:
    """The same results with Holm's p over all their tests, and a sentence for each."""
    p_values: dict[str, float] = {}
    for level in levels:
        p_values |= {_path(level.level, across): p for across in level.across if (p := across.test.p) is not None}
    if success is not None:
        for found in success.flips:
            p_values |= _of_flips(found)
        if success.several is not None and (p := p_several(success.several)) is not None:
            p_values["success: all arms alike"] = p
    p_values |= {_donor(each): each.p for each in donors if each.p is not None}
    after = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    return (
        tuple(_with_paths(level, after) for level in levels),
        _with_success(success, after) if success is not None else None,
        tuple(_with_donor(each, after) for each in donors),
        Family(len(p_values), LEVEL, tuple(p_values)),
    )


def p_several(found: SeveralArms) -> float | None:
    """The exact p of Cochran's Q where it could be counted, else that by chi-squared."""
    return found.p_exact if found.p_exact is not None else found.p


def _of_flips(found: Flips) -> dict[str, float]:
    made = {} if found.p is None else {_flip(found): found.p}
    margin = found.margin
    if margin is not None:
        inferior, equal = _p_margin(margin)
        made |= {} if inferior is None else {f"{_flip(found)}, not worse by the margin": inferior}
        made |= {} if equal is None else {f"{_flip(found)}, within the margin": equal}
    return made


def _p_margin(margin: MarginResult) -> tuple[float | None, float | None]:
    """The exact p values, and the score's where there are none."""
    if margin.p_non_inferior is not None:
        return margin.p_non_inferior, margin.p_equivalent
    return margin.score_non_inferior, margin.score_equivalent


def _path(level: str, across: CrossArm) -> str:
    return f"{level}: {across.a}, {across.b}"


def _flip(found: Flips) -> str:
    return f"success: {found.a}, {found.b}"


def _donor(each: DonorFollowing) -> str:
    return f"donor: {each.arm} follows {each.donor}"


def _with_paths(level: LevelResult, after: dict[str, float]) -> LevelResult:
    return msgspec.structs.replace(
        level,
        across=tuple(
            msgspec.structs.replace(across, test=_path_said(across.test, after.get(_path(level.level, across))))
            for across in level.across
        ),
    )


def _path_said(test: PathResult, p_holm: float | None) -> PathResult:
    if test.p is None:
        return msgspec.structs.replace(test, sentence=f"no test: {test.reason}")
    is_detected = p_holm is not None and p_holm <= LEVEL
    said = "detected: the arms differ beyond what each differs from itself" if is_detected else NOT_DETECTED
    drawn = " (p from labelings drawn at random with a fixed seed)" if test.method == "sampled" else ""
    return msgspec.structs.replace(test, p_holm=p_holm, sentence=said + drawn)


def _with_success(success: Success, after: dict[str, float]) -> Success:
    several = success.several
    if several is not None:
        several = msgspec.structs.replace(several, p_holm=after.get("success: all arms alike"))
    return msgspec.structs.replace(
        success, several=several, flips=tuple(_with_flips(found, after) for found in success.flips)
    )


def _with_flips(found: Flips, after: dict[str, float]) -> Flips:
    if found.p is None:
        return msgspec.structs.replace(found, sentence=f"no test: {found.reason}")
    p_holm = after[_flip(found)]
    more = found.a if (found.difference or 0) > 0 else found.b
    said = f"detected: {visible(more, one_line=True)} succeeds more often" if p_holm <= LEVEL else NOT_DETECTED
    return msgspec.structs.replace(
        found, p_holm=p_holm, sentence=said, margin=_margin_said(found, after) if found.margin else None
    )


def _margin_said(found: Flips, after: dict[str, float]) -> MarginResult | None:
    """Non-inferiority and equivalence as claims: by Holm's p where there is a p, else by the interval."""
    margin = found.margin
    if margin is None:
        return None
    inferior = after.get(f"{_flip(found)}, not worse by the margin")
    equal = after.get(f"{_flip(found)}, within the margin")
    non_inferior = margin.non_inferior if inferior is None else inferior <= LEVEL
    equivalent = margin.equivalent if equal is None else equal <= LEVEL
    a, b = (visible(name, one_line=True) for name in (found.a, found.b))
    points = f"{margin.margin:.3g}"
    said = (
        f"{a} is not worse than {b} by {points} or more: {'shown' if non_inferior else 'not shown'}; the difference "
        f"lies within {points}: {'shown' if equivalent else 'not shown'}"
    )
    return msgspec.structs.replace(
        margin,
        non_inferior=non_inferior,
        equivalent=equivalent,
        p_non_inferior_holm=inferior,
        p_equivalent_holm=equal,
        sentence=said,
    )


def _with_donor(each: DonorFollowing, after: dict[str, float]) -> DonorFollowing:
    if each.p is None:
        return msgspec.structs.replace(each, sentence=f"no test: {each.reason}")
    p_holm = after[_donor(each)]
    n_known = each.n_apart - each.apart_unknown
    if p_holm > LEVEL:
        said = NOT_DETECTED
    elif 2 * each.apart_donor > n_known:
        said = "detected: the path follows the donor of the state"
    else:
        said = "detected: the path does not follow the donor of the state"
    return msgspec.structs.replace(each, p_holm=p_holm, sentence=said)
