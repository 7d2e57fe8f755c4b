"""An ingest that is killed at any moment loses nothing and doubles nothing once it is repeated."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_killed_and_repeated_ingest_equals_an_undisturbed_one(root: Path) -> None:
    words = [sys.executable, str(root / "bench" / "kill.py"), "--kills", "3", "--seed", "3"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert "3 kills" in done.stdout
    assert "all tables equal" in done.stdout
