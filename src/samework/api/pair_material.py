"""What a report of a pair shows beside the verdicts: texts at the fork, changed files, disagreeing tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from samework.api.runs import query_rows
from samework.equivalence.differing_tests import nodes_of_pair
from samework.forks.showing import whole_words
from samework.model.words import Verdict
from samework.report.build import fork_view
from samework.report.data import ForkSide, RulesetNote, Strip, TestDifference, TestsView
from samework.report.diff import MAX_BLOB_BYTES, MAX_FILES, file_change, tree_view
from samework.report.sentences import plain

if TYPE_CHECKING:
    from samework.api.details import RunDetail
    from samework.model.results import FacetVerdict, ForkPlace
    from samework.report.data import FileChange, ForkView, TreeView
    from samework.store.connection import StoreHandle
    from samework.trees.object_store import ObjectStore
    from samework.trees.tree_diff import TreeChange

MAX_TESTS = 200


def fork_material(handle: StoreHandle, a_key: int, b_key: int, fork: ForkPlace | None) -> ForkView | None:
    """Both sides of the fork as texts, with margins where they are recorded."""
    if fork is None:
        return None
    sides = [_side(handle, key, fork.seq) for key in (a_key, b_key)]
    shared = query_rows(handle, "event_at", run_key=a_key, seq=fork.seq - 1) if fork.seq else []
    before = (shared[0]["text"] or "") if shared else ""
    return fork_view(*sides, before=before, token_offset=fork.token_offset, margin_unit=fork.margin_unit)


def _side(handle: StoreHandle, key: int, seq: int) -> ForkSide:
    found = query_rows(handle, "event_at", run_key=key, seq=seq)
    if not found:
        return ForkSide("(the run ends here)")
    row = found[0]
    text = "\n".join(part for part in (row["reasoning"], row["text"]) if part)
    calls = tuple(
        f"{call['name']} {whole_words(call['canonical'])}"
        for call in query_rows(handle, "calls_at", run_key=key, seq=seq)
    )
    return ForkSide(text, calls, _strip(row))


def _strip(row: dict[str, Any]) -> Strip | None:
    import numpy as np

    if row["margins"] is None:
        return None
    margins = tuple(np.frombuffer(row["margins"], "<f8").tolist())
    ids = tuple(np.frombuffer(row["token_ids"] or b"", "<i4").tolist())
    return Strip(margins, ids, 0, len(margins))


def tree_material(handle: StoreHandle, a: RunDetail, b: RunDetail) -> TreeView | None:
    """Files that the two trees hold differently; None where neither run has a tree or patch."""
    oids = [detail.tree.oid if detail.tree else None for detail in (a, b)]
    if None in oids or oids[0] is None or oids[1] is None:
        if a.patch is None and b.patch is None and oids == [None, None]:
            return None
        return tree_view(oids[0], oids[1], (), note="The trees are known by their patches only; no files can be shown.")
    if oids[0] == oids[1]:
        return tree_view(oids[0], oids[1], ())
    from samework.trees.object_store import ObjectStore

    objects = ObjectStore.open(handle.objects_path)
    if not (objects.is_complete(oids[0]) and objects.is_complete(oids[1])):
        return tree_view(oids[0], oids[1], (), note="The trees are not held here; only their ids are known.")
    changes = objects.diff_trees(oids[0], oids[1])
    files = [_change(objects, change) for change in changes[: MAX_FILES + 1]]
    return tree_view(oids[0], oids[1], files)


def _change(objects: ObjectStore, change: TreeChange) -> FileChange:
    return file_change(
        change.path.decode("utf-8", "backslashreplace"),
        _blob(objects, change.old_oid, change.old_mode),
        _blob(objects, change.new_oid, change.new_mode),
        mode_a=change.old_mode,
        mode_b=change.new_mode,
        oid_a=change.old_oid,
        oid_b=change.new_oid,
    )


def _blob(objects: ObjectStore, oid: str | None, mode: str | None) -> bytes | None:
    if oid is None or mode == "160000" or not objects.has(oid):
        return None
    return objects.read_blob(oid)[: MAX_BLOB_BYTES + 1]


def tests_material(
    handle: StoreHandle,
    keys: tuple[int, int],
    details: tuple[RunDetail, RunDetail],
    verdict: FacetVerdict,
) -> TestsView | None:
    """Tests on which the cells of the two runs disagree; None where neither has a report.

    Reads the temp tables that judging the pair filled. verdict: that of the tests, beside which the view stands.
    """
    if not details[0].tests and not details[1].tests:
        return None
    found = nodes_of_pair(handle, *keys)
    shown = [node for node in found if node.a != node.b]
    suites = {(node.suite, node.env) for node in found}
    suite, env = suites.pop() if len(suites) == 1 else (None, None)
    return TestsView(
        tuple(TestDifference(node.node, node.a, node.b, node.flaky, node.open) for node in shown[:MAX_TESTS]),
        n_equal=sum(node.a == node.b and not node.flaky for node in found),
        n_differing=sum(node.differs for node in found),
        n_open=sum(node.open and not node.flaky for node in found),
        quarantined=tuple(dict.fromkeys(node.node for node in found if node.flaky)),
        suite=suite,
        env=env,
        note=_tests_note(details, verdict),
        cut=max(0, len(shown) - MAX_TESTS),
    )


def _tests_note(details: tuple[RunDetail, RunDetail], verdict: FacetVerdict) -> str | None:
    """Why no verdict rests on the tests that are listed, where none does."""
    if not (details[0].tests and details[1].tests):
        return "Only one of the runs has a test report."
    if verdict.verdict is not Verdict.UNKNOWN:
        return None
    return (
        f"Whether the tests are the same is unknown ({plain(verdict.reason)}); "
        "only suites that both runs have are counted here."
    )


def ruleset_notes(handle: StoreHandle) -> list[RulesetNote]:
    """The rules behind the store's digests."""
    return [RulesetNote(**row) for row in query_rows(handle, "rulesets")]
