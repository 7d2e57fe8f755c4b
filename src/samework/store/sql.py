"""Read the `.sql` files of a room: one query a file, the file's name is the query's."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def load(package: str, name: str) -> str:
    """Text of `<name>.sql` in a package; `name` may begin with folders: `named/flaky-tests`.

    >>> load("samework.store", "views/10_runs").splitlines()[0][:9]
    '-- views/'

    Raises: FileNotFoundError: a mistake in the program, for names never come from users.
    """
    return resources.files(package).joinpath(*f"{name}.sql".split("/")).read_text(encoding="utf-8")


@cache
def names(package: str, folder: str) -> tuple[str, ...]:
    """Names of the queries of a folder, sorted."""
    found = resources.files(package).joinpath(folder).iterdir()
    return tuple(sorted(entry.name[:-4] for entry in found if entry.name.endswith(".sql")))


def scripts(package: str, folder: str) -> list[tuple[str, str]]:
    """(name, text) of every query of a folder, sorted by name."""
    return [(name, load(package, f"{folder}/{name}")) for name in names(package, folder)]


def header(text: str) -> str:
    """The comment at the head of a query, without its marks: what it answers, parameters, columns."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        lines.append(line[2:].strip())
    return "\n".join(lines)


def quoted(identifier: str) -> str:
    """An identifier of our own as SQL. Never used on names that come from data."""
    return '"' + identifier.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Text of our own as an SQL literal.

    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"
