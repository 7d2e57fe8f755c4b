"""The page in a real browser: nothing a run wrote may run, and nothing may be wider than the window."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from samework.report.html import render_html
from tests.pages import KINDS

if TYPE_CHECKING:
    from pathlib import Path

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
HOSTILE = [
    "<script>window.__pwn=1;document.title='pwned'</script>",
    "</style></title></pre><img src=x onerror=\"window.__pwn=1;document.title='pwned'\">",
    "<svg onload=window.__pwn=1><animate onbegin=window.__pwn=1 attributeName=x dur=1s>",
    "\"'><iframe srcdoc='<script>parent.__pwn=1</script>'></iframe> $\\(\\href{javascript:window.__pwn=1}{x}\\)$",
    "]]>--><math><style><img src=x onerror=window.__pwn=1></style>{{ ''.__class__ }}{% raw %}",
]
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")]


def _dom(page: Path, profile: Path, *flags: str) -> str:
    command = [
        str(CHROMIUM),
        *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
        *("--disable-component-update", "--disable-sync", f"--user-data-dir={profile}", *flags),
        page.as_uri(),
    ]
    env = {**os.environ, "HOME": str(profile)}
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=90, env=env).stdout


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_a_run_wrote_runs(kind: str, tmp_path: Path) -> None:
    # no policy in the way: the page must be safe by its escapes alone, so the policy is a second wall
    html = render_html(KINDS[kind]("\n".join(HOSTILE)))
    bare = re.sub(r"<meta http-equiv=[^>]*>", "", html)
    probe = "<script>addEventListener('load',()=>{document.documentElement.dataset.pwn=String(window.__pwn)})</script>"
    page = tmp_path / "page.html"
    page.write_text(bare.replace("<head>", f"<head>{probe}", 1))
    dom = _dom(page, tmp_path / "profile", "--dump-dom", "--virtual-time-budget=2000")
    assert 'data-pwn="undefined"' in dom
    assert dom.count("<script") == 1
    assert not re.search(r"<[^>]*\son\w+=", dom.replace(probe, ""))
    assert "&lt;script&gt;" in dom


@pytest.mark.parametrize("kind", KINDS)
def test_the_policy_stops_a_script_that_would_be_there(kind: str, tmp_path: Path) -> None:
    html = render_html(KINDS[kind]())
    page = tmp_path / "page.html"
    page.write_text(html.replace("</main>", "<script>document.documentElement.dataset.pwn='1'</script></main>", 1))
    assert "data-pwn" not in _dom(page, tmp_path / "profile", "--dump-dom")


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("kind", KINDS)
def test_the_page_fits_its_window(kind: str, width: int, tmp_path: Path) -> None:
    probe = (
        "<script>addEventListener('load',()=>{const d=document.documentElement;"
        "d.dataset.wide=String(d.scrollWidth>d.clientWidth)})</script>"
    )
    html = re.sub(r"<meta http-equiv=[^>]*>", "", render_html(KINDS[kind]()))
    page = tmp_path / "page.html"
    page.write_text(html.replace("<head>", f"<head>{probe}", 1))
    dom = _dom(page, tmp_path / "profile", f"--window-size={width},900", "--dump-dom")
    assert 'data-wide="false"' in dom
