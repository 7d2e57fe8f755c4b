"""A page in a real browser: did anything that a run wrote run, and what does the page show."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
_PROBE = "<script>addEventListener('load',()=>{document.documentElement.dataset.pwn=String(window.__pwn)})</script>"


def dom_of(page: Path, profile: Path, *flags: str) -> str:
    """The page's document after it has settled."""
    command = [
        str(CHROMIUM),
        *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
        *("--disable-component-update", "--disable-sync", f"--user-data-dir={profile}", "--dump-dom", *flags),
        page.as_uri(),
    ]
    env = {**os.environ, "HOME": str(profile)}
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=90, env=env).stdout


def ran_and_shown(page: Path, profile: Path) -> tuple[bool, str]:
    """Whether `window.__pwn` was set once the page's policy is taken away, and the document.

    Without the policy the page must be safe by its escapes alone.
    """
    bare = re.sub(r"<meta http-equiv=[^>]*>", "", page.read_text(encoding="utf-8"))
    probed = page.with_suffix(".probed.html")
    probed.write_text(bare.replace("<head>", f"<head>{_PROBE}", 1), encoding="utf-8")
    dom = dom_of(probed, profile, "--virtual-time-budget=2000")
    is_whole = 'data-pwn="undefined"' in dom and dom.count("<script") == 1
    has_handler = re.search(r"<[^>]*\son\w+=", dom.replace(_PROBE, "")) is not None
    return not is_whole or has_handler, dom
