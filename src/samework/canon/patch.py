"""Read a patch as evidence about a tree: the set of (path, mode, blob id) after the change, without any repository.

Refuses to guess: a cut patch is `damaged` with its line; one that does not state every id, or states one that the
content beside it contradicts, is `no_ids` with the path; only the declared repairs are made, and each is recorded.
Never raises on any bytes, and is linear in them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import msgspec

from samework.canon.patch_ids import contradiction, is_null, same_id
from samework.canon.patch_names import shown_path
from samework.canon.patch_sections import Section, scan_sections
from samework.errors import DamagedRecord
from samework.text import shortened

MIN_ID_DIGITS = 7
"""Shorter blob ids are too short to compare."""

FULL_ID_DIGITS = (40, 64)
"""Hex digits of a whole id: sha1, sha256."""

_SHOWN = 200


class PatchPath(msgspec.Struct, frozen=True):
    """One path after the patch.

    path: text, C-quoted where it is not UTF-8. mode: octal text; None for a deletion. blob_id: hex as written, maybe
    abbreviated; None for a deletion, and for a change of mode alone (the base's blob). change: add, modify, delete or
    mode; identity is (path, mode, blob_id). before_id: blob id from which the change starts: the path's own, or, where
    a file was moved or copied there, that file's; None where none is stated. change_sha256: digest of the changed
    lines, None where they are not stated.
    """

    path: str
    mode: str | None
    blob_id: str | None
    change: str
    before_id: str | None = None
    change_sha256: bytes | None = None


class PatchFacts(msgspec.Struct, frozen=True):
    """What a patch states.

    status: parsed, empty, damaged or no_ids. reason: why it cannot stand for a tree, None where it can. repairs:
    slugs (crlf, leading-blank, final-newline, final-blank-line). paths: sorted by path; empty where damaged.
    min_id_digits: shortest blob id among `paths`, before or after. normalised: the bytes after the repairs. line: place
    of the damage, from 1. n_strip: leading components that `git apply -p` must drop.
    """

    status: str
    normalised: bytes
    reason: str | None = None
    repairs: tuple[str, ...] = ()
    paths: tuple[PatchPath, ...] = ()
    min_id_digits: int | None = None
    is_empty: bool = False
    line: int | None = None
    n_strip: int = 1


def parse_patch(patch: bytes) -> PatchFacts:
    r"""Read a patch into its post-images.

    Args:
        patch: bytes as recorded.

    Returns:
        The facts; every fault is a status with a reason, nothing is raised.

    >>> parse_patch(b" \r\n").status
    'empty'
    >>> parse_patch(b"diff --git a/x b/x\nold mode 100644\nnew mode 100755\n").paths[0].mode
    '100755'
    """
    if not patch.strip():
        return PatchFacts("empty", b"", is_empty=True, repairs=("leading-blank",) if patch else ())
    normalised, repairs = _repaired(patch)
    folder = _Folder()
    strips: set[int] = set()
    try:
        for section in scan_sections(normalised.split(b"\n")[:-1]):
            folder.add(section)
            strips.add(section.n_strip)
    except DamagedRecord as damage:
        line = int((damage.place or "line 0").rpartition(" ")[2])
        return PatchFacts("damaged", normalised, f"{damage.place}: {damage.message}", repairs, line=line)
    if len(strips) != 1:
        what = "line 1: no file is named" if not strips else "line 1: some names have prefixes, some have none"
        return PatchFacts("damaged", normalised, what, repairs, line=1)
    paths = folder.paths()
    ids = (each for path in paths for each in (path.blob_id, path.before_id) if each is not None)
    digits = min(map(len, ids), default=None)
    return PatchFacts(
        "no_ids" if folder.problem else "parsed",
        normalised,
        folder.problem,
        repairs,
        paths,
        digits,
        n_strip=strips.pop(),
    )


def _repaired(patch: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Undo what a terminal or a strip() did to the whole patch, and say so."""
    repairs = []
    n_lines = patch.count(b"\n")
    if n_lines and patch.count(b"\r\n") == n_lines:
        patch = patch.replace(b"\r\n", b"\n").removesuffix(b"\r")
        repairs.append("crlf")
    start = len(patch) - len(patch.lstrip(b" \t\r\n"))
    start = patch.rfind(b"\n", 0, start) + 1
    if start:
        patch = patch[start:]
        repairs.append("leading-blank")
    if not patch.endswith(b"\n"):
        patch += b"\n"
        repairs.append("final-newline")
        if _ends_in_binary_data(patch):
            patch += b"\n"
            repairs.append("final-blank-line")
    return patch, tuple(repairs)


def _ends_in_binary_data(patch: bytes) -> bool:
    """True where the last file of the patch holds binary data, which ends with a blank line."""
    last = patch.rfind(b"\ndiff --git ")
    return b"\nGIT binary patch\n" in patch[max(last, 0) :]


@dataclass
class _Path:
    """What became of one path.

    base: (mode, id) before the patch, without a mode where there was no file. mode and blob: now. source: id from which
    its content was changed first. changes: digest of each change of its content.
    """

    base: tuple[str | None, str | None]
    mode: str | None = None
    blob: str | None = None
    change: str = "mode"
    source: str | None = None
    changes: list[bytes | None] = field(default_factory=list)

    @property
    def is_there(self) -> bool:
        return self.change != "delete"

    @property
    def is_unchanged(self) -> bool:
        """True for a file that ends as it began."""
        return self.base[0] is not None and self.base[0] == self.mode and (self.blob is None or self.has_old_blob)

    @property
    def has_old_blob(self) -> bool:
        return self.base[1] is not None and self.blob is not None and same_id(self.base[1], self.blob)

    @property
    def has_old_type(self) -> bool:
        """True where both modes are of one kind: file, symbolic link or submodule."""
        return (self.base[0] or "")[:-3] == (self.mode or "")[:-3]

    def learn(self, before: str | None) -> None:
        """Take the id from which the first change of its content starts, where an earlier section stated none."""
        if not self.changes and self.source is None and self.change == "mode":
            self.base, self.source = (self.base[0], before), before

    def change_sha256(self) -> bytes | None:
        """Digest of all changes of its content; None where one is not stated, or there is none."""
        found = [change for change in self.changes if change is not None]
        if not found or len(found) != len(self.changes):
            return None
        return found[0] if len(found) == 1 else hashlib.sha256(b"".join(found)).digest()

    def stated(self, path: bytes) -> PatchPath:
        if self.change == "modify" and self.has_old_blob and self.has_old_type:
            return PatchPath(shown_path(path), self.mode, None, "mode", self.base[1])
        return PatchPath(shown_path(path), self.mode, self.blob, self.change, self.source, self.change_sha256())


class _Folder:
    """Fold sections in order: the last word on a path counts; a path that ends as it began is not changed."""

    def __init__(self) -> None:
        self.problem: str | None = None
        self.found: dict[bytes, _Path] = {}

    def add(self, section: Section) -> None:
        self.check(section)
        old, new = section.old, section.new
        before = None if is_null(section.before) else section.before
        if old is not None and not section.is_copy:
            self.found.setdefault(old, _Path((section.old_mode, before))).learn(before)
        if old is not None and (new is None or section.is_rename):
            self.delete(old, section)
        if new is None:
            return
        is_made = old is None or section.is_rename or section.is_copy
        path = self.found.setdefault(new, _Path((None, None), source=before, change="add"))
        if (is_made and not path.is_there) or (path.change == "mode" and (section.after or section.changes_content)):
            path.change = "modify"
        path.mode = section.new_mode
        path.blob = section.after or path.blob
        self.note_change(path, section)

    def delete(self, path: bytes, section: Section) -> None:
        held = self.found[path]
        if held.change == "add":
            del self.found[path]
            return
        held.mode, held.blob, held.change = None, None, "delete"
        if section.new is None:
            self.note_change(held, section)

    def note_change(self, path: _Path, section: Section) -> None:
        if section.changes_content:
            path.changes.append(section.content.change_sha256)

    def check(self, section: Section) -> None:
        what = None if self.problem else _missing_ids(section) or contradiction(section) or self.break_in(section)
        if what:
            self.problem = f"line {section.line}: {shortened(shown_path(section.path), _SHOWN)}: {what}"

    def break_in(self, section: Section) -> str | None:
        """Why a section cannot follow what the patch said of its path before; None where it can."""
        old, new = section.old, section.new
        if new is not None and new != old and new in self.found and self.found[new].is_there:
            return "it is made, but it is there already"
        held = None if old is None or section.is_copy else self.found.get(old)
        if held is None:
            return None
        if not held.is_there:
            return "it is changed after it was deleted"
        now = held.blob or held.base[1]
        if now is not None and section.before is not None and not same_id(now, section.before):
            return "its change does not start from what the change before made of it"
        return None

    def paths(self) -> tuple[PatchPath, ...]:
        return tuple(held.stated(path) for path, held in sorted(self.found.items()) if not held.is_unchanged)


def _missing_ids(section: Section) -> str | None:
    """Why a section does not state its post-image; None where it does."""
    if not section.is_git:
        return "no ids of blobs are stated"
    after = section.after
    stated = [each for each in (section.before, after) if each is not None and not is_null(each)]
    if any(len(each) < MIN_ID_DIGITS for each in stated):
        return f"ids have fewer than {MIN_ID_DIGITS} digits"
    if section.binary == "stub" and (after is None or len(after) not in FULL_ID_DIGITS):
        return "binary file without data and without full ids"
    if section.new is None:
        return None
    if after is None:
        return _missing_id(section)
    return "no mode is stated" if section.new_mode is None else None


def _missing_id(section: Section) -> str | None:
    if section.changes_content or section.old is None:
        return "no ids of blobs are stated"
    if section.is_rename or section.is_copy:
        return "moved unchanged, so that its id is not stated"
    return "no mode is stated" if section.new_mode is None else None
