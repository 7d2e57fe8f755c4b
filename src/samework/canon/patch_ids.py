"""Hold the ids that a section of a patch states against all else that it says.

Refuses to believe an id that the content beside it contradicts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from samework.canon.patch_content import GITLINK_MODE

if TYPE_CHECKING:
    from samework.canon.patch_sections import Section

_SUBPROJECT = re.compile(rb"[+-]Subproject commit ([0-9a-f]{7,64})(-dirty)?\Z")


def is_null(blob_id: str | None) -> bool:
    """True for the id that stands for no blob: zeros only."""
    return blob_id is not None and not blob_id.strip("0")


def same_id(one: str, other: str) -> bool:
    """True where two ids, each maybe abbreviated, may name one object.

    >>> same_id("abcdef1", "abcdef12"), same_id("abcdef1", "abcdef2")
    (True, False)
    """
    digits = min(len(one), len(other))
    return one[:digits] == other[:digits]


def contradiction(section: Section) -> str | None:
    """How the ids that a section states disagree with what else it says; None where they do not."""
    if found := _fault_of_sides(section):
        return found
    if GITLINK_MODE in (section.old_mode, section.new_mode):
        return _submodule_fault(section)
    ids, after = section.content.ids, section.after
    if ids and after is not None and not is_null(after) and not any(each.startswith(after) for each in ids):
        return "the content stated for it has another id"
    return None


def _fault_of_sides(section: Section) -> str | None:
    """How its ids disagree with whether there is a file before and after; None where they do not."""
    before, after = section.before, section.after
    if section.old is None and before is not None and not is_null(before):
        return "the file is new, but an id before the patch is stated"
    if section.new is None and after is not None and not is_null(after):
        return "the file is deleted, but an id after the patch is stated"
    if section.old is None or section.new is None or before is None or after is None:
        return None
    if is_null(before) or is_null(after):
        return "the file is kept, but one of its ids stands for no file"
    if section.changes_content and same_id(before, after):
        return "its content changes, but its ids are equal"
    return None


def _submodule_fault(section: Section) -> str | None:
    """Why the commit of a submodule is not what stands there; None where it is."""
    for line in section.content.changed:
        found = _SUBPROJECT.match(line)
        if found is None:
            return "a submodule that is no commit"
        if found.group(2):
            return "submodule_dirty: the submodule holds changes that its commit does not"
        stated = section.after if line.startswith(b"+") else section.before
        if stated is not None and not same_id(stated, found.group(1).decode()):
            return "a submodule whose commit is not the id stated"
    return None
