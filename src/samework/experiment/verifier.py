"""A flaky verifier apart from a flaky agent: one tree graded several times, against runs that left other trees."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from samework.experiment.rates import item_rate
from samework.model.experiment import FlakyVerifier
from samework.store.sql import load

if TYPE_CHECKING:
    from samework.experiment.arms import PlacedRun
    from samework.experiment.evidence import Evidence, Room
    from samework.experiment.success import Successes


def flaky_verifier(
    room: Room, items: dict[str, dict[str, list[PlacedRun]]], found: Evidence, success: Successes | None
) -> FlakyVerifier | None:
    """What grading one tree again shows; None where nothing was graded twice.

    Reads the temp tables placed_run and cell_report. A tree's success is compared only among runs of one tree class.
    """
    cells = room.handle.db.execute(load("samework.experiment", "sql/experiment_cells")).fetchall()
    nodes: dict[str, set[str]] = defaultdict(set)
    for task, _, _, flipping in cells:
        nodes[task].update(flipping)
    one_tree, other_trees = _success_by_tree(items, found, success)
    if not cells and not one_tree[0] and not other_trees[0]:
        return None
    return FlakyVerifier(
        cells=len(cells),
        cells_flipping=sum(bool(row[3]) for row in cells),
        items=item_rate(sum(map(bool, nodes.values())), len(nodes)),
        nodes={task: tuple(sorted(flipping)) for task, flipping in sorted(nodes.items()) if flipping},
        success_one_tree=one_tree,
        success_other_trees=other_trees,
    )


def _success_by_tree(
    items: dict[str, dict[str, list[PlacedRun]]], found: Evidence, success: Successes | None
) -> tuple[tuple[int, int], tuple[int, int]]:
    """(groups of runs with one tree, those whose success disagrees), and the same of items with several trees.

    In items with several trees, disagreement is between trees on each of which the runs agree.
    """
    labels = found.labels.get("tree", {})
    one_tree, one_differs, several, several_differ = 0, 0, 0, 0
    for arms in items.values() if success is not None else ():
        trees: dict[int, list[bool]] = defaultdict(list)
        for run in (run for runs in arms.values() for run in runs):
            label, value = labels.get(run.run_key), success.by_run.get(run.run_key) if success is not None else None
            if label is not None and value is not None:
                trees[label].append(value)
        repeated = [values for values in trees.values() if len(values) > 1]
        one_tree += len(repeated)
        one_differs += sum(len(set(values)) > 1 for values in repeated)
        settled = [values[0] for values in trees.values() if len(set(values)) == 1]
        several += len(trees) > 1
        several_differ += len(set(settled)) > 1
    return (one_tree, one_differs), (several, several_differ)
