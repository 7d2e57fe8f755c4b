"""Calls that fail in the middle of an ingest lose nothing that was acknowledged."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_an_ingest_whose_calls_fail_loses_nothing(root: Path) -> None:
    words = [sys.executable, str(root / "bench" / "faults.py"), "--points", "3", "--seed", "4"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 distinct points" in done.stdout
    assert "0 bad" in done.stdout
