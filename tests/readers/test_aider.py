"""The reader of aider's chat history: who said what, edits as calls, exact counts only."""

from __future__ import annotations

import re

import pytest

from samework.errors import DamagedRecord
from samework.readers.aider import READER
from tests.agentlab import read_bytes, read_file

HEAD = """
# aider chat started at 2026-01-01 10:00:00

> /usr/bin/aider a.py
> Aider v0.50.1
> Main model: m-1 with diff edit format, weak model m-2
> Git repo: .git with 3 files

"""
EDIT = """a.py
<<<<<<< SEARCH
one
=======
two
>>>>>>> REPLACE"""


def chat(*blocks: str, head: str = HEAD) -> bytes:
    return (head + "\n\n".join(blocks) + "\n").encode()


def test_user_model_and_program_are_told_apart():
    (run,) = read_bytes(
        READER,
        chat(
            "#### do it  \n#### now  ",
            f"I will.\n\n```python\n> quoted in a fence\n#### too\n{EDIT}\n```",
            "> Tokens: 5,244 sent, 1,000 cache write, 2,000 cache hit, 604 received. Cost: $0.02  \n"
            "> Applied edit to a.py  \n> Commit fd43cd4 feat: it  ",
            "#### /diff  ",
            "#### /ask why?  ",
            "Because.",
        ),
        sure=0.9,
    )
    assert run.kinds == ["user", "completion", "user", "completion"]
    assert run.texts[0] == "do it\nnow"
    assert "> quoted in a fence\n#### too" in run.texts[1]
    assert run.texts[2] == "/ask why?"
    assert [(call.name, call.is_json, call.exact) for call in run.calls] == [("edit", False, True)]
    assert run.calls[0].arguments == EDIT
    usage = run.steps[0].usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.cached_tokens, usage.cache_write_tokens, usage.completion_tokens) == (
        5244, 2000, 1000, 604,
    )  # fmt: skip
    assert run.steps[1].usage is None
    assert (run.start.agent_version, run.start.model) == ("0.50.1", "m-1")
    assert run.start.extra == {"commits": ["fd43cd4"], "edit_format": "diff"}


def test_each_chat_is_a_run_and_the_same_run_when_the_file_has_grown():
    first = chat("#### one  ", "a")
    (alone,) = read_bytes(READER, first)
    again, more = read_bytes(READER, first + chat("#### two  ", "b"))
    assert again.start.content_sha256 != more.start.content_sha256
    assert more.texts == ["two", "b"]
    assert alone.texts == again.texts == ["one", "a"]


def test_a_chat_in_which_nobody_asked_anything_is_no_run():
    silent = chat("> Commit fd43cd4 fix: lint  ", "a map of files that the program printed")
    (run,) = read_bytes(READER, silent + chat("#### one  ", "a"))
    assert run.texts == ["one", "a"]
    (only,) = read_bytes(READER, silent)
    assert not only.events


def test_rounded_counts_are_no_counts():
    (run,) = read_bytes(READER, chat("#### one  ", "a", "> Tokens: 5.2k sent, 604 received.  "))
    assert run.steps[0].usage is None
    assert run.codes == ["rounded-counts"]


def test_a_file_that_begins_within_a_chat_is_not_whole():
    first, second = read_bytes(READER, b"#### cut  \n\nanswer\n" + chat("#### one  ", "a"))
    assert first.codes == ["cut-head"]
    assert first.damage[0].taints_run
    assert first.texts == ["cut", "answer"]
    assert not second.damage


def test_a_block_without_its_divider_is_no_edit_and_bytes_that_are_no_text_are_told():
    (run,) = read_bytes(READER, chat("#### one  ", "<<<<<<< SEARCH\n>>>>>>> REPLACE") + b"\xff\n")
    assert not run.calls
    assert run.damage[0].taints_run


def test_nothing_is_refused():
    with pytest.raises(DamagedRecord):
        read_bytes(READER, b"")


def test_a_real_history_has_the_counts_of_a_plain_walk(shared_path):
    path = shared_path("data", "formats", "aider", "chat-history.first12.DERIVED.md")
    text = path.read_bytes().decode()
    chats = re.split(r"(?m)^# aider chat started at .*$", text)
    asked = [one for one in chats if re.search(r"(?m)^#### +[^/\s]", one)]
    found = read_file(READER, path)
    assert len(found) == len(asked)
    exact = re.findall(r"(?m)^> Tokens: ([0-9,]+) sent, ([0-9,]+) received", text)
    assert sum(run.tokens("prompt_tokens") for run in found) == sum(int(n.replace(",", "")) for n, _ in exact)
    assert sum(run.tokens("completion_tokens") for run in found) == sum(int(n.replace(",", "")) for _, n in exact)
    assert sum(len(run.calls) for run in found) == len(re.findall(r"(?m)^>>>>>>> REPLACE$", text))
