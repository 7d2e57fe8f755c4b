"""A store with a small, whole batch in it, and what makes one."""

from __future__ import annotations

import hashlib
import io
import shutil
from typing import TYPE_CHECKING

import pytest

from samework.store.write import BatchWriter
from tests.stores import open_empty

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from samework.store.connection import StoreHandle

SETTINGS = hashlib.sha256(b"{}").digest()


def sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8")).digest()


def source_row(handle: StoreHandle, data: bytes) -> dict[str, object]:
    return {
        "source_sha256": bytes.fromhex(handle.sources.put(io.BytesIO(data))),
        "settings_sha256": SETTINGS,
        "path": "a.traj",
        "format": "swe_agent",
        "n_bytes": len(data),
        "status": "ingested",
        "reason": None,
        "n_runs": 1,
        "n_events": 0,
    }


def append_run(
    writer: BatchWriter, source: dict[str, object], texts: list[str], *, task: str = "t", arm: str = "a"
) -> int:
    """One run whose events are completions, each with one call whose argument is the text."""
    key = writer.next_key("run")
    keys = [sha256(text) for text in texts]
    chains = [sha256(task + "\0".join(texts[: place + 1])) for place in range(len(texts))]
    count = len(texts)
    writer.append(
        "run",
        {
            "run_key": [key],
            "run_id": [f"{key:016x}"],
            "task": [task],
            "arm": [arm],
            "repeat": [str(key)],
            "kind": ["coding"],
            "format": ["swe_agent"],
            "layout": ["swe-bench"],
            "end_reason": ["finished"],
            "complete": [True],
            "has_trajectory": [True],
            "n_events": [count],
            "n_steps": [count],
            "n_calls": [count],
            "content_sha256": [sha256(f"{task}{key}")],
            "source_sha256": [source["source_sha256"]],
            "settings_sha256": [source["settings_sha256"]],
        },
    )
    writer.append_bodies(keys, texts)
    writer.append(
        "event",
        {
            "run_key": [key] * count,
            "seq": list(range(count)),
            "step": list(range(1, count + 1)),
            "kind": ["completion"] * count,
            "digest": keys,
            "prev": [None, *chains[:-1]] if chains else [],
            "chain": chains,
            "action_sha256": keys,
            "body": keys,
            "n_bytes": [len(text.encode()) for text in texts],
        },
    )
    writer.append(
        "call",
        {
            "run_key": [key] * count,
            "seq": list(range(count)),
            "ordinal": [0] * count,
            "name": ["bash"] * count,
            "arguments": keys,
            "canonical": texts,
            "canonical_sha256": keys,
            "exact": [True] * count,
            "observed": [True] * count,
        },
    )
    return key


@pytest.fixture
def handle(tmp_path: Path) -> Iterator[StoreHandle]:
    with open_empty(tmp_path / ".samework") as made:
        yield made


@pytest.fixture(scope="session")
def filled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store that `filled` copies; nothing may write to it."""
    path = tmp_path_factory.mktemp("filled") / ".samework"
    with open_empty(path) as made, BatchWriter(made) as writer:
        source = source_row(made, b"one source")
        writer.begin()
        append_run(writer, source, ["ls", "cat a", "done"])
        append_run(writer, source, ["ls", "cat b", "done"], arm="b")
        writer.commit([source])
    return path


@pytest.fixture
def filled(filled_once: Path, tmp_path: Path) -> Path:
    """Path of a closed store with two runs of one task that part at the second event; a test's own."""
    return shutil.copytree(filled_once, tmp_path / ".samework")


@pytest.fixture
def rows() -> Callable[[StoreHandle, str], list[tuple[object, ...]]]:
    def read(handle: StoreHandle, query: str) -> list[tuple[object, ...]]:
        return handle.db.execute(query).fetchall()

    return read
