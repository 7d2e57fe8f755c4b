"""Sections of `samework experiment` below the levels: success, donors, verifier, plan; and how numbers are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from samework.model.experiment import (
        DonorFollowing,
        FlakyVerifier,
        Flips,
        Limits,
        MarginResult,
        Mean,
        Plan,
        SeveralArms,
        Strata,
        Success,
    )

_SHOWN_NODES = 10


def share(rate: float | None) -> str | None:
    """A rate as a percentage, one digit behind the point.

    >>> share(0.23333)
    '23.3%'
    """
    return None if rate is None else f"{rate:.1%}"


def percent_span(limits: Limits | None) -> str | None:
    """Two limits as percentages.

    >>> percent_span((0.1, 0.25))
    '10.0% to 25.0%'
    """
    return None if limits is None else f"{limits[0]:.1%} to {limits[1]:.1%}"


def p_value(p: float | None) -> str | None:
    """A p value to three digits.

    >>> p_value(2.09075e-07), p_value(0.26318), p_value(1.0)
    ('2.09e-07', '0.263', '1')
    """
    return None if p is None else f"{p:.3g}"


def _mean(found: Mean | None, bounds: Limits | None) -> str | None:
    if found is None:
        return None
    widened = bounds is not None and bounds[1] - bounds[0] > 1e-9  # noqa: PLR2004 (what rounding leaves of zero)
    rest = f"; {percent_span(bounds)} over unknowns" if widened else ""
    return f"{share(found.estimate)} ({percent_span(found.interval)}{rest})"


def print_success(success: Success, out: Console) -> None:
    """Success of each arm, flips between arms, attempts, strata."""
    from rich.text import Text

    from samework.cli.output import Column, print_heading, print_table, print_wrapped
    from samework.text import visible

    print_heading(f"Success: {visible(_evidence(success), one_line=True)}", out=out)
    columns = [Column("arm", flex=True), Column("succeeded", right=True), Column("failed", right=True)]
    columns += [Column("unknown", right=True), Column("pass@k", flex=True, wrap=True)]
    columns.append(Column("pass^k", flex=True, wrap=True, extra=True))
    rows: list[list[object]] = []
    for arm in success.by_arm:
        tried = [each for each in success.attempts if each.arm == arm.arm]
        for place, each in enumerate(tried or [None]):
            head = [arm.arm, arm.succeeded, arm.failed, arm.unknown] if not place else ["", "", "", ""]
            at_k = None if each is None else f"@{each.k} {_mean(each.pass_at_k, each.pass_at_k_bounds)}"
            hat_k = None if each is None else f"^{each.k} {_mean(each.pass_hat_k, each.pass_hat_k_bounds)}"
            rows.append([*head, at_k, hat_k])
    print_table(columns, rows, out=out)
    for found in success.flips:
        _print_flips(found, out)
    if success.several is not None:
        print_wrapped(_several(success.several), out=out, lead=Text("all arms: ", style="dim"))
    for stratified in success.strata:
        _print_strata(stratified, out)


def _evidence(success: Success) -> str:
    if success.evidence == "tests":
        return "all tests of a complete report passed"
    return f"{success.evidence}, as a grader recorded it"


def _print_flips(found: Flips, out: Console) -> None:
    from rich.text import Text

    from samework.cli.output import excerpt, print_wrapped
    from samework.text import counted

    a, b = excerpt(found.a, 40), excerpt(found.b, 40)
    out.print()
    out.print(Text(f"{a} | {b}", style="bold"), no_wrap=True, crop=False, overflow="ignore")
    unknown = f"; {counted(found.n_unknown, 'item')} unknown" if found.n_unknown else ""
    how = "per-item means: higher" if found.is_means else "succeeded"
    lines = [
        f"{counted(found.n_items, 'item')}{unknown}; {how} under {a} alone in {found.only_a}, under {b} alone in "
        f"{found.only_b}" + ("" if found.is_means else f"; both {found.both}, neither {found.neither}")
    ]
    if found.difference is not None:
        limits = f", 95 % {_signed(found.interval)} ({found.interval_method})" if found.interval else ""
        lines.append(f"rate of {a} minus rate of {b}: {found.difference:+.4f}{limits}{_over_unknowns(found.bounds)}")
    if found.p is not None:
        mid = f", mid-p {p_value(found.p_mid)}" if found.p_mid is not None else ""
        lines.append(f"{found.test}: p {p_value(found.p)}{mid}, Holm {p_value(found.p_holm)}: {found.sentence}")
    else:
        lines.append(found.sentence)
    if found.margin is not None:
        lines += _margin_lines(found.margin)
    for line in lines:
        print_wrapped(line, out=out, lead="  ")


def _signed(limits: Limits | None) -> str:
    return "" if limits is None else f"{limits[0]:+.4f} to {limits[1]:+.4f}"


def _over_unknowns(bounds: Limits | None) -> str:
    if bounds is None or bounds[1] - bounds[0] < 1e-9:  # noqa: PLR2004 (what rounding leaves of zero)
        return ""
    return f"; over unknown runs {_signed(bounds)}"


def _margin_lines(margin: MarginResult) -> list[str]:
    made = [f"margin {margin.margin:.3g}: {margin.sentence}"]
    if margin.interval is not None:
        made.append(f"{margin.method}: {_signed(margin.interval)}")
        return made
    numbers = [
        f"{name} p {p_value(p)}"
        for name, p in (
            ("not worse: exact", margin.p_non_inferior),
            ("Tango", margin.score_non_inferior),
            ("Holm", margin.p_non_inferior_holm),
            ("within: exact", margin.p_equivalent),
            ("Tango", margin.score_equivalent),
            ("Holm", margin.p_equivalent_holm),
        )
        if p is not None
    ]
    return [*made, ", ".join(numbers)]


def _several(found: SeveralArms) -> str:
    if found.reason is not None:
        return f"no test of one rate in all arms: {found.reason}"
    exact = f"exact p {p_value(found.p_exact)}" if found.p_exact is not None else f"p {p_value(found.p)} (chi-squared)"
    return f"Cochran's Q over {found.n_items} items: {exact}, Holm {p_value(found.p_holm)}"


def _print_strata(found: Strata, out: Console) -> None:
    from rich.text import Text

    from samework.cli.output import Column, excerpt, print_table, print_wrapped
    from samework.text import counted

    out.print()
    head = f"{excerpt(found.a, 40)} | {excerpt(found.b, 40)}, by {excerpt(found.by, 40)}"
    out.print(Text(head, style="bold"), no_wrap=True, crop=False, overflow="ignore")
    columns = [Column("stratum", flex=True), Column("items", right=True)]
    columns += [Column("first", right=True), Column("second", right=True)]
    columns += [Column("only first", right=True), Column("only second", right=True), Column("McNemar p", right=True)]
    rows: list[list[object]] = [
        [row.stratum, row.n_items, row.success_a, row.success_b, row.only_a, row.only_b, p_value(row.p)]
        for row in found.strata
    ]
    print_table(columns, rows, out=out)
    if found.n_unplaced:
        print_wrapped(f"{counted(found.n_unplaced, 'item')} of no one recorded stratum left out.", out=out, lead="  ")
    if found.reason is not None:
        print_wrapped(found.reason, out=out, lead="  ")
        return
    odds = f"; pooled odds ratio {found.pooled_odds_ratio:.3g}" if found.pooled_odds_ratio is not None else ""
    text = (
        f"CMH p {p_value(found.cmh_p)}, exact p {p_value(found.exact_p)}{odds}; strata share one odds ratio: "
        f"Breslow-Day p {p_value(found.breslow_day_p) or 'undefined'}. These take the arms' items as different ones: "
        "no claim."
    )
    print_wrapped(text, out=out, lead="  ")


def print_donors(donors: Sequence[DonorFollowing], out: Console) -> None:
    """Whose path runs with transplanted state take."""
    from rich.text import Text

    from samework.cli.output import excerpt, print_heading, print_wrapped
    from samework.text import visible

    if not donors:
        return
    print_heading("Runs with transplanted state: whose path do they take?", out=out)
    for each in donors:
        into = excerpt(each.recipient, 40) if each.recipient else "an arm that is not recorded"
        head = f"{excerpt(each.arm, 60)}: state of {excerpt(each.donor, 40)} put into {into}"
        print_wrapped(head, out=out)
        unknown = f", unknown {each.n_unknown}" if each.n_unknown else ""
        whose = f"recipient {each.follows_recipient}, neither {each.follows_neither}{unknown}"
        lines = [f"all items, by {each.level}: donor {each.follows_donor} of {each.n_items}, {whose}"]
        if each.recipient:
            rest = f", unknown {each.apart_unknown}" if each.apart_unknown else ""
            lines.append(
                f"where their paths differ: donor {each.apart_donor} of {each.n_apart}, recipient "
                f"{each.apart_recipient}, neither {each.apart_neither}{rest}"
            )
        if each.p is not None:
            lines.append(
                f"against 1/2, exact: p {p_value(each.p)}, Holm {p_value(each.p_holm)}; rate 95 % exact "
                f"{percent_span(each.exact)}: {each.sentence}"
            )
        else:
            lines.append(each.sentence)
        for line in lines:
            print_wrapped(visible(line, one_line=True), out=out, lead="  ")
        print_wrapped(f"as recorded in {visible(each.source, one_line=True)}", out=out, lead=Text("  ", style="dim"))


def print_verifier(found: FlakyVerifier, out: Console) -> None:
    """One tree graded again, apart from other trees."""
    from samework.cli.output import print_heading, print_wrapped
    from samework.text import counted, visible

    print_heading("A flaky verifier, apart from a flaky agent", out=out)
    if found.cells:
        bound = f"; rate of such items at most {share(found.items.zero_bound)}" if found.items.zero_bound else ""
        print_wrapped(
            f"one tree graded more than once: {counted(found.cells, 'cell')} in {counted(found.items.n, 'item')}; some "
            f"test flips in {found.cells_flipping}{bound}",
            out=out,
            lead="  ",
        )
    else:
        print_wrapped("no tree was graded more than once by a named suite", out=out, lead="  ")
    for task, nodes in found.nodes.items():
        shown = ", ".join(visible(node, one_line=True) for node in nodes[:_SHOWN_NODES])
        more = f" and {len(nodes) - _SHOWN_NODES} more" if len(nodes) > _SHOWN_NODES else ""
        print_wrapped(f"{visible(task, one_line=True)}: {shown}{more}", out=out, lead="    ")
    for text, (n, k) in (
        ("groups of runs with one tree whose success is known more than once", found.success_one_tree),
        ("items with several trees", found.success_other_trees),
    ):
        if n:
            print_wrapped(f"{text}: {n}; success differs in {k}", out=out, lead="  ")


def print_plan(found: Plan, out: Console) -> None:
    """Tables for planning."""
    from samework.cli.output import Column, print_heading, print_table, print_wrapped

    print_heading("Plan", out=out)
    powers = list(next(iter(found.to_see.values()), {}))
    columns = [Column("an event this rare")]
    columns += [Column(f"runs to see it, {float(power):.0%}", right=True) for power in powers]
    print_table(columns, [[rate, *row.values()] for rate, row in found.to_see.items()], out=out)
    out.print()
    columns = [Column("share of items that differ")]
    columns += [Column(f"items at {row.n_repeats} runs", right=True) for row in found.paths]
    rates = list(found.paths[0].n_items) if found.paths else []
    table: list[list[object]] = [[rate, *(row.n_items[rate] for row in found.paths)] for rate in rates]
    table.append(["items needed that divide cleanly", *(row.n_diverging_needed for row in found.paths)])
    print_table(columns, table, out=out)
    print_wrapped("runs per arm and item; 80 % power at p 0.05, each arm repeating itself", out=out, lead="  ")
    if found.observed:
        seen = ", ".join(f"{name} {rate:.4g}" for name, rate in found.observed.items())
        print_wrapped(f"seen here, share of items that differ: {seen}", out=out)
    if found.flips:
        powers_seen = ", ".join(f"{row.n_items:,} items {row.power:.0%}" for row in found.flips)
        print_wrapped(f"flips as rare and as one-sided as here, power of McNemar: {powers_seen}", out=out)
    if found.smallest_margin is not None:
        text = f"smallest margin at which this many items would show success to be alike: {found.smallest_margin:.3g}"
        print_wrapped(f"{text} (for the next experiment, not for this one)", out=out)
    for text in found.more:
        print_wrapped(text, out=out)
