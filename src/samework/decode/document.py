"""A JSON document read whole, under the size limit. Refuses more than one document in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.decode import strict_json
from samework.decode.limits import DEFAULT, MIB, Limits
from samework.decode.strict_json import NotJson
from samework.errors import DamagedRecord, LimitExceeded
from samework.text import visible

if TYPE_CHECKING:
    from samework.model.reader import Source

_PART_BYTES = 4 * MIB


def read_bytes(source: Source, limits: Limits = DEFAULT) -> bytes:
    """All bytes of a source.

    Raises: LimitExceeded: more than `max_document_bytes`. InputError: it cannot be opened.
    """
    parts, n_bytes = [], 0
    with source.open() as stream:
        while part := stream.read(
            _PART_BYTES
        ):  # never the limit at once: a stream makes room for all that is asked for
            parts.append(part)
            n_bytes += len(part)
            if n_bytes > limits.max_document_bytes:
                raise LimitExceeded(
                    f"one document of more than {limits.max_document_bytes} bytes", place=visible(source.path)
                )
    return b"".join(parts)


def read_document(source: Source, limits: Limits = DEFAULT) -> object:
    """The value of a JSON document.

    Raises: DamagedRecord: it is not JSON; the place names file and byte. LimitExceeded: it is too large.
    """
    return _placed(source, read_bytes(source, limits), limits)


def read_document_checked(source: Source, limits: Limits = DEFAULT) -> tuple[object, list[str]]:
    """As `read_document`, with a sentence for each repeated key and each number that JSON does not know."""
    data = read_bytes(source, limits)
    try:
        return strict_json.loads_checked(data, limits)
    except NotJson as error:
        raise _at(source, error, len(data)) from error


def _placed(source: Source, data: bytes, limits: Limits) -> object:
    try:
        return strict_json.loads(data, limits)
    except NotJson as error:
        raise _at(source, error, len(data)) from error


def _at(source: Source, error: NotJson, n_bytes: int) -> DamagedRecord:
    cut = " (the file ends inside the document)" if error.offset >= n_bytes and n_bytes else ""
    return DamagedRecord(f"{error.message}{cut}", place=f"{visible(source.path)}, byte {error.offset}", code=error.code)
