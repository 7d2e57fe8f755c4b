"""Make a database again from the bytes that were ingested, by doing in order what the journal says was done.

The new store is made aside and verified before it takes the old one's place; the old one is kept beside it. What lost
its bytes is named and left out.
"""

from __future__ import annotations

import os
import shutil
import stat
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from samework.decode.archive import expanded
from samework.errors import NotFound, SameworkError, StoreDamaged, StoreError, StoreLocked, StoreNewer
from samework.ingest import registry
from samework.ingest.attach import Attachment, Kept, attach
from samework.ingest.index import Index
from samework.ingest.joining import settle
from samework.ingest.layouts import Unit
from samework.ingest.pipeline import ingest_units
from samework.ingest.settings import IngestSettings
from samework.ingest.stored import StoredBundle, StoredSource
from samework.model.results import SnapshotResult
from samework.store import journal, witness
from samework.store.connection import create_store, is_store, open_store, refuse_newer
from samework.store.files import OBJECTS_NAMES, SOURCES_NAME, complete_objects, remedy, store_place
from samework.store.sources import SourceStore
from samework.store.verify import verify_store
from samework.store.write import BatchWriter
from samework.text import shortened, visible

if TYPE_CHECKING:
    from samework.ingest.settings import Progress
    from samework.model.reader import Source
    from samework.store.connection import StoreHandle
    from samework.store.journal import Act
    from samework.store.verify import ObjectsCheck


_ACTS = frozenset({"ingest", "attach", "rows", "settle", "nothing", "begin"})
_OWN_TABLES = frozenset({"review"})


class Lost(msgspec.Struct, frozen=True):
    """An act that could not be done again, and why."""

    path: str
    reason: str


class Repair(msgspec.Struct, frozen=True):
    """A repair. n_done: acts done again. kept: where the old store lies now."""

    n_runs: int
    n_done: int
    lost: tuple[Lost, ...]
    kept: str


def repair(path: Path, *, objects_check: ObjectsCheck | None = None, progress: Progress | None = None) -> Repair:
    """Make the database of the store at `path` again.

    Args:
        path: the `.samework` directory, whatever state its database is in.
        objects_check: as in `verify_store`.
        progress: as in `pipeline.ingest`.

    Raises: NotFound: there is no journal. StoreLocked: another process holds the store. StoreDamaged: the new one does
    not verify; the old one was not touched. StoreError: the disk is full, or a newer program made the store.
    """
    path = store_place(Path(path))
    shown = visible(str(path), one_line=True)
    refuse_newer(path)
    try:
        told = journal.read(path)
    except OSError as error:
        raise StoreError(f"the journal does not read: {error.strerror}", place=shown, hint=remedy(error)) from error
    missing = journal.missing_batches(told, witness.last_batch(path))
    if not told.acts:
        raise NotFound(
            "there is nothing to make it from: no journal of what was ingested",
            place=shown,
            hint="Restore a backup, or ingest the files again into a new store.",
            code="no-journal",
        )
    _refuse_unknown(told.acts, shown)
    _refuse_held(path)
    aside = path.with_name(f"{path.name}.repair-{os.getpid()}")
    try:
        with create_store(aside) as handle:
            _link_files(path, aside)
            n_done, lost = _replayed(handle, told.acts, progress)
            n_runs = len(Index.of(handle.db).by_id)
        findings = verify_store(aside, objects_check=objects_check)
        of_objects = [finding for finding in findings if finding.where in OBJECTS_NAMES]
        if len(of_objects) < len(findings):
            first = next(finding for finding in findings if finding not in of_objects)
            raise StoreDamaged(f"what was made does not verify: {first.where}: {first.what}", place=shown)
        aside.chmod(stat.S_IMODE(path.stat().st_mode))
        kept = _free_name(path)
        path.rename(kept)
        aside.rename(path)
    except OSError as error:
        raise StoreError(
            f"the store cannot be made again: {visible(error.strerror or str(error), one_line=True)}",
            place=shown,
            hint=remedy(error),
        ) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    lost += [Lost(finding.where, finding.what) for finding in of_objects]
    lost += [Lost(f"journal, line {number}", "the line is damaged") for number in told.damaged]
    lost += [Lost(f"batch {number}", "no line of the journal tells of it") for number in missing]
    if (begin := journal.first_batch(told)) > 1:
        lost.append(Lost(f"all before batch {begin}", "the store was older than its journal"))
    return Repair(n_runs, n_done, tuple(lost), str(kept))


def _refuse_unknown(acts: tuple[Act, ...], shown: str) -> None:
    unknown = next((act["do"] for act in acts if act["do"] not in _ACTS), None)
    if unknown is not None:
        raise StoreNewer(
            f"the journal tells of an act that this program does not know: {shortened(unknown, 80)!r}",
            place=shown,
            hint="Use a newer samework; the store was not touched.",
        )


def _free_name(path: Path) -> Path:
    name = f"{path.name}.damaged-{datetime.now(UTC):%Y%m%dT%H%M%S}"
    names = (name, *(f"{name}-{number}" for number in range(2, 1000)))
    return next(found for each in names if not (found := path.with_name(each)).exists())


def _refuse_held(path: Path) -> None:
    """A store that opens must not be in use; one that does not open may be repaired."""
    if is_store(path):
        try:
            open_store(path, read_only=False, check_witness=False).close()
        except (StoreLocked, StoreNewer):
            raise
        except StoreError:
            return


def _link_files(old: Path, new: Path) -> None:
    """The kept bytes and Git objects of the old store under the new one: files that are never changed in place."""
    for name in (SOURCES_NAME, *OBJECTS_NAMES):
        if (old / name).is_dir():
            shutil.copytree(old / name, new / name, copy_function=_linked, dirs_exist_ok=True)
    complete_objects(new)
    sources = SourceStore(new / SOURCES_NAME)
    damaged = [sources.path_of(digits) for digits, _ in sources.verify()]
    for path in [*damaged, *sources.strays()]:
        path.unlink()  # the link; the old store keeps the file


def _linked(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        shutil.copy2(source, target)
    return target


def _replayed(handle: StoreHandle, acts: tuple[Act, ...], progress: Progress | None) -> tuple[int, list[Lost]]:
    lost: list[Lost] = []
    n_done = 0
    for what, group in groupby(acts, key=lambda act: act["do"]):
        some = list(group)
        if what == "ingest":
            n_done += _ingested(handle, some, lost, progress)
        elif what == "attach":
            n_done += _attached(handle, some, lost)
        elif what == "rows":
            n_done += _rows_again(handle, some)
        elif what == "settle":
            _settled(handle)
    return n_done, lost


def _settled(handle: StoreHandle) -> None:
    """The end of an ingest, at which predictions found their run."""
    with BatchWriter(handle) as writer:
        writer.begin()
        settle(writer, Index.of(handle.db))
        writer.commit((), [{"do": "settle"}])


def _rows_again(handle: StoreHandle, acts: list[Act]) -> int:
    """Rows that no source holds, such as reviews, as they were."""
    with BatchWriter(handle) as writer:
        writer.begin()
        for act in acts:
            if act["table"] in _OWN_TABLES:
                writer.append(act["table"], act["columns"])
        writer.commit((), acts)
    return len(acts)


def _ingested(handle: StoreHandle, acts: list[Act], lost: list[Lost], progress: Progress | None) -> int:
    trees: dict[str, SnapshotResult] = {}
    found = []
    for act in acts:
        trees |= msgspec.convert(act["trees"], dict[str, SnapshotResult])
        try:
            found.append(_unit(handle, act))
        except SameworkError as error:
            lost.append(Lost(visible(act["path"]), error.message))
    summary = ingest_units(handle, found, IngestSettings(), progress, trees=trees, is_whole=False)
    refused = [each for each in summary.sources if each.status == "refused"]
    lost.extend(Lost(each.path, each.message or "refused") for each in refused)
    return len(found) - len(refused)


def _unit(handle: StoreHandle, act: Act) -> Unit:
    path, sha256 = act["path"], act["sha256"]
    _checked(handle, sha256)
    stored: Source
    if act["is_files"]:
        stored = StoredBundle(path, sha256, handle.sources)
        for name in stored.names():
            child = stored.child(name)
            if child is not None:
                _checked(handle, child.sha256)
    else:
        stored = StoredSource(path, sha256, handle.sources)
    fields = {name: value for name, value in act["given"].items() if value is not None}
    reader = registry.reader(act["format"])
    root = Path(path) if act["named"] else Path(act["root"])
    return Unit(expanded(stored), stored, root, act["named"], reader, fields, within=act["root"])


def _checked(handle: StoreHandle, sha256: str) -> None:
    if not handle.sources.has(sha256):
        raise NotFound("its bytes are gone or damaged")


def _attached(handle: StoreHandle, acts: list[Act], lost: list[Lost]) -> int:
    index: Index | None = None
    n_done = 0
    for act in acts:
        asked = msgspec.convert(act["asked"], Attachment, dec_hook=lambda _, text: Path(text))
        kept = msgspec.convert(act["kept"], Kept)
        index = index or Index.of(handle.db)
        try:
            run = index.by_id.get(act["run"])
            if run is None:
                raise NotFound("the run is lost")
            for sha256 in kept.files.values():
                _checked(handle, sha256)
            attach(handle, run.key, asked, kept, index)
            n_done += 1
        except SameworkError as error:
            lost.append(Lost(f"attached to run {visible(act['run'])}", error.message))
            index = None  # it may tell of what was rolled back
    return n_done
