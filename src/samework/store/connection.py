"""Open, make and find a store. Its one job: a checked DuckDB connection beside `objects.git` and `sources/`.

Refuses: a directory that is no store, a store of a newer schema, a store that another process holds, damaged bytes.
No connection may read or write a file other than the store itself (`enable_external_access=false`), so nothing that a
foreign database holds, views and macros included, reaches the machine.
"""

from __future__ import annotations

import os
import re
import shutil
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import duckdb

from samework.errors import NotFound, StoreDamaged, StoreError, StoreLocked, StoreNewer
from samework.store import foreign, held, migrate, rescue, seal, sql, witness
from samework.store.files import (
    DATABASE_NAME,
    MARKER_NAME,
    OBJECTS_NAMES,
    SOURCES_NAME,
    STORE_MODE,
    check_entries,
    from_root,
    opened,
    remedy,
    store_place,
)
from samework.store.journal import JOURNAL_NAME
from samework.store.sources import SourceStore
from samework.store.version import APPLICATION_ID, SCHEMA_VERSION
from samework.text import shortened, visible

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from types import TracebackType

STORE_NAME: Final = ".samework"
_TEMPORARY_NAME: Final = "tmp"
_READ_MEMORY: Final = "2GB"
WRITE_MEMORY: Final = "96MB"
# Small row groups leave memory early: an uncommitted batch is written as it grows instead of being held whole.
_ROW_GROUP_ROWS: Final = 8192
_ATTACHED: Final = "store"
_MAGIC: Final = b"DUCK"
_MAGIC_PLACE: Final = 8
_PATIENCE_SECONDS: Final = 2.0
_PAUSE_SECONDS: Final = 0.05
_HOLDER = re.compile(r"Conflicting lock is held in (?P<program>.*?) \(PID (?P<pid>\d+)\)")
_DAMAGE = re.compile(
    r"corrupt|checksum|not a valid DuckDB|deserializ|serializ|Failed to load metadata|does not match", re.IGNORECASE
)
_NEWER_FILE = re.compile(r"version number|newer", re.IGNORECASE)


class StoreHandle:
    """An open store.

    root: the `.samework` directory. db: its DuckDB connection. read_only: as opened. objects_path: our bare Git object
    database (made by `trees`, may not exist yet). sources: the ingested bytes. Use it as a context manager.
    """

    def __init__(self, root: Path, db: duckdb.DuckDBPyConnection, *, read_only: bool, taken: held.Identity) -> None:
        self.root = root
        self.db = db
        self.read_only = read_only
        self.objects_path = root / OBJECTS_NAMES[0]
        self.sources = SourceStore(root / SOURCES_NAME)
        self._taken = taken
        self._give_back = weakref.finalize(self, held.release, taken)

    @property
    def file(self) -> int:
        """A descriptor of the database to read at places with; it is not to be closed."""
        return held.descriptor_of(self._taken)

    @property
    def database_path(self) -> Path:
        """The DuckDB file."""
        return self.root / DATABASE_NAME

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A further connection to the same store, with a transaction of its own; without the temporary views."""
        cursor = self.db.cursor()
        if not self.read_only:
            cursor.execute(f"USE {_ATTACHED}")
        return cursor

    def checkpointing(self) -> AbstractContextManager[None]:
        """For what may write a checkpoint, one at a time: it can be taken back where the process dies within."""
        return rescue.kept(self.db, self.database_path, self.file, _ATTACHED)

    def checkpoint(self) -> None:
        """Fold the log into the file. Raises: duckdb.Error, OSError."""
        with self.checkpointing():
            self.db.execute("CHECKPOINT")

    def release(self) -> None:
        """Let go of the database as it lies."""
        self.db.close()
        self._give_back()

    def close(self) -> None:
        """Close the connection; after a write the log is folded into the file first, so that none lies at rest."""
        try:
            if not self.read_only:
                self.checkpoint()
        except (duckdb.Error, OSError) as error:
            said = first_line(error) if isinstance(error, duckdb.Error) else error.strerror
            raise StoreError(f"the store could not be brought to rest: {said}", hint=remedy(error)) from error
        finally:
            self.release()
        if not self.read_only:
            try:
                seal.close(self.root)
            except OSError as error:
                raise StoreError(f"the store could not be sealed: {error.strerror}", hint=remedy(error)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
            return
        with suppress(duckdb.Error, OSError, StoreError):  # the error that led here says more
            self.close()


def find_store(start: Path | None = None) -> Path:
    """The store to use: `SAMEWORK_STORE` where it is set, else the nearest `.samework` at or above `start`.

    Raises: NotFound: there is none.
    """
    named = os.environ.get("SAMEWORK_STORE")
    if named:
        return Path(named)
    here = from_root(start or Path()).resolve()
    for place in (here, *here.parents):
        if is_store(place / STORE_NAME):
            return place / STORE_NAME
    raise NotFound(
        f"no store ({STORE_NAME}) here or above",
        place=visible(str(here), one_line=True),
        hint="`samework init` makes one, `--store DIR` or SAMEWORK_STORE names one.",
        code="no-store",
    )


def is_store(path: Path) -> bool:
    """True where `path` looks like a store; its database is not opened."""
    try:
        return (path / DATABASE_NAME).is_file() and _marker(path) is not None
    except OSError:
        return False


def no_store(path: Path) -> NotFound:
    """The error of a place without a database."""
    hint = _REMAKE if os.path.isfile(path / JOURNAL_NAME) else "`samework init` makes one."  # noqa: PTH113
    return NotFound("there is no store here", place=visible(str(path), one_line=True), hint=hint, code="no-store")


def may_hold_database(path: Path) -> bool:
    """True where a database lies in a directory, or nobody may look; then opening it says so."""
    try:
        return (path / DATABASE_NAME).exists()
    except OSError:
        return True


def create_store(path: Path) -> StoreHandle:
    """Make an empty store and open it for writing. It is made aside and moved, so none is ever seen half made.

    Raises: StoreError: something already lies there, or the directory cannot be written.
    """
    path = store_place(Path(path))
    shown = visible(str(path), one_line=True)
    if is_store(path):
        raise StoreError("there is a store already", place=shown, code="store-exists")
    _refuse_occupied(path, shown)
    aside = path.with_name(f"{path.name}.new-{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(mode=STORE_MODE)
        (aside / SOURCES_NAME).mkdir()
        (aside / MARKER_NAME).write_text(f"{APPLICATION_ID} {SCHEMA_VERSION}\n", encoding="ascii")
        with _connected(aside, read_only=False) as handle:
            migrate.create_schema(handle.db)
        aside.rename(path)
    except OSError as error:
        raise StoreError(f"the store cannot be made: {error.strerror}", place=shown, hint=remedy(error)) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return open_store(path, read_only=False)


def _refuse_occupied(path: Path, shown: str) -> None:
    """Refuse a place where something lies that is no store, and say what to do with it."""
    is_free = not os.path.lexists(path) or (path.is_dir() and not any(path.iterdir()))
    if not is_free:
        raise StoreError(
            "something lies there that is no whole store",
            place=shown,
            hint=_REMAKE if (path / JOURNAL_NAME).is_file() else "Move it away, or name another place with --store.",
            code="store-exists",
        )


_REMAKE: Final = (
    "`samework repair --store` of this place makes its database again from its journal and the bytes in sources/."
)


def open_store(path: Path, *, read_only: bool, check_witness: bool = True) -> StoreHandle:
    """Open a store after checking whose it is and of which version; an older one is migrated.

    Args:
        path: the `.samework` directory.
        read_only: readers do not keep each other out; a writer keeps out everyone.
        check_witness: refuse a database that lacks acknowledged batches; only `verify` goes on without.

    Raises: NotFound: no store there. StoreLocked: another process holds it. StoreDamaged: its bytes are damaged.
        StoreError: it is newer than this program, or not a store of samework.
    """
    path = store_place(Path(path))
    shown = visible(str(path), one_line=True)
    try:
        if not (path / DATABASE_NAME).is_file():
            raise no_store(path)
        _check_version(_marker(path), shown)
        check_entries(path)
        handle = _connected(path, read_only=read_only)
    except OSError as error:
        raise StoreError(f"the store does not read: {error.strerror}", place=shown, hint=remedy(error)) from error
    try:
        version = migrate.schema_version(handle.db)
        _check_version(version, shown)
        foreign.refuse(handle.db, shown)
        if version is not None and version < SCHEMA_VERSION:
            handle = _migrated(handle, read_only=read_only)
        if check_witness:
            witness.check(handle.db, path)
        migrate.install_temporary_views(handle.db)
    except duckdb.Error as error:
        handle.release()
        raise StoreDamaged(f"the database does not read: {first_line(error)}", place=shown, hint=_RESTORE) from error
    except OSError as error:
        handle.release()
        raise StoreError(f"the store does not read: {error.strerror}", place=shown, hint=remedy(error)) from error
    except BaseException:
        handle.release()
        raise
    return handle


_RESTORE: Final = (
    "`samework verify` names what is damaged; `samework repair` makes the database again from the bytes in sources/."
)


def first_line(error: BaseException) -> str:
    """What DuckDB said, one visible line."""
    return shortened(str(error).split("\n", 1)[0], 300)


def bring_up_to_date(path: Path) -> None:
    """Migrate an older store, for a process that may not write. Raises: as `open_store`."""
    try:
        version = _marker(path)
    except OSError:
        return
    if version is not None and version < SCHEMA_VERSION:
        open_store(path, read_only=True).release()


def _migrated(handle: StoreHandle, *, read_only: bool) -> StoreHandle:
    root = handle.root
    if handle.read_only:
        handle.release()
        handle = _connected(root, read_only=False)
    try:
        with handle.checkpointing():
            migrate.migrate(handle.db)
    except BaseException:
        handle.release()
        raise
    (root / MARKER_NAME).write_text(f"{APPLICATION_ID} {SCHEMA_VERSION}\n", encoding="ascii")
    if not read_only:
        return handle
    handle.close()
    return _connected(root, read_only=True)


def _marker(path: Path) -> int | None:
    try:
        with opened(path / MARKER_NAME) as file:
            words = file.read(100).decode("ascii", "replace").split()
    except PermissionError:
        raise
    except OSError:
        return None
    return int(words[1]) if len(words) == 2 and words[0] == APPLICATION_ID and words[1].isdigit() else None  # noqa: PLR2004


def refuse_newer(path: Path) -> None:
    """Refuse a store that says it is of a newer version; its database is not opened. Raises: StoreError."""
    try:
        version = _marker(path)
    except OSError:
        return
    if version is not None:
        _check_version(version, visible(str(path), one_line=True))


def _check_version(version: int | None, shown: str) -> None:
    if version is None:
        raise StoreError("the directory holds a database, but no store of samework", place=shown, code="not-a-store")
    if version > SCHEMA_VERSION:
        raise StoreNewer(
            f"the store has schema version {version}, this program knows {SCHEMA_VERSION}",
            place=shown,
            hint="Use a newer samework; the store was not touched.",
        )


def _connected(root: Path, *, read_only: bool) -> StoreHandle:
    database, shown = root / DATABASE_NAME, visible(str(root), one_line=True)
    patience = time.monotonic() + _PATIENCE_SECONDS
    is_new = not database.exists()
    while True:
        is_in_checkpoint = rescue.is_kept(database)
        if is_in_checkpoint:
            rescue.restore(database)
        taken = None if is_new else held.take(database, read_only=read_only)
        try:
            if taken is not None:
                _check_magic(held.descriptor_of(taken), shown)
            db = _opened(root, read_only=read_only)
        except BaseException as error:
            if taken is not None:
                held.release(taken)
            if not isinstance(error, duckdb.Error):
                raise
            failure = _opening_failure(error, shown)
            # Whoever is at a checkpoint, or takes one back, is soon done.
            is_soon = isinstance(failure, StoreLocked) and (is_in_checkpoint or rescue.is_kept(database))
            if not is_soon or time.monotonic() > patience:
                raise failure from error
            time.sleep(_PAUSE_SECONDS)
            continue
        return StoreHandle(root, db, read_only=read_only, taken=taken or held.take(database, read_only=read_only))


def _check_magic(descriptor: int, shown: str) -> None:
    """Refuse what is no DuckDB file: DuckDB would look for an extension that reads it, or write over an empty one."""
    if os.pread(descriptor, len(_MAGIC), _MAGIC_PLACE) != _MAGIC:
        raise StoreDamaged("the database is damaged: it is no DuckDB file", place=shown, hint=_RESTORE)


def _opened(root: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "memory_limit": _READ_MEMORY if read_only else WRITE_MEMORY,
        "temp_directory": str(root / _TEMPORARY_NAME),
        "preserve_insertion_order": "false",
    }
    file = str(root / DATABASE_NAME)
    if read_only:
        db = duckdb.connect(file, read_only=True, config=config)
        db.execute("SET enable_external_access = false")
        return db
    db = duckdb.connect(config=config)
    db.execute(f"ATTACH {sql.literal(file)} AS {_ATTACHED} (ROW_GROUP_SIZE {_ROW_GROUP_ROWS})")
    db.execute("SET enable_external_access = false")
    db.execute(f"USE {_ATTACHED}")
    db.execute("PRAGMA disable_checkpoint_on_shutdown")  # it would be one that cannot be taken back
    seal.lift(root)
    return db


def _opening_failure(error: duckdb.Error, shown: str) -> StoreError:
    said = str(error)
    found = _HOLDER.search(said)
    if found:
        pid = int(found["pid"])
        return StoreLocked(
            f"another process (pid {pid}, {_command(pid, found['program'])}) holds the store",
            place=shown,
            hint="Wait until it ends, then repeat the command.",
        )
    if "different configuration" in said or "already attached" in said:
        return StoreLocked(
            f"this process (pid {os.getpid()}) holds the store already in another mode",
            place=shown,
            hint="Close the other handle first.",
        )
    if "could not set lock" in said.lower():
        return StoreLocked(f"another process holds the store: {first_line(error)}", place=shown)
    if _NEWER_FILE.search(said) and not _DAMAGE.search(said):
        return StoreNewer(f"the file was written by a newer DuckDB: {first_line(error)}", place=shown)
    if _DAMAGE.search(said):
        return StoreDamaged(f"the database is damaged: {first_line(error)}", place=shown, hint=_RESTORE)
    return StoreError(f"the database does not open: {first_line(error)}", place=shown, hint=remedy(error))


def _command(pid: int, program: str) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        words = []
    line = b" ".join(words).decode("utf-8", "replace") or program
    return shortened(line, 120)
