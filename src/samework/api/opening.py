"""Find a store, make one, or make one of a backup."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from samework.api.store import Store, objects_check

if TYPE_CHECKING:
    import os

    Where = str | os.PathLike[str]


def open(path: Where | None = None) -> Store:  # noqa: A001 (sw.open reads as intended)
    """The store at `path` (the store itself, or a directory that holds `.samework`), or the nearest one upward.

    Raises: NotFound: there is none.
    """
    from samework.store.connection import STORE_NAME, find_store, is_store, may_hold_database, no_store

    if path is None:
        return Store(find_store())
    place = Path(path)
    for found in (place, place / STORE_NAME):
        if is_store(found):
            return Store(found)
    for found in (place, place / STORE_NAME):
        if may_hold_database(found):
            return Store(found)  # to open it says what it is instead
    raise no_store(place)


def create(path: Where | None = None) -> Store:
    """Make an empty store at `path` (default `.samework` here) and return it. Raises StoreError where one exists."""
    from samework.store.connection import STORE_NAME, create_store

    place = Path(path) if path is not None else Path(STORE_NAME)
    create_store(place).close()
    return Store(place)


def restore(file: Where, path: Where | None = None) -> Store:
    """Make a store at `path` (default `.samework` here) from a backup, checked and verified, and return it.

    Raises: InputError: it is no whole backup. StoreError: there is something at `path` already.
    """
    from samework.store.backup import restore
    from samework.store.connection import STORE_NAME

    place = Path(path) if path is not None else Path(STORE_NAME)
    restore(Path(file), place, objects_check=objects_check)
    return Store(place)


def store_in(folder: Path) -> Path:
    """Where a store that is made in a folder lies."""
    from samework.store.connection import STORE_NAME

    return folder / STORE_NAME


def is_store(path: Path) -> bool:
    """True where `path` looks like a store; it is not opened."""
    from samework.store.connection import is_store

    return is_store(path)
