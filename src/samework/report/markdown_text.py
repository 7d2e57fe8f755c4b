"""Untrusted text as Markdown: what the pages in Markdown are made of. Nothing in it is obeyed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from samework.report import sentences
from samework.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>|~#!$])")
_LINK = re.compile(r"(?i)\b(https?|ftp)(:/)/|\b(www)\.")
_REFERENCE = re.compile(r"(?i)@(?=\w)|\\#(?=\w)|\bGH(?=-[0-9])")
_JOINER = "&#8288;"  # a character without width: what a renderer makes of the text is no name or number any more
_SHOWN_ROWS = 200
_ENTITY = {"<": "&lt;", ">": "&gt;"}


def plain_text(value: object) -> str:
    r"""Untrusted text inside a line: nothing in it is obeyed as Markdown, HTML, mention or link.

    >>> plain_text("a|b <x> @org/team")
    'a\\|b &lt;x&gt; &#64;&#8288;org/team'
    """
    shown = visible(str(value), one_line=True).replace("&", "&amp;")
    shown = _SPECIAL.sub(lambda found: _ENTITY.get(found[1], f"\\{found[1]}"), shown)
    shown = _REFERENCE.sub(lambda found: found[0] + _JOINER, _LINK.sub(_unlinked, shown))
    return shown.replace("@", "&#64;")


def _unlinked(found: re.Match[str]) -> str:
    return f"{found[1]}&#58;{_JOINER}//" if found[1] else f"{found[3]}&#46;{_JOINER}"


def code(value: object) -> str:
    """Untrusted text as inline code, also inside a table."""
    shown = visible(str(value), one_line=True).replace("|", "\u2502")
    ticks = "`" * (_longest_run(shown) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") or not shown.strip() else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def fenced(value: str, language: str = "text") -> str:
    """Untrusted text as a block, in a fence longer than any run of backticks inside."""
    fence = "`" * max(3, _longest_run(value) + 1)
    return f"{fence}{language}\n{visible(value)}\n{fence}"


def _longest_run(value: str) -> int:
    return max((len(run) for run in re.findall(r"`+", value)), default=0)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already; at most 200 rows, the rest counted."""
    made = list(rows)
    lines = [head, ["---"] * len(head), *made[:_SHOWN_ROWS]]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    rest = len(made) - _SHOWN_ROWS
    return text if rest <= 0 else f"{text}\n\n{sentences.counted(rest, 'more row')} left out."
