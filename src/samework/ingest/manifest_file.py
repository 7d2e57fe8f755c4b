"""A manifest file: dotted fields, each with value and source, or with the reason of its absence.

A bare value is declared. Refuses nothing: what does not fit is taken as the declared value that it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.errors import DamagedRecord
from samework.model.records import ManifestFact
from samework.model.words import Absence, FieldSource

if TYPE_CHECKING:
    from collections.abc import Iterator

_SOURCES: dict[str, FieldSource] = {source.value: source for source in FieldSource}
_ABSENCES: dict[str, Absence] = {absence.value: absence for absence in Absence}
_FACT_KEYS = frozenset({"value", "source", "absence", "where"})


def manifest_facts(document: object, where: str) -> Iterator[ManifestFact]:
    """Facts of a manifest document.

    Args: document: decoded JSON. where: name of the file, where a field does not say where its value was read.
    Raises: DamagedRecord: it is no object.

    >>> next(manifest_facts({"kv.dtype": {"value": "f16", "source": "measured"}}, "m.json")).value
    'f16'
    """
    if not isinstance(document, dict):
        raise DamagedRecord("a manifest is an object of fields")
    for field, given in document.items():
        if not isinstance(given, dict) or not given or not given.keys() <= _FACT_KEYS:
            yield ManifestFact(field, given, FieldSource.DECLARED, None, where)
            continue
        place = given.get("where")
        place = place if isinstance(place, str) else where
        if "value" in given and given["value"] is not None:
            yield ManifestFact(field, given["value"], _source(given.get("source")), None, place)
        else:
            yield ManifestFact(field, None, None, _absence(given.get("absence")), place)


def _source(word: object) -> FieldSource:
    return _SOURCES.get(word, FieldSource.DECLARED) if isinstance(word, str) else FieldSource.DECLARED


def _absence(word: object) -> Absence:
    return _ABSENCES.get(word, Absence.UNRECORDED) if isinstance(word, str) else Absence.UNRECORDED
