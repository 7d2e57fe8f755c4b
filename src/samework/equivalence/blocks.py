"""The nested table of one task: tests class, inside it tree classes, inside these token classes.

Blocks are unions over equality only. Runs without the digest of a level are unplaced there: they are listed with the
blocks from which nothing refutes them, never dropped.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from samework.equivalence.components import TREE_COMPONENTS, State, state
from samework.model.results import ClassBlock

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from samework.equivalence.signatures import PlacedRun

_Label = int | None
_Block = tuple[_Label, _Label, _Label]


class _Union:
    """Union-find over hashable items."""

    def __init__(self) -> None:
        self._parent: dict[Hashable, Hashable] = {}

    def find(self, item: Hashable) -> Hashable:
        parent = self._parent.setdefault(item, item)
        while parent != item:
            self._parent[item] = self._parent[parent]
            item, parent = parent, self._parent[parent]
        return item

    def join(self, items: Iterable[Hashable]) -> None:
        roots = [self.find(item) for item in items]
        for root in roots[1:]:
            self._parent[root] = roots[0]


def tree_labels(runs: Sequence[PlacedRun]) -> dict[int, _Label]:
    """run_key -> number of its tree class among these runs, from 1; None where the tree is unknown.

    A run that has its tree in two forms joins the classes of both.
    """
    union = _Union()
    forms: dict[int, list[Hashable]] = {}
    for run in runs:
        found: list[Hashable] = [(name, *run.codes(name)) for name in TREE_COMPONENTS if run.codes(name)[0] is not None]
        forms[run.run_key] = found
        union.join(found)
    return _numbered({key: union.find(found[0]) if found else None for key, found in forms.items()})


def tests_labels(runs: Sequence[PlacedRun]) -> dict[int, _Label]:
    """run_key -> number of its tests class; None where no complete, non-vacuous report places it."""
    found: dict[int, Hashable] = {}
    for run in runs:
        placed = [
            (name, *run.codes(name))
            for name in ("tst", "tsta")
            if run.codes(name)[0] is not None and run.ran_c is not None
        ]
        found[run.run_key] = placed[0] if placed else None
    return _numbered(found)


def token_labels(runs: Sequence[PlacedRun]) -> dict[int, _Label]:
    """run_key -> number of its token class; None where ids are not recorded."""
    return _numbered({run.run_key: ("tok", run.tok_c, run.tok) if run.tok_c is not None else None for run in runs})


def _numbered(found: dict[int, Hashable]) -> dict[int, _Label]:
    """Number labels from 1, the largest class first, then in the order of the runs."""
    sizes = Counter(label for label in found.values() if label is not None)
    first: dict[Hashable, int] = {}
    for place, label in enumerate(found.values()):
        first.setdefault(label, place)
    order = sorted(sizes, key=lambda label: (-sizes[label], first[label]))
    number = {label: place for place, label in enumerate(order, start=1)}
    return {key: None if label is None else number[label] for key, label in found.items()}


def task_blocks(runs: Sequence[PlacedRun], *, treeless: bool) -> tuple[tuple[ClassBlock, ...], list[str]]:
    """Blocks of one task, largest first, and the run_ids of a block that is known to hold different runs (A5).

    Where the kind of run has no tree, the tree level is left out (None).
    """
    tests, trees, tokens = tests_labels(runs), tree_labels(runs), token_labels(runs)
    groups: dict[_Block, list[PlacedRun]] = defaultdict(list)
    for run in runs:
        groups[tests[run.run_key], trees[run.run_key], tokens[run.run_key]].append(run)
    broken = _broken(runs, trees)
    ordered = _in_order_of_display(groups)
    levels = {label[:2] for label in ordered if label[1] is not None}
    blocks = []
    for label, members in ordered.items():
        placed = label[1] is not None or (treeless and label[2] is not None)
        blocks.append(
            ClassBlock(
                tests=label[0],
                tree=label[1],
                tokens=label[2],
                size=len(members),
                arms=dict(sorted(Counter(run.arm for run in members).items())),
                representative=members[0].run_id,
                runs=tuple(run.run_id for run in members),
                placed=placed,
                not_refuted_from=() if placed else _not_refuted(levels, label[0]),
            )
        )
    return tuple(blocks), broken


def _in_order_of_display(groups: dict[_Block, list[PlacedRun]]) -> dict[_Block, list[PlacedRun]]:
    """Blocks from the largest tests class down, unknown ones last; trees and tokens numbered as they come."""
    order = sorted(groups, key=lambda label: tuple((part is None, part or 0) for part in label))
    trees: dict[_Label, int] = {}
    tokens: dict[_Label, int] = {}
    found = {}
    for of_tests, of_tree, of_tokens in order:
        tree = None if of_tree is None else trees.setdefault(of_tree, len(trees) + 1)
        token = None if of_tokens is None else tokens.setdefault(of_tokens, len(tokens) + 1)
        found[of_tests, tree, token] = groups[of_tests, of_tree, of_tokens]
    return found


def _not_refuted(levels: set[tuple[_Label, _Label]], tests: _Label) -> tuple[int, ...]:
    """Tree classes from which unplaced runs are not refuted: those whose tests are equal, or unknown on a side."""
    found = {tree for of_tests, tree in levels if tree is not None and (None in (of_tests, tests) or of_tests == tests)}
    return tuple(sorted(found))


def _broken(runs: Sequence[PlacedRun], trees: dict[int, _Label]) -> list[str]:
    """A pair inside one tree class that its strongest common form says is different (one witness is enough)."""
    classes: dict[int, list[PlacedRun]] = defaultdict(list)
    for run in runs:
        label = trees[run.run_key]
        if label is not None:
            classes[label].append(run)
    for members in classes.values():
        for name in TREE_COMPONENTS:
            seen: dict[object, PlacedRun] = {}
            for run in members:
                comparable, _ = run.codes(name)
                other = seen.setdefault(comparable, run)
                if state(*run.codes(name), *other.codes(name)) is State.UNEQUAL and _decides(run, other, name):
                    return [other.run_id, run.run_id]
    return []


def _decides(a: PlacedRun, b: PlacedRun, name: str) -> bool:
    stronger = TREE_COMPONENTS[: TREE_COMPONENTS.index(name)]
    return all(state(*a.codes(other), *b.codes(other)) is State.INCOMPARABLE for other in stronger)
