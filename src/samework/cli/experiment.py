"""`samework experiment`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from samework.cli.options import JsonOption, NoRedactOption, StoreOption, StrictOption, TaskOption, opened

if TYPE_CHECKING:
    from rich.console import Console

    from samework.model.experiment import Disagreement, ExperimentResult, LevelResult, Limits, PathResult

EXAMPLE = "samework experiment --arms retained,recomputed"

_SHOWN_ITEMS = 8


def command(
    *,
    store: StoreOption = None,
    arms: Annotated[
        str | None,
        typer.Option("--arms", metavar="ARM,ARM,...", help="Arms to compare; with --by, values.", show_default=False),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="FIELD", help="Make arms of the values of a manifest field.", show_default=False),
    ] = None,
    task: TaskOption = None,
    level: Annotated[
        str | None,
        typer.Option(
            "--level",
            metavar="WORD,...",
            help="Levels: tokens, text, actions, tree, tests, outcome; default all but text.",
            show_default=False,
        ),
    ] = None,
    success: Annotated[
        str | None,
        typer.Option(
            "--success",
            metavar="WORD",
            help="What counts as success: tests, an outcome such as resolved, or reward>=0.5; default the evidence "
            "that most runs have.",
            show_default=False,
        ),
    ] = None,
    margin: Annotated[
        str | None,
        typer.Option(
            "--margin",
            metavar="RATE",
            help="Difference of success that does not matter, such as 2%, declared before the runs were seen.",
            show_default=False,
        ),
    ] = None,
    strata: Annotated[
        str | None,
        typer.Option(
            "--strata", metavar="FIELD", help="Show flips by a manifest field, or by task-prefix.", show_default=False
        ),
    ] = None,
    donor: Annotated[
        list[str] | None,
        typer.Option(
            "--donor",
            metavar="ARM=DONOR,RECIPIENT",
            help="State of DONOR was put into RECIPIENT in these runs; default as manifests record it.",
            show_default=False,
        ),
    ] = None,
    power: Annotated[
        bool, typer.Option("--power", help="Plan repeats and items; without arms, from declared rates alone.")
    ] = False,
    strict: StrictOption = False,
    no_redact: NoRedactOption = False,
    as_json: JsonOption = False,
) -> int:
    """Compare arms beside what each differs from itself, with tests that need this control.

    Arms are compared over the tasks that they have in common; the task is the unit. What has to be known first comes
    before any number: arms without repeats, arms run one after the other, what nobody recorded. Tests that are printed
    as claims are one family under Holm's adjustment.

    Exit status: 0 a comparison was made; 3 the evidence decides nothing, and no number is given; 2 trouble.
    """
    from samework.cli.output import print_json, shown
    from samework.secrets.finding import TAKEN

    found = opened(store).experiment(
        arms=_words(arms),
        by=by,
        task=task,
        level=_words(level),
        success=success,
        margin=margin,
        strata=strata,
        donor=donor or (),
        power=power,
        strict=strict,
        redact=not no_redact,
    )
    n_marked = sum(TAKEN in arm.arm for arm in found.arms)
    result = shown(found, no_redact=no_redact, n_before=n_marked)
    if as_json:
        print_json(result)
    else:
        _print(result)
    return 0


def _words(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def _print(result: ExperimentResult) -> None:
    from samework.cli.experiment_parts import print_donors, print_plan, print_success, print_verifier
    from samework.cli.output import console, print_heading, print_wrapped

    out = console()
    if result.arms:
        _print_head(result, out)
        _print_levels(result, out)
    if result.success is not None:
        print_success(result.success, out)
    print_donors(result.donors, out)
    if result.verifier is not None:
        print_verifier(result.verifier, out)
    if result.plan is not None:
        print_plan(result.plan, out)
    if result.limits:
        print_heading("What may be said", out=out)
        _print_family(result, out)
        for text in result.limits:
            print_wrapped(text, out=out, lead="- ")


def _print_head(result: ExperimentResult, out: Console) -> None:
    from rich.text import Text

    from samework.cli.output import Column, print_table, print_wrapped
    from samework.text import counted, visible

    n_runs = sum(arm.n_runs for arm in result.arms)
    names = ", ".join(visible(arm.arm, one_line=True) for arm in result.arms)
    head = f"{names}: {counted(result.n_items, 'item')} in common, {counted(n_runs, 'run')}"
    print_wrapped(Text(head, style="bold"), out=out)
    for caution in result.cautions:
        print_wrapped(Text(visible(caution.text, one_line=True), style="yellow"), out=out, lead="! ")
    out.print()
    columns = [Column("arm", flex=True), Column("runs", right=True), Column("items", right=True)]
    columns += [Column("runs of an item", right=True), Column("items with repeats", right=True, extra=True)]
    rows = [
        [arm.arm, arm.n_runs, arm.n_items, _span(arm.repeats), f"{arm.n_repeated} of {arm.n_items}"]
        for arm in result.arms
    ]
    print_table(columns, rows, out=out)


def _span(repeats: tuple[int, int]) -> str:
    return str(repeats[0]) if repeats[0] == repeats[1] else f"{repeats[0]} to {repeats[1]}"


def _print_levels(result: ExperimentResult, out: Console) -> None:
    from samework.cli.output import Column, print_heading, print_table

    print_heading("How often runs of one item differ: each arm from itself, then across arms", out=out)
    columns = [Column("level"), Column("runs of", flex=True), Column("items that differ", right=True)]
    columns += [Column("95 % (Wilson)", right=True), Column("95 % exact", right=True, extra=True)]
    columns += [Column("share of pairs", right=True), Column("unknown pairs", right=True, extra=True)]
    rows = [row for level in result.levels for row in _level_rows(level)]
    print_table(columns, rows, out=out)
    _print_tests(result.levels, out)
    _print_items(result.levels, out)


def _level_rows(level: LevelResult) -> list[list[object]]:
    groups = [(each.arm, each.found) for each in level.by_arm]
    groups += [(f"{each.a} | {each.b}", each.found) for each in level.across]
    return [[level.level, *_row(name, found)] for name, found in groups]


def _row(name: str, found: Disagreement) -> list[object]:
    from samework.cli.experiment_parts import percent_span, share

    items = found.items
    shown = f"{items.k} of {items.n}" + (f", {items.n_unknown} unknown" if items.n_unknown else "")
    exact = f"at most {share(items.zero_bound)}" if items.zero_bound is not None else percent_span(items.exact)
    return [
        name,
        shown if items.n or items.n_unknown else None,
        percent_span(items.wilson),
        exact,
        _pair_share(found.bounds),
        f"{found.unknown:,}",
    ]


def _pair_share(bounds: Limits | None) -> str | None:
    from samework.cli.experiment_parts import percent_span, share

    if bounds is None or bounds == (0.0, 1.0):
        return None if bounds is None else "unknown"
    return share(bounds[0]) if bounds[0] == bounds[1] else percent_span(bounds)


def _print_tests(levels: tuple[LevelResult, ...], out: Console) -> None:
    from samework.cli.experiment_parts import p_value
    from samework.cli.output import Column, print_heading, print_table

    print_heading("Do arms differ beyond what each differs from itself?", out=out)
    columns = [Column("level"), Column("arms", flex=True), Column("items", right=True)]
    columns += [Column("excess", right=True), Column("p", right=True), Column("Holm", right=True)]
    columns.append(Column("", flex=True, wrap=True))
    rows = [
        [
            level.level,
            f"{each.a} | {each.b}",
            _tested(each.test),
            None if each.test.excess_divergence is None else f"{each.test.excess_divergence:.4g}",
            p_value(each.test.p),
            p_value(each.test.p_holm),
            each.test.sentence,
        ]
        for level in levels
        for each in level.across
    ]
    print_table(columns, rows, out=out)


def _tested(test: PathResult) -> str:
    left = [f"{test.n_single} single" if test.n_single else "", f"{test.n_unknown} unknown" if test.n_unknown else ""]
    out = ", ".join(part for part in left if part)
    return f"{test.n_items}" + (f" ({out} left out)" if out else "")


def _print_items(levels: tuple[LevelResult, ...], out: Console) -> None:
    """Items that differ across arms; with a false discovery rate where one item can show something by itself."""
    from rich.text import Text

    from samework.cli.output import excerpt, natural, print_heading, print_wrapped

    found = [(level.level, each) for level in levels for each in level.across if each.items]
    if not found:
        return
    print_heading("Items that differ", out=out)
    for level, each in found:
        is_screen = each.items[0].q is not None
        first = list(each.items) if is_screen else sorted(each.items, key=lambda item: natural(item.task))
        names = [
            excerpt(item.task, 40) + (f" (q {item.q:.2g})" if item.q is not None else "")
            for item in first[:_SHOWN_ITEMS]
        ]
        more = f" and {len(first) - _SHOWN_ITEMS:,} more" if len(first) > _SHOWN_ITEMS else ""
        lead = Text(f"  {level}, {excerpt(each.a, 30)} | {excerpt(each.b, 30)}: ", style="dim")
        print_wrapped(", ".join(names) + more, out=out, lead=lead)
    if any(each.items[0].q is not None for _, each in found):
        print_wrapped("q: false discovery rate over the items of a level, a screen and no claim.", out=out, lead="  ")


def _print_family(result: ExperimentResult, out: Console) -> None:
    from samework.cli.output import print_wrapped
    from samework.text import counted

    family = result.family
    if family.n_tests:
        text = (
            f"{counted(family.n_tests, 'test')} printed as claims {'is' if family.n_tests == 1 else 'are'} one family: "
            f"Holm's p holds for all of them at {family.level:g}. A p above it is \N{LEFT DOUBLE QUOTATION MARK}not "
            "detected\N{RIGHT DOUBLE QUOTATION MARK}, and shows nothing to be alike."
        )
    else:
        text = "No test was possible; every rate is descriptive."
    print_wrapped(text, out=out, lead="- ")
