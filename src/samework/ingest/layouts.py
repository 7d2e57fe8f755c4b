"""Which files of a path are sources, in which order, and what their paths say.

A directory with run.json is one bundle; the files it refers to are no sources of their own. Files that belong together
(see `file_sets`) are one source. Hidden directories are skipped, links that leave the tree are not followed.
Trajectories come before predictions, these before reports.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from samework.decode.archive import expanded
from samework.decode.limits import DEFAULT
from samework.decode.source import DirSource, FileSource, too_deep
from samework.errors import InputError, LimitExceeded, UsageError
from samework.ingest import bundle_files, registry
from samework.ingest.detect import detect
from samework.ingest.file_sets import FileSet, file_sets
from samework.ingest.settings import FIELDS
from samework.model.reader import Reader, Source
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.ingest.settings import IngestSettings

_ORDER = {"predictions": 1, **dict.fromkeys(registry.REPORTS, 2)}
_FIELD = re.compile(r"\{(\w+)\}")


class Unit(msgspec.Struct, frozen=True):
    """One source to ingest. source: as it is read (an archive is looked into). stored: the bytes to keep.

    root: the path that the user named. named: he named the file itself. error: why it cannot be read. within: the
    folder that stood for `root`, where that is known from earlier.
    """

    source: Source
    stored: Source
    root: Path
    named: bool
    reader: Reader | None = None
    fields: dict[str, str] = {}
    error: InputError | None = None
    within: str | None = None

    @property
    def folder(self) -> str:
        """The folder below which what lies beside it belongs together."""
        return self.within or str(self.root if self.root.is_dir() else self.root.parent)

    @property
    def path(self) -> str:
        """Where it is, for display and joining."""
        return self.stored.path


class Pattern:
    """A pattern of paths such as `logs/{task}/report.json`; `*` and `?` stand for parts of one name."""

    def __init__(self, text: str) -> None:
        """Compile a pattern.

        Raises: UsageError: a field is unknown or named twice, or there is none.
        """
        self.text = text
        fields = _FIELD.findall(text)
        unknown = [name for name in fields if name not in FIELDS]
        if unknown or len(set(fields)) != len(fields) or not fields:
            raise UsageError(
                f"the pattern {shortened(text, 120)!r} needs fields of {', '.join(FIELDS)}, each once",
                code="bad-pattern",
            )
        self._match = re.compile(r"(?:^|/)" + "".join(map(_part, re.split(r"(\{\w+\}|\*|\?)", text))) + "$")

    def fields(self, path: str) -> dict[str, str] | None:
        """Fields of a path whose end fits the pattern, None where it does not.

        >>> Pattern("{arm}/{task}.traj").fields("out/gpt/t-1.traj")
        {'arm': 'gpt', 'task': 't-1'}
        """
        found = self._match.search(path)
        return found.groupdict() if found else None

    def find(self, start: Path) -> list[tuple[Path, dict[str, str]]]:
        """Files that fit the pattern, sorted, with their fields; a relative pattern is looked for below `start`.

        Raises: InputError: a directory on the way cannot be listed.
        """
        steps = Path(_FIELD.sub("*", self.text)).parts
        absolute = Path(self.text).is_absolute()
        base = Path(steps[0]) if absolute else start
        pattern = str(Path(*steps[1:])) if absolute else str(Path(*steps))
        try:
            paths = sorted(path for path in base.glob(pattern) if path.is_file())
        except OSError as error:  # a directory that went while it was looked into, as in /proc
            raise InputError(
                f"the files of the pattern cannot be listed: {visible(error.strerror or str(error))}",
                place=visible(str(error.filename or base)),
            ) from error
        found = ((path, self.fields(path.as_posix())) for path in paths)
        return [(path, fields) for path, fields in found if fields is not None]


def _part(text: str) -> str:
    if field := _FIELD.fullmatch(text):
        return rf"(?P<{field[1]}>[^/]+?)"
    return {"*": "[^/]*", "?": "[^/]"}.get(text, re.escape(text))


def units(paths: list[Path], settings: IngestSettings) -> list[Unit]:
    """All sources of some paths, in the order in which they are to be read.

    A path that does not exist, or a directory that cannot be listed, is a source with its error beside the others.

    Raises: InputError: none of the paths exists. UsageError: the layout or the format is not known.
    """
    pattern = Pattern(settings.layout) if settings.layout else None
    reader = registry.reader(settings.format) if settings.format else None
    found: list[Unit] = []
    seen: set[str] = set()
    absent = [_absent(root) for root in paths if not root.exists()]
    if len(absent) == len(paths) and absent[0].error is not None:
        raise absent[0].error
    for root in (root for root in paths if root.exists()):
        for place in _walk(root):
            if isinstance(place, Unit):
                found.append(place)
            elif isinstance(place, FileSet):
                found.append(_set_unit(place, root, reader, pattern))
            elif (real := str(place.resolve())) not in seen:
                seen.add(real)
                found.append(_unit(place, root, reader, pattern))
    return absent + sorted(found, key=lambda unit: (_ORDER.get(unit.reader.name, 0) if unit.reader else 0, unit.path))


def matching_units(pattern: Pattern, start: Path) -> list[Unit]:
    """The files that fit a pattern, each with the fields of its path.

    >>> matching_units(Pattern("no/such/{task}.json"), Path("."))
    []
    """
    return [_unit_of(path, path, None, fields) for path, fields in pattern.find(start)]


def _unit(place: Path, root: Path, reader: Reader | None, pattern: Pattern | None) -> Unit:
    fields = pattern.fields(place.as_posix()) if pattern else {}
    if fields is None:
        stored = FileSource(place)
        error = InputError("its path does not fit the layout", place=visible(str(place)), code="outside-layout")
        return Unit(stored, stored, root, place == root, error=error)
    return _unit_of(place, root, reader, fields)


def _unit_of(place: Path, root: Path, reader: Reader | None, fields: dict[str, str]) -> Unit:
    named = place == root
    stored: Source = DirSource(place) if place.is_dir() else FileSource(place)
    try:
        source = expanded(stored)
        return Unit(source, stored, root, named, reader or detect(source), fields)
    except InputError as error:
        return Unit(stored, stored, root, named, None, fields, error)


def _set_unit(files: FileSet, root: Path, reader: Reader | None, pattern: Pattern | None) -> Unit:
    fields = pattern.fields(Path(files.path).as_posix()) if pattern else {}
    named = Path(files.path) == root
    if fields is None:
        error = InputError("its path does not fit the layout", place=visible(files.path), code="outside-layout")
        return Unit(files, files, root, named, error=error)
    try:
        return Unit(files, files, root, named, reader or detect(files), fields)
    except InputError as error:
        return Unit(files, files, root, named, None, fields, error)


def _absent(root: Path) -> Unit:
    stored = FileSource(root)
    place = visible(str(root))
    error = InputError("there is no such file or directory", place=place, code="no-such-path")
    return Unit(stored, stored, root, named=True, error=error)


class _Folder(NamedTuple):
    """A directory to walk.

    owned: what belongs to a bundle above it. n_levels: how deep it lies. bundles_only: whether its files count only as
    parts of bundles.
    """

    path: Path
    owned: frozenset[Path] = frozenset()
    n_levels: int = 0
    bundles_only: bool = False


_Found = Path | Unit | FileSet


def _walk(root: Path) -> Iterator[_Found]:
    """Sources below a path, in the order of names; the directories one is in are kept in a list, not on the stack."""
    if not root.is_dir():
        yield root
        return
    walks = [_entries(_Folder(root), root)]
    while walks:
        found = next(walks[-1], None)
        if found is None:
            walks.pop()
        elif isinstance(found, _Folder):
            walks.append(_entries(found, root))
        else:
            yield found


def _entries(folder: _Folder, root: Path) -> Iterator[_Found | _Folder]:
    """Sources and directories of a directory; itself with its error where it cannot be listed or lies too deep."""
    try:
        entries = _scanned(folder)
    except InputError as error:
        yield _refused(folder.path, root, error)
        return
    found = _within(folder, entries, root)
    if folder.bundles_only:
        found = (each for each in found if not isinstance(each, Path) or each.is_dir())
    yield from found


def _scanned(folder: _Folder) -> list[os.DirEntry[str]]:
    if folder.n_levels > DEFAULT.max_levels:
        raise too_deep(folder.path)
    try:
        return sorted(os.scandir(folder.path), key=lambda entry: entry.name)
    except OSError as error:
        reason = visible(error.strerror or str(error))
        raise InputError(f"the directory cannot be read: {reason}", place=visible(str(folder.path))) from error


def _within(folder: _Folder, entries: list[os.DirEntry[str]], root: Path) -> Iterator[_Found | _Folder]:
    owned = folder.owned
    if any(entry.name == bundle_files.RUN and _is_file(entry) for entry in entries):
        yield folder.path
        names = bundle_files.owned_names(DirSource(folder.path))
        if names is None:
            yield from _bundles_below(folder, entries)
            return
        owned |= {folder.path / name for name in names}
    try:
        for files, parts in file_sets(folder.path, entries):
            yield files
            owned |= parts
    except LimitExceeded as error:
        yield _refused(folder.path, root, error)
    for entry in entries:
        path = Path(entry.path)
        if path in owned or entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield _Folder(path, owned, folder.n_levels + 1, folder.bundles_only)
        elif _is_file(entry) and (not entry.is_symlink() or path.resolve().is_relative_to(root.resolve())):
            yield path


def _bundles_below(folder: _Folder, entries: list[os.DirEntry[str]]) -> Iterator[_Folder]:
    """Directories of a bundle whose run.json is damaged; its own files would land now, and again once it is mended."""
    for entry in entries:
        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
            yield _Folder(Path(entry.path), frozenset(), folder.n_levels + 1, bundles_only=True)


def _refused(folder: Path, root: Path, error: InputError) -> Unit:
    stored = DirSource(folder)
    return Unit(stored, stored, root, named=True, error=error)


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether it is a file or leads to one; a link that leads nowhere or around in a circle does not."""
    try:
        return entry.is_file()
    except OSError:
        return False
