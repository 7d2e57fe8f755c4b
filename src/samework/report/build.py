"""Verdicts -> one `ReportData`: the only place of the reports that touches what the engine answered.

Takes records and bytes that the caller read from the store; opens nothing itself. Everything is made visible and,
unless asked otherwise, redacted here, so that no presenter ever holds a secret or a control character.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from samework.report.data import ForkView, PairPage, Party, ReportData, StorePage, Strip, TaskPage
from samework.report.redact import cleaned
from samework.report.shortening import shortened_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from samework.model.experiment import ExperimentResult
    from samework.model.results import ClassesResult, ForkNode, PairResult, RunSummary, TaskClasses
    from samework.report.data import ForkSide, RulesetNote, TestsView, TreeView

STRIP_TOKENS = 24
_CHANGED_WORK = ("C4", "C3", "C2")


def party(run: RunSummary, *, agent: str | None = None, model: str | None = None) -> Party:
    """A run, introduced."""
    return Party(
        run.run_id,
        run.task,
        run.arm,
        run.repeat,
        run.format,
        run.complete,
        run.kind,
        run.end_reason,
        run.n_steps,
        run.n_calls,
        agent,
        model,
        dict(run.evidence),
    )


def pair_report(
    result: PairResult,
    a: Party | RunSummary,
    b: Party | RunSummary,
    *,
    fork: ForkView | None = None,
    tree: TreeView | None = None,
    tests: TestsView | None = None,
    rulesets: Iterable[RulesetNote] = (),
    redact: bool = True,
) -> ReportData:
    """A report of one pair.

    Args:
        result: the verdicts of the pair, with fork, claims and manifest difference.
        a: its first run.
        b: its second run.
        fork: texts and margins at the fork, from `fork_view`.
        tree: how the trees differ, from `diff.tree_view`.
        tests: nodes on which the cells disagree.
        rulesets: rules behind the digests.
        redact: take secrets out; the digest of what stood there is kept.
    """
    sides = [side if isinstance(side, Party) else party(side) for side in (a, b)]
    title = f"{result.task}: {sides[0].arm}/{sides[0].repeat} against {sides[1].arm}/{sides[1].repeat}"
    page = PairPage(result, sides[0], sides[1], fork, tree, tests)
    return _report("pair", title, redact, rulesets, pair=page)


def task_report(
    classes: TaskClasses,
    forks: Sequence[ForkNode],
    runs: Iterable[Party | RunSummary],
    *,
    facets: dict[str, dict[str, int]] | None = None,
    rulesets: Iterable[RulesetNote] = (),
    redact: bool = True,
) -> ReportData:
    """A report of one task: nested classes, forks, runs. facets: facet -> verdict -> pairs, where counted."""
    parties = tuple(run if isinstance(run, Party) else party(run) for run in runs)
    page = TaskPage(classes, tuple(forks), parties, facets or {})
    return _report("task", f"Task {classes.task}", redact, rulesets, task=page)


def store_report(
    classes: ClassesResult,
    forks: Sequence[ForkNode],
    runs: Iterable[Party | RunSummary],
    *,
    rulesets: Iterable[RulesetNote] = (),
    title: str = "The whole store",
    redact: bool = True,
) -> ReportData:
    """A report of a whole store: funnel, classes per task, forks that changed work (worst first)."""
    counted = list(runs)
    worst = sorted(
        (fork for fork in forks if fork.consequence in _CHANGED_WORK),
        key=lambda fork: (_CHANGED_WORK.index(fork.consequence), fork.task, fork.step, fork.node),
    )
    page = StorePage(
        classes,
        tuple(worst),
        len(forks),
        dict(sorted(Counter(run.arm for run in counted).items())),
        dict(sorted(Counter(run.format for run in counted).items())),
    )
    return _report("store", title, redact, rulesets, store=page)


def experiment_report(
    result: ExperimentResult, *, rulesets: Iterable[RulesetNote] = (), redact: bool = True
) -> ReportData:
    """A report of an experiment: controls beside differences, tests, success, and what may be said."""
    title = f"Experiment: {', '.join(arm.arm for arm in result.arms)}"
    return _report("experiment", title, redact, rulesets, experiment=result)


def fork_view(
    a: ForkSide, b: ForkSide, *, before: str = "", token_offset: int | None = None, margin_unit: str | None = None
) -> ForkView:
    """The two sides of a fork, margins cut to those around it. Texts stay whole until secrets are out of them.

    Args:
        a: the whole text, the calls and, where recorded, the strip with `start=0` over the whole completion.
        b: the same of the other run.
        before: text of the last shared event.
        token_offset: first differing token of the completion.
        margin_unit: nats or logits.
    """
    sides = [msgspec.structs.replace(side, strip=_window(side.strip, token_offset)) for side in (a, b)]
    return ForkView(sides[0], sides[1], before, 0, margin_unit)


def _window(strip: Strip | None, offset: int | None) -> Strip | None:
    """The part of a strip around the forking token."""
    if strip is None or not strip.margins:
        return None
    start = max(0, (offset or 0) - STRIP_TOKENS // 2)
    end = start + STRIP_TOKENS
    return Strip(strip.margins[start:end], strip.ids[start:end], strip.start + start, strip.n_tokens or len(strip.ids))


def _report(
    kind: str,
    title: str,
    redact: bool,
    rulesets: Iterable[RulesetNote],
    *,
    pair: PairPage | None = None,
    task: TaskPage | None = None,
    store: StorePage | None = None,
    experiment: ExperimentResult | None = None,
) -> ReportData:
    from importlib.metadata import version

    made = ReportData(kind, title, version("samework"), pair, task, store, tuple(rulesets), experiment=experiment)
    clean = cleaned(made, redact=redact)
    return shortened_texts(clean)
