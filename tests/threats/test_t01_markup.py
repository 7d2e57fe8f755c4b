"""T1: markup in what runs wrote is text on every page, with and without the page's policy; nothing is loaded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.command import samework
from tests.threats.browser import CHROMIUM, ran_and_shown
from tests.threats.lab import stored

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")]
_PWN = "window.__pwn=1"
TEXT = " ".join(
    [
        f"<script>{_PWN}</script>",
        f'</style></title></pre></textarea><img src=x onerror="{_PWN}">',
        f"<svg onload={_PWN}><animate onbegin={_PWN} attributeName=x dur=1s>",
        "\"'><iframe srcdoc='<script>parent.__pwn=1</script>'></iframe>",
        rf"$\href{{javascript:{_PWN}}}{{x}}$ \(\unicode{{<img src=x onerror={_PWN}>}}\) {{{{ ''.__class__ }}}}",
    ]
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("t1")
    store, (a, b) = stored(place, TEXT)
    asked: dict[str, tuple[str, ...]] = {"pair": (a, b), "task": ("--task", f"t {TEXT}"), "store": ()}
    for kind, words in asked.items():
        done = samework("report", *words, "-o", place / f"{kind}.html", store=store)
        assert done.returncode == 0, done.stderr
    return {kind: place / f"{kind}.html" for kind in asked}


@pytest.mark.parametrize("kind", ["pair", "task", "store"])
def test_no_page_runs_or_loads_what_a_run_wrote(kind: str, pages: dict[str, Path], tmp_path: Path) -> None:
    text = pages[kind].read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    assert not re.search(r"(?:src|href|srcdoc|action)\s*=\s*[\"']?(?:https?:|//|javascript:|data:)", text)
    has_run, dom = ran_and_shown(pages[kind], tmp_path / "profile")
    assert not has_run
    assert "&lt;script&gt;window.__pwn=1" in dom
