"""Cut a patch into one section per file and check that each is whole: names, modes, ids, hunk counts, binary data.

One pass over the lines. Refuses hunks whose counts do not come out, combined diffs and names that disagree: what
cannot be read whole is damaged, with its line, never shortened to what could be read.
"""

from __future__ import annotations

import base64
import re
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from samework.canon.patch_content import GITLINK_MODE, BlobIds, StatedContent
from samework.canon.patch_names import header_pair, is_safe, joined_names, plain_name, shown_path, stripped_pair
from samework.errors import DamagedRecord
from samework.text import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_INDEX = re.compile(rb"([0-9a-fA-F]{4,64})\.\.([0-9a-fA-F]{4,64})(?: ([0-7]{6}))?\s*\Z")
_MODE = re.compile(rb"[0-7]{5,6}\Z")
_BINARY_HEAD = re.compile(rb"(literal|delta) (\d{1,15})\Z")
_EMPTY_BLOBS = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)
_SHOWN = 60
_MAX_INFLATED_BYTES = 1 << 28
_DEV_NULL = b"/dev/null"
_UNTOLD = re.compile(
    rb"Only in [^:]+: .|(?:Binary files|Files) .+ and .+ differ\s*\Z|File .+ while file .+ is a |\* Unmerged path "
    rb"|Submodule .+ (?:contains (?:modified|untracked) content|[0-9a-f]{7,64}\.{2,3}[0-9a-f]{7,64})|\*{15}\s*\Z"
    rb"|Property changes on: "
)
_CUT = re.compile(rb"\b(?:truncated|omitted|clipped|elided|snipped)\b", re.IGNORECASE)
_TYPE_BITS, _REGULAR, _OWNER_MAY_RUN = 0o170000, 0o100000, 0o100


@dataclass
class Section:
    """What a patch says of one file. `before` and `after` are blob ids as written; modes are octal text."""

    line: int
    old: bytes | None = None
    new: bytes | None = None
    old_mode: str | None = None
    new_mode: str | None = None
    before: str | None = None
    after: str | None = None
    is_new: bool = False
    is_deleted: bool = False
    is_rename: bool = False
    is_copy: bool = False
    is_git: bool = True
    n_hunks: int = 0
    binary: str | None = None
    n_strip: int = 1
    names: dict[str, bytes] = field(default_factory=dict)
    content: StatedContent = field(default_factory=StatedContent)

    @property
    def path(self) -> bytes:
        """The path after the change; before it, for a deletion."""
        return self.new or self.old or b""

    @property
    def changes_content(self) -> bool:
        """True where hunks or binary data state a change of bytes."""
        return self.n_hunks > 0 or self.binary is not None


def damaged(line: int, what: str) -> DamagedRecord:
    """The one way in which a patch is refused: a sentence with the line, counted from 1."""
    return DamagedRecord(what, place=f"line {line}")


def scan_sections(lines: list[bytes]) -> Iterator[Section]:
    """Yield the sections of a patch in order.

    Args:
        lines: lines without their newline; the first is line 1.

    Raises:
        DamagedRecord: a section is cut or contradicts itself; `place` names the line.
    """
    reader = _Reader(lines)
    while reader.place < len(lines):
        section = reader.next_section()
        if section is not None:
            yield section


class _Reader:
    """Position in the lines of one patch."""

    def __init__(self, lines: list[bytes]) -> None:
        self.lines = lines
        self.place = 0
        self.after_hunk = False
        self.n_inflated = 0

    def peek(self, ahead: int = 0) -> bytes:
        place = self.place + ahead
        return self.lines[place] if place < len(self.lines) else b""

    @property
    def number(self) -> int:
        return self.place + 1

    def next_section(self) -> Section | None:
        line = self.peek()
        if line.startswith(b"diff --git "):
            return self.git_section()
        if line.startswith(b"--- ") and (self.peek(1).startswith(b"+++ ") or self.number == len(self.lines)):
            return self.bare_section()
        if line.startswith((b"diff --cc ", b"diff --combined ", b"@@@ ")):
            raise damaged(self.number, "a combined diff of a merge cannot be applied")
        if line.startswith(b"@@ -"):
            raise damaged(self.number, "a hunk without a file")
        if self.after_hunk and line[:1] in (b" ", b"+", b"-", b"\\") and line.rstrip() != b"--":
            raise damaged(self.number, "a line of a hunk after the hunk's count is full")
        if _UNTOLD.match(line):
            raise damaged(self.number, "a file differs of which no content is told")
        if self.after_hunk and _CUT.search(line):
            raise damaged(self.number, "a hunk is followed by words that tell of a cut")
        self.after_hunk = self.after_hunk and not line
        self.place += 1
        return None

    def git_section(self) -> Section:
        section = Section(self.number)
        rest = self.peek()[len(b"diff --git ") :]
        self.place += 1
        while self.extended(section):
            self.place += 1
        self.settle_names(section, rest)
        self.body(section)
        if not section.changes_content and _needs_content(section):
            raise damaged(self.number, f"no change follows the header of {_name(section.path)}")
        return section

    def extended(self, section: Section) -> bool:
        """Read one extended header line into the section; False where the line is none."""
        line = self.peek()
        for word, read in _EXTENDED:
            if line.startswith(word):
                read(section, line[len(word) :], self.number)
                return True
        return False

    def settle_names(self, section: Section, rest: bytes) -> None:
        names = section.names
        moved = section.is_rename or section.is_copy
        pair = header_pair(rest)
        if pair is None and moved and len(names) > 1:
            pair = joined_names(names["from"], names["to"], rest)
        found = None if pair is None else stripped_pair(pair, renamed=moved)
        if pair is None or found is None:
            raise damaged(section.line, "the header does not name one file")
        old, new, section.n_strip = found
        if moved and (names.get("from"), names.get("to")) != (old, new):
            raise damaged(section.line, f"header and rename lines of {_name(new)} do not agree")
        section.names = {"old": pair[0], "new": pair[1]}
        for path in (old, new):
            if not is_safe(path):
                raise damaged(section.line, f"{_name(path)} is no path inside a tree")
        section.old = None if section.is_new else old
        section.new = None if section.is_deleted else new

    def body(self, section: Section) -> None:
        line = self.peek()
        if line.startswith(b"--- "):
            self.check_name(section, line[4:], "old", absent=section.is_new)
            self.place += 1
            if not self.peek().startswith(b"+++ "):
                raise damaged(self.number, f"+++ line of {_name(section.path)} is missing")
            self.check_name(section, self.peek()[4:], "new", absent=section.is_deleted)
            self.place += 1
            self.hunks(section)
        elif line.startswith(b"GIT binary patch"):
            section.binary = "data"
            self.place += 1
            self.binary_blocks(section)
        elif line.startswith(b"Binary files ") and line.rstrip().endswith(b" differ"):
            section.binary = "stub"
            self.place += 1

    def check_name(self, section: Section, text: bytes, side: str, *, absent: bool) -> None:
        name = plain_name(text)
        wanted = _DEV_NULL if absent else section.names[side]
        if name != wanted:
            raise damaged(self.number, f"names of {_name(section.path)} do not agree")

    def bare_section(self) -> Section:
        """A section without `diff --git`: content is stated, ids and modes are not."""
        section = Section(self.number, is_git=False)
        old, new = plain_name(self.peek()[4:]), plain_name(self.peek(1)[4:])
        section.is_new, section.is_deleted = old == _DEV_NULL, new == _DEV_NULL
        both = (new if section.is_new else old, old if section.is_deleted else new)
        found = stripped_pair(both, renamed=False) or (*both, 0)
        section.old = None if section.is_new else found[0]
        section.new = None if section.is_deleted else found[1]
        section.n_strip = found[2]
        if not is_safe(section.path):
            raise damaged(section.line, f"{_name(section.path)} is no path inside a tree")
        self.place += 2
        self.hunks(section)
        return section

    def hunks(self, section: Section) -> None:
        while True:
            found = _HUNK.match(self.peek())
            if found is None:
                break
            self.place += 1
            n_old, n_new = (int(found.group(n) or 1) for n in (2, 3))
            self.check_sides(section, n_old, n_new)
            start = self.place
            self.hunk(n_old, n_new)
            is_whole = section.is_new or GITLINK_MODE in (section.old_mode, section.new_mode)
            first = int(found.group(1)) + (n_old == 0)
            section.content.add_hunk(first, self.lines[start : self.place], keep=is_whole)
            section.n_hunks += 1
        if self.peek().startswith(b"@@"):
            raise damaged(self.number, f"hunk header of {_name(section.path)} is cut")
        if not section.n_hunks:
            raise damaged(self.number, f"no hunk follows the header of {_name(section.path)}")
        if section.is_new:
            section.content.settle()
        self.after_hunk = True

    def check_sides(self, section: Section, n_old: int, n_new: int) -> None:
        """Refuse old lines of a file that is made, a second hunk of it, and new lines of one that is deleted."""
        if section.is_new and (n_old or section.n_hunks):
            raise damaged(self.place, f"{_name(section.path)} is new, but a hunk has old lines of it")
        if section.is_deleted and n_new:
            raise damaged(self.place, f"{_name(section.path)} is deleted, but a hunk has new lines of it")

    def hunk(self, n_old: int, n_new: int) -> None:
        lines, place = self.lines, self.place
        end = len(lines)
        while n_old > 0 or n_new > 0:
            if place >= end:
                raise damaged(place + 1, f"the patch ends inside a hunk, {max(n_old, n_new)} lines early")
            mark = lines[place][:1]
            if mark == b" " or not mark:
                n_old -= 1
                n_new -= 1
            elif mark == b"+":
                n_new -= 1
            elif mark == b"-":
                n_old -= 1
            elif mark != b"\\":
                raise damaged(place + 1, f"a hunk ends {max(n_old, n_new)} lines early")
            place += 1
        if n_old or n_new:
            raise damaged(place, "a hunk holds more lines than its header says")
        if place < end and lines[place].startswith(b"\\ "):
            place += 1
        self.place = place

    def binary_blocks(self, section: Section) -> None:
        n_blocks = 0
        while n_blocks < 2 and (found := _BINARY_HEAD.match(self.peek())):  # noqa: PLR2004 (forward, reverse)
            self.place += 1
            self.binary_block(section, int(found.group(2)), "" if n_blocks else found.group(1).decode())
            n_blocks += 1
        if not n_blocks:
            raise damaged(self.number, f"no binary data follows the header of {_name(section.path)}")

    def binary_block(self, section: Section, n_bytes: int, kind: str) -> None:
        """Check one block. kind: literal (the whole new file), delta, or "" for the way back."""
        inflater, n_inflated, ids = zlib.decompressobj(), 0, BlobIds(n_bytes)
        while line := self.peek():
            try:
                data = inflater.decompress(_binary_line(line), max(n_bytes - n_inflated + 1, 1))
            except (ValueError, zlib.error) as error:
                raise damaged(self.number, f"binary data of {_name(section.path)} is damaged") from error
            n_inflated += len(data)
            self.n_inflated += len(data)
            if kind == "literal":
                ids.update(data)
            elif kind == "delta":
                section.content.add_delta(data)
            self.place += 1
            if n_inflated > n_bytes:
                raise damaged(self.number, f"binary data of {_name(section.path)} is longer than it says")
            if self.n_inflated > _MAX_INFLATED_BYTES:
                raise damaged(self.number, f"binary data of more than {_MAX_INFLATED_BYTES} bytes is not read")
        if n_inflated != n_bytes or not inflater.eof:
            raise damaged(self.number, f"binary data of {_name(section.path)} is cut")
        if kind == "literal":
            section.content.ids = ids.ids()
        self.place += 1


def _binary_line(line: bytes) -> bytes:
    """Decode one line: a letter for the length, then base 85."""
    mark = line[0]
    n_bytes = mark - 64 if 65 <= mark <= 90 else mark - 70 if 97 <= mark <= 122 else 0  # noqa: PLR2004 (A-Z, a-z)
    data = base64.b85decode(line[1:])
    if not 0 <= len(data) - n_bytes < 4 or not n_bytes:  # noqa: PLR2004 (padding to a group)
        raise ValueError(line)
    return data[:n_bytes]


def _name(path: bytes) -> str:
    return shortened(shown_path(path[: 4 * _SHOWN]), _SHOWN)


def _needs_content(section: Section) -> bool:
    """True where the ids say that bytes change though neither hunk nor data follows."""
    before, after = section.before, section.after
    if before is None or after is None or before == after:
        return False
    stated = before if section.is_deleted else after
    return not (
        (section.is_new or section.is_deleted) and any(blob.startswith(stated.lower()) for blob in _EMPTY_BLOBS)
    )


def _mode(text: bytes, line: int) -> str:
    mode = text.strip()
    if not _MODE.match(mode):
        raise damaged(line, "a mode is not octal")
    number = int(mode, 8)
    if number & _TYPE_BITS == _REGULAR:
        return "100755" if number & _OWNER_MAY_RUN else "100644"
    return f"{number:06o}"


def _read_new_mode(section: Section, text: bytes, line: int) -> None:
    section.new_mode = _mode(text, line)


def _read_old_mode(section: Section, text: bytes, line: int) -> None:
    section.old_mode = _mode(text, line)


def _read_new_file(section: Section, text: bytes, line: int) -> None:
    section.is_new = True
    section.new_mode = _mode(text, line)


def _read_deleted(section: Section, text: bytes, line: int) -> None:
    section.is_deleted = True
    section.old_mode = _mode(text, line)


def _read_index(section: Section, text: bytes, line: int) -> None:
    found = _INDEX.match(text)
    if found is None:
        raise damaged(line, "an index line is cut")
    section.before, section.after = (found.group(n).decode().lower() for n in (1, 2))
    if found.group(3):
        section.old_mode = section.new_mode = _mode(found.group(3), line)


def _moved(kind: str, side: str) -> Callable[[Section, bytes, int], None]:
    def read(section: Section, text: bytes, _line: int) -> None:
        setattr(section, kind, True)
        section.names[side] = plain_name(text)

    return read


def _ignore(_section: Section, _text: bytes, _line: int) -> None:
    """Similarity says nothing that is compared."""


_EXTENDED: tuple[tuple[bytes, Callable[[Section, bytes, int], None]], ...] = (
    (b"index ", _read_index),
    (b"new file mode ", _read_new_file),
    (b"deleted file mode ", _read_deleted),
    (b"old mode ", _read_old_mode),
    (b"new mode ", _read_new_mode),
    (b"similarity index ", _ignore),
    (b"dissimilarity index ", _ignore),
    (b"rename from ", _moved("is_rename", "from")),
    (b"rename to ", _moved("is_rename", "to")),
    (b"rename old ", _moved("is_rename", "from")),
    (b"rename new ", _moved("is_rename", "to")),
    (b"copy from ", _moved("is_copy", "from")),
    (b"copy to ", _moved("is_copy", "to")),
)
