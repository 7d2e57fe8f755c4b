"""T3: what a run wrote can neither notify, link, break a table or a fence, nor make a comment too long to post."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from markdown_it import MarkdownIt

from tests.command import answer, new_store, samework
from tests.threats.lab import bundle, stored

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from markdown_it.token import Token

TEXT = "]( http://x ) @org/team #1 GH-1 org/repo#2 <!-- --> ``` \n| a | b ~~~~ <b>x</b> www.evil.example"
LIMIT = 65_536


def outside_code(text: str) -> str:
    """The text without its code: fences first, each closed by one of its own length, then spans in lines.

    A backtick behind a backslash opens no span.
    """
    text = re.sub(r"^(`{3,})[a-z]*\n.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = text.replace("\\`", "")
    return re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", text)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    place = tmp_path_factory.mktemp("t3")
    store, (a, b) = stored(place, TEXT)
    for kind, words in {"pair": (a, b), "store": (), "task": ("--task", f"t {TEXT}")}.items():
        assert samework("report", *words, "-o", place / f"{kind}.md", store=store).returncode == 0
    words = ("--baseline", f"a {TEXT}", "--candidate", f"b {TEXT}", "--summary", place / "gate.md")
    assert samework("gate", *words, store=store).returncode in {0, 1, 3}
    return {path.stem: path.read_text(encoding="utf-8") for path in place.glob("*.md")}


@pytest.mark.parametrize("kind", ["pair", "store", "task", "gate"])
def test_nothing_in_it_is_obeyed(kind: str, made: dict[str, str]) -> None:
    plain = outside_code(made[kind])
    assert "@" not in plain
    assert "](" not in plain.replace("\\](", "")
    assert "://" not in plain
    assert "www." not in plain
    assert not re.search(r"<(?!/?(?:sub|br|details|summary)\b)", plain), "raw HTML"
    for line in made[kind].splitlines():
        if line.startswith("| ") and not line.startswith("| a"):
            assert len(re.findall(r"(?<!\\)\|", line)) >= 3


def text_nodes(tokens: Sequence[Token]) -> Iterator[str]:
    """What a renderer makes of the page, outside of code: where names and numbers become links."""
    for token in tokens:
        if token.type in {"text", "text_special"}:
            yield token.content
        yield from text_nodes(token.children or ())


@pytest.mark.parametrize("kind", ["pair", "store", "task", "gate"])
def test_no_text_that_is_rendered_mentions_or_refers_to_anything(kind: str, made: dict[str, str]) -> None:
    texts = list(text_nodes(MarkdownIt("commonmark").enable("table").parse(made[kind])))
    said = "".join(texts)
    assert "org/team" in said
    assert not re.search(r"@\w|#\w|(?i:gh-[0-9])|https?://|www\.\w", said)


def test_a_long_report_is_cut_under_the_limit_and_says_so(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    for arm in "ab":
        bundle(tmp_path / arm, "x", arm)
        (tmp_path / arm / "tree" / "long.txt").write_text(f"``` {arm} `````\n" * 20_000)
    answer("ingest", tmp_path / "a", tmp_path / "b", store=store)
    out = tmp_path / "pair.md"
    assert samework("report", "t x:a x:1", "t x:b x:1", "-o", out, store=store).returncode == 0
    text = out.read_text(encoding="utf-8")
    assert len(text) <= LIMIT
    assert "@" not in outside_code(text)
