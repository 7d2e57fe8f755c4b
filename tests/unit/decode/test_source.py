"""Sources stay where they are: no name and no link leaves its directory, only regular files are opened."""

from __future__ import annotations

import gzip
import os
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from samework.decode.archive import expanded
from samework.decode.document import read_bytes, read_document, read_document_checked
from samework.decode.limits import Limits
from samework.decode.source import BytesSource, DirSource, FileSource
from samework.errors import DamagedRecord, InputError, LimitExceeded

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["../x", "/etc/hostname", "a/../../x", "", "a\0b", "a\\b", ".."])
def test_a_name_that_leaves_the_directory_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="does not stay inside"):
        DirSource(tmp_path).child(name)


def test_a_link_that_leaves_the_directory_is_refused_and_one_inside_is_read(tmp_path: Path) -> None:
    inside = tmp_path / "in"
    inside.mkdir()
    (tmp_path / "secret").write_text("s")
    (inside / "real").write_text("r")
    (inside / "out").symlink_to("../secret")
    (inside / "near").symlink_to("real")
    (inside / "loop").symlink_to("loop")
    (inside / "up").symlink_to("..")
    source = DirSource(inside)
    with pytest.raises(InputError, match="through a link"):
        source.child("out")
    with pytest.raises(InputError):
        source.child("loop")
    with pytest.raises(InputError, match="through a link"):
        source.child("up/secret")
    near = source.child("near")
    assert near is not None
    assert near.head() == b"r"


def test_a_name_longer_than_any_file_has_is_cut_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(InputError) as found:
        DirSource(tmp_path).child("x" * 5000)
    assert found.value.place == f"{tmp_path}/{'x' * 199}…"


def test_names_are_sorted_files_without_hidden_directories(tmp_path: Path) -> None:
    for name in ("b/c", "a", ".git/config", "b/.hidden/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("12")
    source = DirSource(tmp_path)
    assert source.names() == ["a", "b/c"]
    assert (source.size(), source.head(), source.child("none"), source.child("b")) == (4, b"", None, None)
    with pytest.raises(LimitExceeded):
        DirSource(tmp_path, Limits(max_members=1)).names()


def test_a_pipe_is_refused_and_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="not a regular file"):
        FileSource(tmp_path / "pipe").open()
    with pytest.raises(InputError, match="cannot be read"):
        FileSource(tmp_path / "none").open()


def test_a_document_is_read_whole_under_the_limit() -> None:
    assert read_document(BytesSource("x", b'{"a":[1]}')) == {"a": [1]}
    assert read_document_checked(BytesSource("x", b'{"a":1,"a":2}'))[1] != []
    with pytest.raises(LimitExceeded, match="more than 3 bytes"):
        read_document(BytesSource("x", b"[1,2]"), Limits(max_document_bytes=3))


def test_a_cut_document_names_file_and_byte() -> None:
    with pytest.raises(DamagedRecord, match="the file ends inside the document") as caught:
        read_document(BytesSource("a\x1b.traj", b'{"a":'))
    assert caught.value.place == "a\\x1b.traj, byte 5"


def test_a_small_document_takes_little_memory_however_much_one_may_be() -> None:
    tracemalloc.start()
    try:
        read_bytes(expanded(BytesSource("a.json", gzip.compress(b'{"a": 1}'))))
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
