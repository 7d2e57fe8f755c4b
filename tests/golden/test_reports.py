"""Reports as bytes: `make golden` writes them anew, and a person reads the difference."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from samework.report.html import render_html
from samework.report.json import render_json
from samework.report.markdown import render_markdown
from tests.pages import KINDS

HERE = Path(__file__).resolve().parent
RENDER = {"html": render_html, "md": render_markdown, "json": render_json}


@pytest.mark.parametrize("ending", RENDER)
@pytest.mark.parametrize("kind", KINDS)
def test_a_report_is_the_golden_one(kind: str, ending: str) -> None:
    made = RENDER[ending](msgspec.structs.replace(KINDS[kind](), version="0"))
    golden = HERE / f"{kind}.{ending}"
    if os.environ.get("SAMEWORK_GOLDEN") == "write":
        golden.write_text(made)
    assert made == golden.read_text(), f"{golden.name} differs; if that is meant: make golden"
