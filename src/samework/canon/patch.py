"""Read a patch as evidence about a tree: the set of (path, mode, blob id) after the change, without any repository.

Refuses to guess: a cut patch is `damaged` with its line, a patch that does not state every id is `no_ids` with the
path; only the declared repairs are made, and each is recorded. Never raises on any bytes, and is linear in them.
"""

from __future__ import annotations

import msgspec

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
    mode; it is for people, identity is (path, mode, blob_id). before_id: blob id before the patch, None where it
    made the path or states none.
    """

    path: str
    mode: str | None
    blob_id: str | None
    change: str
    before_id: str | None = None


class PatchFacts(msgspec.Struct, frozen=True):
    """What a patch states.

    status: parsed, empty, damaged or no_ids. reason: why it cannot stand for a tree, None where it can. repairs:
    slugs (crlf, leading-blank, final-newline, final-blank-line). paths: sorted by path; empty where damaged.
    min_id_digits: shortest blob id among `paths`. normalised: the bytes after the repairs. line: place of the damage,
    from 1. n_strip: leading components that `git apply -p` must drop.
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
    digits = min((len(path.blob_id) for path in paths if path.blob_id), default=None)
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


class _Folder:
    """Fold sections in order: the last word on a path counts; a path that ends as it began is not changed."""

    def __init__(self) -> None:
        self.problem: str | None = None
        self.after: dict[bytes, tuple[str | None, str | None, str]] = {}
        self.before: dict[bytes, tuple[str | None, str | None]] = {}

    def add(self, section: Section) -> None:
        self.check(section)
        old, new = section.old, section.new
        moved = section.is_rename or section.is_copy
        if old is not None:
            self.before.setdefault(old, (section.old_mode, section.before))
        if new is not None:
            self.before.setdefault(new, (None, None))
        if old is not None and (new is None or section.is_rename):
            self.delete(old)
        if new is None:
            return
        change = "add" if old is None or moved else "modify" if section.after else "mode"
        previous = self.after.get(new)
        if previous is None:
            self.after[new] = (section.new_mode, section.after, change)
            return
        blob = previous[1] if change == "mode" else section.after
        kept = "modify" if previous[2] == "delete" else change if previous[2] == "mode" else previous[2]
        self.after[new] = (section.new_mode, blob, kept)

    def delete(self, path: bytes) -> None:
        if self.after.get(path, ("", "", ""))[2] == "add":
            del self.after[path]
        else:
            self.after[path] = (None, None, "delete")

    def check(self, section: Section) -> None:
        if self.problem is None and (what := _missing_ids(section)):
            self.problem = f"line {section.line}: {shortened(shown_path(section.path), _SHOWN)}: {what}"

    def paths(self) -> tuple[PatchPath, ...]:
        return tuple(
            PatchPath(shown_path(path), mode, blob, change, self.before[path][1])
            for path, (mode, blob, change) in sorted(self.after.items())
            if not _is_unchanged(self.before[path], (mode, blob))
        )


def _is_unchanged(before: tuple[str | None, str | None], after: tuple[str | None, str | None]) -> bool:
    if before[0] is None or before[0] != after[0]:
        return False
    if before[1] is None or after[1] is None:
        return before[1] is after[1]
    digits = min(len(before[1]), len(after[1]))
    return before[1][:digits] == after[1][:digits]


def _missing_ids(section: Section) -> str | None:
    """Why a section does not state its post-image; None where it does."""
    if not section.is_git:
        return "no ids of blobs are stated"
    after = section.after
    if section.binary == "stub" and (after is None or len(after) not in FULL_ID_DIGITS):
        return "binary file without data and without full ids"
    if section.new is None:
        return None
    if after is None:
        return _missing_id(section)
    if len(after) < MIN_ID_DIGITS:
        return f"ids have fewer than {MIN_ID_DIGITS} digits"
    return "no mode is stated" if section.new_mode is None else None


def _missing_id(section: Section) -> str | None:
    if section.changes_content or section.old is None:
        return "no ids of blobs are stated"
    if section.is_rename or section.is_copy:
        return "moved unchanged, so that its id is not stated"
    return "no mode is stated" if section.new_mode is None else None
