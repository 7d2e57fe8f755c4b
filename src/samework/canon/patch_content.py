"""What the hunks and the binary data of a section say of content, to be held against the ids that it states.

A file that is made has its whole content in the patch, so its id can be computed; of any other file only the change is
known, and its digest tells whether two patches that state the same ids state the same change.
"""

from __future__ import annotations

import hashlib

GITLINK_MODE = "160000"


class StatedContent:
    """What a section says of content, gathered hunk by hunk.

    The digest of the change is over the changed lines, each run of them after its line number in the old file and
    between its neighbours: the number of context lines around it does not show in it.
    """

    def __init__(self) -> None:
        self._change = hashlib.sha256()
        self._is_stated = False
        self.changed: list[bytes] = []
        self.ids: tuple[str, ...] = ()

    @property
    def change_sha256(self) -> bytes | None:
        """Digest of the change; None where the section states none, or states a whole file of binary data."""
        return self._change.digest() if self._is_stated else None

    def add_hunk(self, old_line: int, lines: list[bytes], *, keep: bool) -> None:
        """Take in a hunk.

        Args:
            old_line: number of its first line in the old file.
            lines: its lines with their marks.
            keep: True where the changed lines themselves will be asked for.
        """
        self._is_stated = True
        in_change, neighbour = False, b""
        for line in lines:
            mark = line[:1]
            if mark in (b"+", b"-"):
                if not in_change:
                    self._change.update(b"@%d %b\n" % (old_line, neighbour))
                self._change.update(line + b"\n")
                in_change = True
                old_line += mark == b"-"
            elif mark == b"\\":
                if in_change:
                    self._change.update(b"\\\n")
            else:
                neighbour = line[1:]
                if in_change:
                    self._change.update(b" %b\n" % neighbour)
                in_change = False
                old_line += 1
        if keep:
            self.changed += [line for line in lines if line[:1] in (b"+", b"-", b"\\")]

    def add_delta(self, data: bytes) -> None:
        """Take in a piece of binary data that changes the old file."""
        self._is_stated = True
        self._change.update(data)

    def settle(self) -> None:
        """Compute the ids of a file that is made from its lines; line ends that the way of the patch lost may count."""
        ends = any(line[:1] == b"\\" for line in self.changed)
        text = b"\n".join(line[1:] for line in self.changed if line[:1] == b"+") + (b"" if ends else b"\n")
        self.ids = blob_ids(text)
        if b"\r" not in text:
            self.ids += blob_ids(text.replace(b"\n", b"\r\n"))


class BlobIds:
    """The ids of a blob whose bytes come in pieces, in each object format."""

    def __init__(self, n_bytes: int) -> None:
        head = b"blob %d\0" % n_bytes
        self._digests = (hashlib.sha1(head, usedforsecurity=False), hashlib.sha256(head))

    def update(self, data: bytes) -> None:
        """Take in a piece."""
        for digest in self._digests:
            digest.update(data)

    def ids(self) -> tuple[str, ...]:
        """Hex, sha1 first."""
        return tuple(digest.hexdigest() for digest in self._digests)


def blob_ids(content: bytes) -> tuple[str, ...]:
    r"""The ids of a blob in each object format.

    >>> blob_ids(b"a\n")[0]
    '78981922613b2afb6025042ff6bd878ac1994e85'
    """
    found = BlobIds(len(content))
    found.update(content)
    return found.ids()
