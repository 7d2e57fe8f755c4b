"""Fixtures common to all suites: where the shared data lies, and a skip with its reason where it does not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


@pytest.fixture
def root() -> Path:
    """Root of the checkout."""
    return ROOT


@pytest.fixture
def shared_path() -> Callable[..., Path]:
    """Path below the shared data; skips the test where it is absent."""

    def path(*parts: str) -> Path:
        found = SHARED.joinpath(*parts)
        if not found.exists():
            pytest.skip(f"shared data not beside the checkout: {'/'.join(parts)}")
        return found

    return path
