"""Cut the texts of forks to what can be read, after secrets are out: half a secret would not be known as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from samework.forks.showing import shortened_together
from samework.report.redact import shared_head

if TYPE_CHECKING:
    from samework.model.results import ForkNode, PairResult
    from samework.report.data import ForkView, PairPage, ReportData

EXCERPT_CHARACTERS = 4000


def shortened_texts(data: ReportData) -> ReportData:
    """The report with the texts of its forks cut. Cutting twice changes nothing."""
    if data.pair is not None:
        return replace(data, pair=_pair(data.pair))
    if data.task is not None:
        return replace(data, task=replace(data.task, forks=tuple(map(_node, data.task.forks))))
    if data.store is not None:
        return replace(data, store=replace(data.store, forks=tuple(map(_node, data.store.forks))))
    return data


def _pair(page: PairPage) -> PairPage:
    return replace(page, result=_result(page.result), fork=None if page.fork is None else _view(page.fork))


def _result(result: PairResult) -> PairResult:
    fork = result.fork
    if fork is None or fork.a is None or fork.b is None:
        return result
    a, b = shortened_together([fork.a, fork.b])
    return replace(result, fork=replace(fork, a=a, b=b))


def _node(node: ForkNode) -> ForkNode:
    excerpts = shortened_together([branch.excerpt for branch in node.branches])
    given = zip(node.branches, excerpts, strict=True)
    return replace(node, branches=tuple(replace(branch, excerpt=excerpt) for branch, excerpt in given))


def _view(fork: ForkView) -> ForkView:
    """Both sides around the first difference."""
    n_common = shared_head(fork.a.text, fork.b.text)
    start = max(0, n_common - EXCERPT_CHARACTERS // 4)
    a, b = (
        replace(
            side,
            text=side.text[start : start + EXCERPT_CHARACTERS],
            calls=tuple(call[:EXCERPT_CHARACTERS] for call in side.calls),
        )
        for side in (fork.a, fork.b)
    )
    return replace(fork, a=a, b=b, before=fork.before[-EXCERPT_CHARACTERS // 4 :], n_common=n_common - start)
