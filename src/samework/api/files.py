"""Files that an answer is written to: what the file system says against it is a sentence."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from samework.errors import InputError
from samework.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def writing(path: Path, failure: str = "the file cannot be written") -> Iterator[None]:
    """Raise InputError, with the reason, where what is done within cannot be written to `path`.

    A pipe that nobody reads any more is no bad path, and passes.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"{failure}: {error.strerror or error}", place=visible(str(path), one_line=True)) from error


def write_whole(path: Path, text: str, failure: str) -> None:
    """Write aside, then move: a page is never half there. Raises InputError as `writing`."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    with writing(path, failure):
        try:
            aside.write_text(text, encoding="utf-8", errors="backslashreplace")
            aside.replace(path)
        except OSError:
            with suppress(OSError):
                aside.unlink()
            raise
