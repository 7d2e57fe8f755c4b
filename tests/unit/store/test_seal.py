"""Any byte of a store at rest that is not as it was written is found."""

from __future__ import annotations

import io
import random
import tarfile
from typing import TYPE_CHECKING

import pytest

from samework.errors import InputError, SameworkError, StoreError
from samework.store import seal
from samework.store.backup import backup, check_backup, restore
from samework.store.connection import create_store, open_store
from samework.store.verify import verify_store

if TYPE_CHECKING:
    from pathlib import Path


def _is_found(store: Path) -> bool:
    try:
        return verify_store(store) != []
    except SameworkError:
        return True


def test_every_flip_in_every_file_is_found(filled: Path) -> None:
    draw = random.Random(5)
    missed = []
    for file in sorted(path for path in filled.rglob("*") if path.is_file()):
        whole = file.read_bytes()
        for _ in range(8):
            place, mask = draw.randrange(len(whole)), draw.choice([1, 2, 4, 8, 16, 32, 64, 128, 255])
            damaged = bytearray(whole)
            damaged[place] ^= mask
            file.write_bytes(damaged)
            if not _is_found(filled):
                missed.append((file.name, place, mask))
            file.write_bytes(whole)
    assert missed == []
    assert verify_store(filled) == []


def test_bytes_that_no_decoder_reads_are_sealed(filled: Path) -> None:
    """Bit 4 of a frame's descriptor is one that Zstandard tells decoders to ignore."""
    (kept,) = (filled / "sources").glob("??/*.zst")
    whole = kept.read_bytes()
    kept.write_bytes(whole[:4] + bytes([whole[4] ^ 16]) + whole[5:])
    assert [(finding.where, finding.what) for finding in verify_store(filled)] == [
        (f"sources/{kept.parent.name}/{kept.name}", "its bytes differ from those that were written")
    ]


def test_a_writer_lifts_the_seal_and_closes_it(filled: Path) -> None:
    assert (filled / seal.SEAL_NAME).exists()
    with open_store(filled, read_only=False):
        assert not (filled / seal.SEAL_NAME).exists()
    assert (filled / seal.SEAL_NAME).exists()
    assert verify_store(filled) == []


def test_a_backup_restores_to_the_same_bytes(filled: Path, tmp_path: Path) -> None:
    backup(filled, tmp_path / "copy.tar")
    made = restore(tmp_path / "copy.tar", tmp_path / "new" / ".samework")
    names = sorted(path.relative_to(filled) for path in filled.rglob("*") if path.is_file())
    assert made.n_files == len(names)
    for name in names:
        assert (tmp_path / "new" / ".samework" / name).read_bytes() == (filled / name).read_bytes()
    assert verify_store(tmp_path / "new" / ".samework") == []


def test_nothing_is_restored_over_what_is_there(filled: Path, tmp_path: Path) -> None:
    backup(filled, tmp_path / "copy.tar")
    with pytest.raises(StoreError, match="something already"):
        restore(tmp_path / "copy.tar", filled)


def test_no_flip_of_a_backup_restores(filled: Path, tmp_path: Path) -> None:
    backup(filled, tmp_path / "copy.tar")
    whole = (tmp_path / "copy.tar").read_bytes()
    draw = random.Random(2)
    for place in draw.sample(range(len(whole) - 10240), 40):  # the last blocks are the archive's own padding
        damaged = bytearray(whole)
        damaged[place] ^= 255
        (tmp_path / "bad.tar").write_bytes(damaged)
        try:
            restore(tmp_path / "bad.tar", tmp_path / "out")
        except (InputError, StoreError):
            assert not (tmp_path / "out").exists()
            continue
        # Padding between members, or times in their headers: what is restored is the same.
        assert verify_store(tmp_path / "out") == []
        for file in (tmp_path / "out").rglob("*"):
            file.chmod(0o755)
        for name in ("store.duckdb", "journal.jsonl"):
            assert (tmp_path / "out" / name).read_bytes() == (filled / name).read_bytes()
        (tmp_path / "out").rename(tmp_path / f"out-{place}")


@pytest.mark.parametrize("name", ["../evil", "/abs", ".samework/../evil", ".samework/sources/x", ".samework/tmp/a"])
def test_a_backup_with_a_name_that_no_store_has_is_refused(filled: Path, tmp_path: Path, name: str) -> None:
    backup(filled, tmp_path / "copy.tar")
    with tarfile.open(tmp_path / "copy.tar", "a") as archive:
        member = tarfile.TarInfo(name)
        member.size = 1
        archive.addfile(member, io.BytesIO(b"x"))
    with pytest.raises(InputError, match="none that a backup has"):
        restore(tmp_path / "copy.tar", tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {".samework", "copy.tar"}


def _packed(path: Path, name: str, n_bytes: int) -> None:
    """An archive of one sparse member that says it is of so many bytes."""
    body = b"1\n0\n1\n".ljust(512, b"\0") + b"x"
    member = tarfile.TarInfo(name)
    sparse = {"major": "1", "minor": "0", "name": name, "realsize": str(n_bytes)}
    member.pax_headers = {f"GNU.sparse.{key}": value for key, value in sparse.items()}
    member.size = len(body)
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(member, io.BytesIO(body))


@pytest.mark.parametrize("name", ["SHA256SUMS", "store.duckdb"])
def test_a_member_that_is_longer_than_the_file_is_refused_unread(tmp_path: Path, name: str) -> None:
    _packed(tmp_path / "sparse.tar", f".samework/{name}", 1 << 45)
    with pytest.raises(InputError, match=f"the member .samework/{name} is none that a backup has"):
        check_backup(tmp_path / "sparse.tar")
    plain = tarfile.TarInfo(f".samework/{name}")
    plain.size = 1 << 45
    (tmp_path / "long.tar").write_bytes(plain.tobuf(tarfile.GNU_FORMAT) + bytes(10240))
    with pytest.raises(InputError, match=f"the member .samework/{name} is none that a backup has"):
        check_backup(tmp_path / "long.tar")


def test_a_header_that_is_longer_than_memory_is_refused(tmp_path: Path) -> None:
    header = tarfile.TarInfo("././@PaxHeader")
    header.type, header.size = tarfile.XHDTYPE, 1 << 45
    (tmp_path / "header.tar").write_bytes(header.tobuf(tarfile.GNU_FORMAT) + bytes(10240))
    with pytest.raises(InputError):
        check_backup(tmp_path / "header.tar")


def test_a_copy_and_a_store_are_nobody_elses_to_read(filled: Path, tmp_path: Path) -> None:
    backup(filled, tmp_path / "copy.tar")
    restore(tmp_path / "copy.tar", tmp_path / "restored")
    create_store(tmp_path / "made").close()
    modes = {name: (tmp_path / name).stat().st_mode & 0o777 for name in ("copy.tar", "restored", "made")}
    assert modes == {"copy.tar": 0o600, "restored": 0o700, "made": 0o700}
