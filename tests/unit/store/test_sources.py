from __future__ import annotations

import hashlib
import io
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from samework.errors import NotFound
from samework.store.sources import SourceStore

if TYPE_CHECKING:
    from pathlib import Path


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=5000))
def test_bytes_come_back_as_they_went_in(tmp_path: Path, data: bytes) -> None:
    store = SourceStore(tmp_path / "sources")
    digits = store.put(io.BytesIO(data))
    assert digits == hashlib.sha256(data).hexdigest()
    with store.open(digits) as stream:
        assert stream.read() == data


def test_a_long_stream_is_kept_whole(tmp_path: Path) -> None:
    data = b"0123456789abcdef" * 400_000
    store = SourceStore(tmp_path)
    assert store.rehash(store.put(io.BytesIO(data))) == hashlib.sha256(data).hexdigest()


def test_the_same_bytes_are_kept_once(tmp_path: Path) -> None:
    store = SourceStore(tmp_path)
    digits = store.put(io.BytesIO(b"a"))
    assert store.put(io.BytesIO(b"a")) == digits
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [f"{digits}.zst"]


def test_a_stream_that_breaks_leaves_nothing(tmp_path: Path) -> None:
    class Broken(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            raise OSError(28, "No space left on device")

    store = SourceStore(tmp_path)
    with pytest.raises(OSError, match="No space left"):
        store.put(Broken())  # type: ignore[arg-type]
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_name_that_is_no_digest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a sha256"):
        SourceStore(tmp_path).path_of("../../etc/passwd")


def test_bytes_that_are_not_held_are_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        SourceStore(tmp_path).open("0" * 64)
