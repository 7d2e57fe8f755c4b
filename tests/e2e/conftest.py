"""Stores that several suites ask and none writes to: ingested once a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import answer, new_store

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


@pytest.fixture(scope="session")
def small_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The made runs and those of Codex."""
    store = new_store(tmp_path_factory.mktemp("small"))
    answer("ingest", FIXTURES / "small", FIXTURES / "codex-fix-add", store=store)
    return store


@pytest.fixture(scope="session")
def kv_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole of kv-path."""
    store = new_store(tmp_path_factory.mktemp("kv"))
    answer("ingest", FIXTURES / "kv-path", store=store)
    return store
