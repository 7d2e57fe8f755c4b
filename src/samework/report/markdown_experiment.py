"""An experiment as Markdown: cautions first, then rates, tests, success, donors, and what may be said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.report import sentences
from samework.report.markdown_text import code, plain_text, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.experiment import (
        Disagreement,
        DonorFollowing,
        ExperimentResult,
        Flips,
        Limits,
        Success,
    )


def experiment_blocks(result: ExperimentResult) -> Iterator[str]:
    """The page, block by block."""
    yield f"# Experiment: {', '.join(plain_text(arm.arm) for arm in result.arms)}"
    for caution in result.cautions:
        yield f"> {plain_text(caution.text)}"
    yield table(
        ("arm", "runs", "items", "items with repeats"),
        [(plain_text(arm.arm), f"{arm.n_runs:,}", f"{arm.n_items:,}", f"{arm.n_repeated:,}") for arm in result.arms],
    )
    yield "## Each arm from itself, and arms from each other"
    yield table(
        ("level", "runs of", "items that differ", "95 % (Wilson)", "95 % exact", "pairs unknown"),
        [
            (level.level, plain_text(name), *_rate(found))
            for level in result.levels
            for name, found in [
                *((each.arm, each.found) for each in level.by_arm),
                *((f"{each.a} | {each.b}", each.found) for each in level.across),
            ]
        ],
    )
    yield "## Beyond what each differs from itself?"
    yield table(
        ("level", "arms", "items", "excess", "p", "Holm", ""),
        [
            (
                level.level,
                plain_text(f"{each.a} | {each.b}"),
                f"{each.test.n_items:,}",
                _number(each.test.excess_divergence),
                _number(each.test.p),
                _number(each.test.p_holm),
                plain_text(each.test.sentence),
            )
            for level in result.levels
            for each in level.across
        ],
    )
    if result.success is not None:
        yield from _success(result.success)
    if result.donors:
        yield "## Runs with transplanted state"
        for donor in result.donors:
            yield _donor(donor)
    yield "## What may be said"
    n_tests = result.family.n_tests
    yield "\n".join(
        f"- {plain_text(text)}"
        for text in (f"{sentences.counted(n_tests, 'test')} in one family under Holm's adjustment.", *result.limits)
    )


def _rate(found: Disagreement) -> tuple[str, str, str, str]:
    items = found.items
    unknown = f", {items.n_unknown} unknown" if items.n_unknown else ""
    exact = _span(items.exact) if items.zero_bound is None else f"at most {items.zero_bound:.1%}"
    return f"{items.k} of {items.n}{unknown}", _span(items.wilson), exact, f"{found.unknown:,}"


def _span(limits: Limits | None) -> str:
    return "" if limits is None else f"{limits[0]:.1%} to {limits[1]:.1%}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _success(success: Success) -> Iterator[str]:
    yield "## Success"
    yield f"By {code(success.evidence)}, evidence {plain_text(success.grade)}."
    yield table(
        ("arm", "succeeded", "failed", "unknown"),
        [(plain_text(each.arm), str(each.succeeded), str(each.failed), str(each.unknown)) for each in success.by_arm],
    )
    for found in success.flips:
        yield _flips(found)


def _flips(found: Flips) -> str:
    a, b = plain_text(found.a), plain_text(found.b)
    limits = f" (95 % {found.interval[0]:+.4f} to {found.interval[1]:+.4f})" if found.interval is not None else ""
    difference = f"; difference {found.difference:+.4f}{limits}" if found.difference is not None else ""
    p = f"; {plain_text(found.test)}: p {_number(found.p)}, Holm {_number(found.p_holm)}" if found.p is not None else ""
    unknown = f", {found.n_unknown} unknown" if found.n_unknown else ""
    return (
        f"**{a}, {b}**: {sentences.counted(found.n_items, 'item')}{unknown}; under {a} alone {found.only_a}, under {b} "
        f"alone {found.only_b}{difference}{p}: {plain_text(found.sentence)}."
    )


def _donor(found: DonorFollowing) -> str:
    into = plain_text(found.recipient) if found.recipient is not None else "an arm that is not recorded"
    p = f" p {_number(found.p)}, Holm {_number(found.p_holm)}:" if found.p is not None else ""
    return (
        f"**{plain_text(found.arm)}**, state of {plain_text(found.donor)} put into {into}: the donor's path in "
        f"{found.follows_donor} of {found.n_items} items; where the paths differ, in {found.apart_donor} of "
        f"{found.n_apart}.{p} {plain_text(found.sentence)}."
    )
