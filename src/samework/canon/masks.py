r"""Replace what differs between equal runs (workspace, tmp paths, ids, times) by `<KIND:n>`.

`n` is the ordinal of the value's first occurrence in the run, so "the same file twice" stays distinct from "two
files". Roots of the workspace are told apart by their place among those that were declared. A path is replaced only
where it begins: `~/tmp/x` is no temporary file, and `/etc/repo` not in the workspace `/repo`. The order of kinds is
fixed and declared (`rulesets.MASK_ORDER`). A masker belongs to one run and remembers. Text that has the form of a
replacement already gets a backslash after its `<`: it must not pass for a masked value.

Each kind has a guard that a search for a literal settles in most text, before its pattern is run at all.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?"

_DASHED = re.compile(r"-(?:[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-|\d\d[T ]\d\d:)").search
_ADDRESS = re.compile(r"x[0-9a-fA-F]{6}").search
_IN_SECONDS = re.compile(r" in \d+\.\d+ ?s").search
_HEAD = 256  # a harness writes its own lines first

# kind, guard without which the pattern cannot match, pattern
_KINDS: tuple[tuple[str, Callable[[str], object], re.Pattern[str]], ...] = (
    ("TMP", lambda text: "/tmp/" in text, re.compile(r"/tmp/[A-Za-z0-9_][\w.+-]*")),  # noqa: S108
    (
        "UUID",
        _DASHED,
        re.compile(rf"(?<![0-9a-fA-F-]){_UUID}(?![0-9a-fA-F-])", re.IGNORECASE),
    ),
    ("TIME", _DASHED, re.compile(rf"(?<!\d){_TIME}(?!\d)")),
    ("ADDR", lambda text: "0x" in text and _ADDRESS(text), re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")),
    (
        "DURATION",
        lambda text: (" in " in text and _IN_SECONDS(text)) or "Wall time: " in text,
        re.compile(r"(?<= in )\d+\.\d+ ?s(?:ec(?:onds)?)?\b|(?<=Wall time: )\d+\.\d+ seconds"),
    ),
    ("CHUNK", lambda text: "Chunk ID: " in text[:_HEAD], re.compile(r"(?<=^Chunk ID: )[0-9a-f]{4,16}\b", re.MULTILINE)),
    (
        "PORT",
        lambda text: "localhost:" in text or "127.0.0.1:" in text,
        re.compile(r"(?<=localhost:)\d{2,5}\b|(?<=127\.0\.0\.1:)\d{2,5}\b"),
    ),
)

_LIKE_REPLACED = re.compile(rf"<(?=\\*(?:WS>|(?:WS|{'|'.join(kind for kind, _, _ in _KINDS)}):\d))")

# What may stand before an absolute path: a blank or a sign that is no part of a path; a quote that opens (also `r"`);
# an escaped blank; the end of a colour; an option's letter (`-I/usr`); the beginning of an address.
_BEFORE_A_PATH = re.compile(
    r"""(?:[\s=:,;(\[{|&!^]|[^\w\x00-\x7f]|(?<!<WS)(?<!<WS:\d)(?<!<WS:\d\d)[<>]
    |(?<![\w.~)}\]$*?+%@/\\-])(?:(?<!\w)[bBrRfFuU]{1,2})?\\*["'`]
    |\\[nrt]|(?:\x1b|\\u001b)\[[\d;]*[mK]|(?<![^\s"'`=])(?:-[A-Za-z]|@)|:///?)\Z""",
    re.VERBOSE,
)
_N_BEFORE = 24
_AFTER_A_ROOT = r"(?![\w.~+@%*?{$-])"
_ABSOLUTE = re.compile(r"/.*[^/]|[A-Za-z]:[\\/].*[^\\/]", re.DOTALL)


def _begins(text: str, place: int) -> bool:
    """Whether a path begins at a place: it does not go on from something before it."""
    return place == 0 or _BEFORE_A_PATH.search(text, max(0, place - _N_BEFORE), place) is not None


def _outermost(workspaces: tuple[str, ...]) -> list[str]:
    """Absolute roots, each once, in their order; one that lies in another goes with that."""
    roots = list(dict.fromkeys(root.rstrip("/") for root in workspaces if _ABSOLUTE.fullmatch(root.rstrip("/"))))
    return [root for root in roots if not any(root.startswith((f"{other}/", f"{other}\\")) for other in roots)]


class Masker:
    r"""Masks text of one run.

    Args:
        workspaces: exact workspace roots of the run, replaced first: by `<WS>`, further ones by `<WS:2>` and so on.

    >>> a = Masker()
    >>> a.mask("cp /tmp/x1 /tmp/x1"), a.mask("/tmp/y2")
    ('cp <TMP:1> <TMP:1>', '<TMP:2>')
    >>> print(a.mask("<TMP:1>"))
    <\TMP:1>
    """

    def __init__(self, workspaces: tuple[str, ...] = ()) -> None:
        self._names = {
            root: "<WS>" if place == 0 else f"<WS:{place + 1}>" for place, root in enumerate(_outermost(workspaces))
        }
        longest = sorted(self._names, key=len, reverse=True)
        self._roots = re.compile(f"(?:{'|'.join(map(re.escape, longest))}){_AFTER_A_ROOT}") if longest else None
        self._seen: dict[str, dict[str, int]] = {}
        self.n_masked_bytes = 0

    def mask(self, text: str) -> str:
        """The text with declared values replaced; counts what it replaced in `n_masked_bytes`."""
        if _LIKE_REPLACED.search(text):
            text = _LIKE_REPLACED.sub(r"<\\", text)
        if self._roots is not None:
            text = self._roots.sub(self._workspace, text)
        is_dashed = _DASHED(text)
        for kind, guard, pattern in _KINDS:
            if is_dashed if guard is _DASHED else guard(text):
                text = pattern.sub(lambda found, kind=kind: self._ordinal(kind, found), text)  # type: ignore[misc]
        return text

    def _workspace(self, found: re.Match[str]) -> str:
        if not _begins(found.string, found.start()):
            return found.group()
        self.n_masked_bytes += len(found.group())
        return self._names[found.group()]

    def _ordinal(self, kind: str, found: re.Match[str]) -> str:
        value = found.group()
        if kind == "TMP" and not _begins(found.string, found.start()):
            return value
        seen = self._seen.setdefault(kind, {})
        self.n_masked_bytes += len(value)
        return f"<{kind}:{seen.setdefault(value, len(seen) + 1)}>"
