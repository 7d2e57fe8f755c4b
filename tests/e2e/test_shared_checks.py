"""The checks that lie beside the checkout, each against numbers that its data were published with."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.command import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize("check", ["tau", "swe_agent", "verified_cross", "kv_path"])
def test_a_shared_check_passes(check: str, shared_path: Callable[..., Path], root: Path, tmp_path: Path) -> None:
    script = shared_path("checks", f"{check}.py")
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=root,
        env=os.environ | {"SAMEWORK": COMMAND, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.rstrip().endswith(": passed")
