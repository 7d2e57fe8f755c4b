"""Pictures from numbers."""

from __future__ import annotations

from samework.report.build import STRIP_TOKENS, fork_view
from samework.report.data import ForkSide, Strip
from samework.report.drawing import block_matrix, lattice_edges, stacked, strip_chart
from samework.report.trie import trie_drawing
from tests.pages import blocks, fork, parties


def test_a_line_of_the_lattice_holds_only_between_two_that_are_same() -> None:
    edges = lattice_edges({"tokens": "different", "text": "same", "actions": "same"})
    assert [edge.holds for edge in edges] == [False, True]


def test_the_strip_is_cut_around_the_fork_and_keeps_its_offsets() -> None:
    strip = Strip(tuple(float(n) for n in range(100)), tuple(range(100)), 0, 100)
    view = fork_view(ForkSide("a", (), strip), ForkSide("b"), token_offset=50)
    assert view.a.strip is not None
    assert (view.a.strip.start, len(view.a.strip.margins)) == (38, STRIP_TOKENS)
    chart = strip_chart(view.a.strip, 50)
    assert [bar.offset for bar in chart.bars if bar.is_fork] == [50]
    assert all(0 <= bar.y <= chart.height for bar in chart.bars)


def test_near_ties_are_marked() -> None:
    chart = strip_chart(Strip((0.1, 3.0, 0.5)), None)
    assert [bar.is_near for bar in chart.bars] == [True, False, True]


def test_parts_of_a_bar_fill_it() -> None:
    parts = stacked({"b": 1, "a": 3}, ("a", "b", "c"))
    assert [(part.name, part.width) for part in parts] == [("a", 75.0), ("b", 25.0)]


def test_each_run_of_the_trie_ends_in_one_leaf() -> None:
    drawn = trie_drawing([fork()], [run.run_id for run in parties()], {run.run_id: run.arm for run in parties()})
    assert sorted(leaf.n for leaf in drawn.leaves) == [1, 2, 2]
    assert [place.number for place in drawn.places] == [1]
    assert "kept ×2" in {leaf.label for leaf in drawn.leaves}  # noqa: RUF001


def test_a_thousand_leaves_are_cut_and_counted() -> None:
    made = fork()
    many = type(made.branches[0])
    branches = tuple(many((f"r{n}",), {}, "", 1, 1) for n in range(1000))
    wide = type(made)("t", "", 0, 0, "user", "input", made.consequence, False, branches)
    drawn = trie_drawing([wide], [], {})
    assert len(drawn.leaves) == 40
    assert drawn.cut == 960


def test_block_counts_add_up_to_all_pairs() -> None:
    shown, cells = block_matrix(blocks().classes)
    n = sum(block.size for block in shown)
    assert sum(cell.n for i, row in enumerate(cells) for j, cell in enumerate(row) if j >= i) == n * (n - 1) // 2
    assert [cell.run_class for cell in cells[0]] == ["token-identical", "tests-identical", "divergent", "unresolved"]
