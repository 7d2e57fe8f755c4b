"""Who a run is, as far as its source and the user say: task, arm, explicit repeat, digest of its content.

The user's word stands above the source's. Without either, the task is the file's name without its endings, and the arm
is agent and model, else the format's name.
"""

from __future__ import annotations

import hashlib
from pathlib import PurePath
from typing import TYPE_CHECKING

import msgspec

from samework.ingest.settings import Given
from samework.text import storable

if TYPE_CHECKING:
    from samework.model.records import RunStart

_ENDINGS = frozenset({".json", ".jsonl", ".traj", ".zst", ".gz", ".zip", ".xml", ".pred"})


class SourceIdentity(msgspec.Struct, frozen=True):
    """One source. sha256 / settings_sha256: its key. content_sha256: of what is inside (differs for an archive).

    path: for display. root: path that the user named. format: reader's name. is_bundle: its content digest counts its
    working tree too, so it stands above the reader's. is_folder: it is a directory.
    """

    sha256: bytes
    content_sha256: bytes
    n_bytes: int
    path: str
    root: str
    format: str
    given: Given
    is_bundle: bool = False
    is_folder: bool = False

    @property
    def key(self) -> tuple[bytes, bytes]:
        """Primary key of the source's row."""
        return self.sha256, self.given.sha256


class RunIdentity(msgspec.Struct, frozen=True):
    """Task, arm, repeat (None: the next free one) and digest of content. is_arm_given: the user named the arm."""

    task: str
    arm: str
    repeat: str | None
    content: bytes
    is_arm_given: bool


def run_facts(start: RunStart, source: SourceIdentity, ordinal: int) -> RunIdentity:
    """Identity of the run that begins with `start`; ordinal: runs of the source before it."""
    given = source.given
    if start.content_sha256 is not None and not source.is_bundle:
        content = bytes.fromhex(start.content_sha256)
    elif ordinal == 0:
        content = source.content_sha256
    else:
        content = hashlib.sha256(source.content_sha256 + str(ordinal).encode()).digest()
    arm = given.arm or start.arm or "/".join(part for part in (start.agent, start.model) if part) or source.format
    repeat = given.repeat or start.repeat
    return RunIdentity(
        storable(given.task or start.task or plain_name(source.path)),
        storable(arm),
        None if repeat is None else storable(repeat),
        content,
        given.arm is not None,
    )


def plain_name(path: str) -> str:
    """The name of a file without its endings.

    >>> plain_name("out/t-1.traj.json")
    't-1'
    """
    name = PurePath(path)
    while name.suffix in _ENDINGS and name.stem:
        name = name.with_suffix("")
    return name.name
