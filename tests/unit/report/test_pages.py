"""Each presenter shows the same record, and none lets a run's text act."""

from __future__ import annotations

from html.parser import HTMLParser

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samework.report.data import ReportData
from samework.report.html import render_html
from samework.report.json import render_json
from samework.report.markdown import LIMIT, code, fenced, plain_text, render_markdown
from tests.pages import KINDS, pair, store

HOSTILE = "</title></style></pre></script><script>window.__pwn=1</script><img src=x onerror=window.__pwn=1>\"'{{7*7}}&"
VOID = {"meta", "br", "link", "img"}


class _Page(HTMLParser):
    """Tags that do not close in order, tags and attributes seen."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)


def _parsed(html: str) -> _Page:
    page = _Page()
    page.feed(html)
    page.close()
    return page


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", [None, HOSTILE])
def test_a_page_is_well_formed_and_holds_nothing_that_runs(kind: str, text: str | None) -> None:
    page = _parsed(render_html(KINDS[kind](text)))
    assert page.faults == []
    assert page.open == []
    assert not page.tags & {"script", "img", "iframe", "object", "embed", "form", "link", "base", "foreignobject"}
    assert not {name for name in page.attributes if name.startswith("on") or name in {"src", "href", "srcdoc"}}


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_forbids_everything_but_its_own_style(kind: str) -> None:
    html = render_html(KINDS[kind]())
    assert "content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\"" in html
    assert "url(" not in html
    assert "@import" not in html


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", [None, HOSTILE, "\ud800\x1b[2J\u202e"])
def test_json_read_back_gives_the_same_page(kind: str, text: str | None) -> None:
    data = KINDS[kind](text)
    again = msgspec.json.decode(render_json(data), type=ReportData)
    assert again == data
    assert render_html(again) == render_html(data)
    assert render_markdown(again) == render_markdown(data)


@pytest.mark.parametrize("render", [render_html, render_json, render_markdown])
def test_control_characters_are_shown_not_obeyed(render) -> None:
    shown = render(pair("a\x1b]52;c;ZWNobw==\x07\x9b31m\u202egnp"))
    assert not set(shown) & set("\x1b\x07\x9b\u202e")


def test_the_headline_says_class_status_and_meaning_and_anomalies_come_before_it() -> None:
    html = render_html(pair())
    assert html.index("Anomaly A1") < html.index("The work changed") < html.index("What is the same")
    assert "established" in html


def test_forks_that_changed_work_come_worst_first_and_the_others_are_only_counted() -> None:
    page = store().store
    assert page is not None
    assert [fork.consequence for fork in page.forks] == ["C3", "C2"]
    assert page.n_forks == 3


@given(st.text())
@settings(max_examples=60, deadline=None)
def test_a_fence_is_longer_than_any_run_of_backticks_inside(value: str) -> None:
    lines = fenced(value).split("\n")
    fence = lines[0].removesuffix("text")
    assert set(fence) == {"`"}
    assert lines[-1] == fence
    assert not any(line.strip() == fence for line in lines[1:-1])


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("]( http://x ) @org/team #1 <!-- -->", r"\]\( http&#58;// x"),
        ("a | b", r"a \| b"),
        ("```", r"\`\`\`"),
    ],
)
def test_markdown_in_untrusted_text_stays_text(value: str, shown: str) -> None:
    made = plain_text(value)
    assert made.startswith(shown.replace("// x", "//x")[:6])
    assert "@" not in made
    assert "<" not in made
    assert "://" not in made


def test_a_cell_of_code_cannot_break_its_table() -> None:
    assert "|" not in code("a|b\nc")
    assert "\n" not in code("a|b\nc")


def test_markdown_stays_under_the_limit_of_a_comment_and_says_what_it_cut() -> None:
    made = render_markdown(pair("long line of text\n" * 3000))
    assert len(made) <= LIMIT
    assert "Cut here" in made
