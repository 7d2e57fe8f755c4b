"""Texts of a fork lose their secrets before they are shortened: a cut through one leaves nothing of it."""

from __future__ import annotations

import pytest

from samework.api.reporting import pair_data, rendered, store_data, task_data
from tests.forklab import Made, completion, store_of, user

SECRET = "sk-" + "aB3dE6gH9jK2mN5pQ8sT" * 2
PLACES = [40, 100, 140, 150, 155, 158, 3960, 3990, 3998]


def _runs(padding: int) -> list[Made]:
    """Two runs that part in a text whose secret begins `padding` characters in."""
    said = [f"{way} {'word ' * 2000}"[:padding] + f" {SECRET} and more " + "word " * 900 for way in "xy"]
    return [
        Made(f"run-{way}", [user("u"), completion(text)], tests={"t": outcome})
        for way, text, outcome in zip("xy", said, ("passed", "failed"), strict=True)
    ]


@pytest.mark.parametrize("padding", PLACES)
def test_a_secret_that_straddles_the_cut_of_an_excerpt_leaves_nothing(tmp_path, padding):
    with store_of(tmp_path / "store", _runs(padding)) as handle:
        pages = [
            pair_data(handle, "run-x", "run-y", redact=True),
            task_data(handle, "t", redact=True),
            store_data(handle, redact=True),
        ]
    for page in pages:
        for ending in (".html", ".md", ".json"):
            assert not _pieces_in(rendered(page, ending))
    assert any(len(branch.excerpt) <= 160 for branch in pages[1].task.forks[0].branches)


def _pieces_in(text: str) -> list[str]:
    return [SECRET[:n] for n in (6, 10, 20) if SECRET[:n] in text] + [
        SECRET[-n:] for n in (6, 20) if SECRET[-n:] in text
    ]


@pytest.mark.parametrize("padding", [4040, 4060, 4070, 4080, 4090])
def test_a_secret_that_straddles_the_cut_of_stored_arguments_leaves_nothing(tmp_path, padding):
    runs = [
        Made(f"run-{way}", [user("u"), completion("c", ("bash", f"{way} {'word ' * 900}"[:padding] + " " + SECRET))])
        for way in "xy"
    ]
    with store_of(tmp_path / "store", runs) as handle:
        pages = [pair_data(handle, "run-x", "run-y", redact=True), task_data(handle, "t", redact=True)]
    for page in pages:
        assert not _pieces_in(rendered(page, ".json"))


def test_excerpts_are_not_redacted_where_that_is_asked(tmp_path):
    with store_of(tmp_path / "store", _runs(20)) as handle:
        assert SECRET in rendered(task_data(handle, "t", redact=False), ".json")
