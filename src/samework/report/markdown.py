"""A report as Markdown that can stand in a comment: untrusted text stays text, and the whole stays under the limit.

A fence is longer than any run of backticks inside it; pipes, brackets and tags are escaped; `@` and `#` lose their
power to notify or link. Refuses to exceed 65,536 characters: what does not fit is cut, and the cut is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.report import sentences
from samework.report.markdown_experiment import experiment_blocks
from samework.report.markdown_text import code, fenced, plain_text, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from samework.model.results import FacetVerdict, ForkNode
    from samework.report.data import PairPage, ReportData, StorePage, TaskPage, TestDifference, TreeView

__all__ = ["LIMIT", "code", "fenced", "plain_text", "render_markdown", "table"]

LIMIT = 65_536
_NOTICE = "\n\n*Cut here: the whole report is longer than {limit:,} characters. The HTML has all of it.*\n"


def render_markdown(data: ReportData) -> str:
    """The report as Markdown, at most `LIMIT` characters."""
    if data.pair is not None:
        blocks = _pair(data.pair)
    elif data.task is not None:
        blocks = _task(data.task)
    elif data.store is not None:
        blocks = _store(data.store)
    elif data.experiment is not None:
        blocks = experiment_blocks(data.experiment)
    else:
        blocks = iter(())
    footer = f"*samework {plain_text(data.version)}; text of runs is quoted, never obeyed.*"
    return _limited(blocks, footer)


def _limited(blocks: Iterator[str], footer: str) -> str:
    room = LIMIT - len(_NOTICE.format(limit=LIMIT)) - len(footer) - 2
    made: list[str] = []
    used = 0
    for block in blocks:
        if used + len(block) + 2 > room:
            return "\n\n".join(made) + _NOTICE.format(limit=LIMIT) + "\n" + footer + "\n"
        made.append(block)
        used += len(block) + 2
    return "\n\n".join([*made, footer]) + "\n"


def _pair(page: PairPage) -> Iterator[str]:
    result = page.result
    yield f"# {plain_text(result.task)}: {result.run_class}"
    for anomaly in result.anomalies:
        yield f"> **Anomaly {plain_text(anomaly.code)}.** {plain_text(anomaly.text)}"
    status = "" if result.status == "unresolved" else f" *({sentences.plain(result.status)})*"
    possible = f" Possible: {', '.join(result.possible)}." if len(result.possible) > 1 else ""
    yield f"**{result.run_class}**{status}: {sentences.meaning(result.run_class, result.status)}{possible}"
    yield table(
        ("", "run", "arm", "repeat", "record"),
        [
            (
                name,
                code(run.run_id),
                plain_text(run.arm),
                plain_text(run.repeat),
                plain_text(f"{run.format}{'' if run.complete else ', incomplete'}"),
            )
            for name, run in (("A", page.a), ("B", page.b))
        ],
    )
    yield "## Facets"
    yield table(
        ("facet", "verdict", "why", "evidence"),
        [
            (
                facet,
                _verdict(found),
                plain_text(sentences.plain(found.reason)),
                str(found.grade),
            )
            for facet in sentences.FACETS
            if (found := result.facets.get(facet)) is not None
        ],
    )
    yield from _pair_fork(page)
    if page.tree is not None:
        yield from _files(page.tree)
    yield from _pair_tests(page)
    yield from _pair_claims(page)


def _verdict(found: FacetVerdict) -> str:
    vacuous = " (vacuous)" if found.vacuous else ""
    return f"{sentences.VERDICT_GLYPH[found.verdict]} {sentences.plain(found.verdict)}{vacuous}"


def _pair_fork(page: PairPage) -> Iterator[str]:
    fork = page.result.fork
    if fork is None:
        return
    yield "## Where they part"
    token = "" if fork.token_offset is None else f", token {fork.token_offset}"
    yield (
        f"Step {fork.step}, {sentences.plain(fork.event)}{token}; origin **{plain_text(fork.origin)}**; "
        f"**{fork.consequence}**: {sentences.came_of(fork.consequence, fork.effect)}{_why(fork.consequence_reason)}."
    )
    if fork.margin_evidence:
        yield f"Margins at the forking token: {plain_text(fork.margin_evidence)}."
    if page.result.reconvergence is not None:
        yield f"Together again, for showing only: {sentences.meeting(page.result.reconvergence)}."
    if page.fork is None:
        return
    for name, side in (("A", page.fork.a), ("B", page.fork.b)):
        yield f"{name}:"
        yield fenced("\n".join([side.text, *side.calls]))


def _why(reason: str) -> str:
    return f" ({plain_text(sentences.plain(reason))})" if reason else ""


def _files(tree: TreeView) -> Iterator[str]:
    yield "## Files"
    if tree.note:
        yield plain_text(tree.note)
    elif not tree.files:
        yield "The trees are the same."
    for file in tree.files:
        yield f"{code(file.path)}: {file.change}, +{file.n_added} \u2212{file.n_deleted}"
        signs = {"added": "+", "deleted": "-", "context": " "}
        lines = "\n".join(signs.get(line.kind, "") + line.text for line in file.lines)
        if lines:
            yield fenced(lines, "diff")


def _pair_tests(page: PairPage) -> Iterator[str]:
    tests = page.tests
    if tests is None:
        return
    yield "## Tests"
    yield " ".join(part for part in (sentences.tests_counted(tests), plain_text(tests.note or "")) if part)
    if tests.differing:
        yield table(
            ("node", "A", "B"),
            [
                (
                    " ".join((code(test.node), *_test_marks(test))),
                    ", ".join(test.a) or "absent",
                    ", ".join(test.b) or "absent",
                )
                for test in tests.differing
            ],
        )


def _test_marks(test: TestDifference) -> list[str]:
    """Why unequal outcomes of a test make no difference, where they do not."""
    return ["flaky"] if test.quarantined else ["unknown"] if test.open else []


def _pair_claims(page: PairPage) -> Iterator[str]:
    if page.result.claims:
        yield "## What may be claimed"
        yield table(
            ("claim", "verdict", "because"),
            [
                (plain_text(sentences.plain(c.claim)), sentences.plain(c.verdict), plain_text(c.sentence))
                for c in page.result.claims
            ],
        )
    differs = [field for field in page.result.manifest if field.state == "differs"]
    if differs:
        yield "## What produced them, where it differs"
        yield table(("field", "A", "B"), [(code(f.field), plain_text(f.a), plain_text(f.b)) for f in differs])


def _counts(counts: dict[str, int]) -> str:
    names = [name for name in sentences.CLASSES if counts.get(name)]
    return table(("class", "pairs"), [(name, f"{counts[name]:,}") for name in names])


def _funnel(facets: dict[str, dict[str, int]]) -> str:
    return table(
        ("level", "pairs that differ", "unknown"),
        [
            (label, f"{facets[facet].get('different', 0):,}", f"{facets[facet].get('unknown', 0):,}")
            for facet, label in sentences.FUNNEL
            if facet in facets
        ],
    )


def _forks(forks: Sequence[ForkNode]) -> str:
    return table(
        ("task", "what came of it", "where", "origin", "ways out"),
        [
            (
                plain_text(fork.task),
                f"**{fork.consequence}** {sentences.came_of(fork.consequence, fork.effect)}"
                + _why(fork.consequence_reason),
                f"step {fork.step}, {sentences.plain(fork.event)}",
                plain_text(fork.origin),
                "; ".join(f"{len(branch.runs)}: {code(branch.excerpt[:80])}" for branch in fork.branches),
            )
            for fork in forks
        ],
    )


def _arms(arms: dict[str, int]) -> str:
    return ", ".join(f"{plain_text(arm)} ({n})" for arm, n in arms.items())


def _task(page: TaskPage) -> Iterator[str]:
    yield f"# {plain_text(page.classes.task)}"
    yield f"{sentences.counted(page.classes.runs, 'run')}."
    yield _counts(page.classes.counts)
    yield "## Classes"
    yield table(
        ("tests", "files", "tokens", "runs", "arms", "one of them"),
        [
            (
                *("?" if place is None else str(place) for place in (block.tests, block.tree, block.tokens)),
                str(block.size),
                _arms(block.arms),
                code(block.representative),
            )
            for block in page.classes.classes
        ],
    )
    if page.forks:
        yield "## Where the runs part"
        yield _forks(page.forks)
    if page.facets:
        yield "## From words to work"
        yield _funnel(page.facets)


def _store(page: StorePage) -> Iterator[str]:
    classes = page.classes
    yield "# Did the work change?"
    for anomaly in classes.anomalies:
        yield f"> **Anomaly {plain_text(anomaly.code)}.** {plain_text(anomaly.text)}"
    yield f"{sentences.counted(classes.runs, 'run')} of {sentences.counted(classes.tasks, 'task')}."
    yield _counts(classes.pairs)
    yield "## From words to work"
    yield _funnel(classes.facets)
    yield "## Forks that changed work"
    yield _forks(page.forks) if page.forks else "None is known."
    yield "## Tasks"
    yield table(
        ("task", "runs", *sentences.CLASSES),
        [
            (plain_text(task.task), str(task.runs), *(f"{task.counts.get(name, 0):,}" for name in sentences.CLASSES))
            for task in classes.by_task
        ],
    )
