"""Take secrets out of an answer: a struct text by text, a table of SQL value by value, types kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from samework.report.redact import SIDES, Redactor, without_secrets
from samework.secrets.names import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")


def redacted(value: T) -> tuple[T, int]:
    """A struct or a list of structs without its secrets, and how many places were taken out."""
    redactor = Redactor()
    made = without_secrets(value, redactor)
    return made, sum(item.n for item in redactor.found)


def redacted_table(table: pa.Table) -> tuple[pa.Table, int]:
    """The table without its secrets, and how many places were taken out.

    A column named like a secret goes whole; beside a column `field`, the columns `value`, `a` and `b` go by the field's
    name, as in reports. Bytes are left: digests are bytes.
    """
    redactor = Redactor()
    names = list(table.column_names)
    fields = table.column(names.index("field")).to_pylist() if names.count("field") == 1 else []
    columns = [
        _column(column, name, fields if name in SIDES else (), redactor)
        for name, column in zip(names, table.columns, strict=True)
    ]
    n_redacted = sum(item.n for item in redactor.found)
    if not n_redacted:
        return table, 0
    kept = [redactor.text(name) for name in names]
    return pa.Table.from_arrays(columns, names=kept), n_redacted


def _column(column: Any, name: str, fields: Sequence[object], redactor: Redactor) -> Any:
    if not _holds_text(column.type):
        return column
    values = column.to_pylist()
    if fields:
        made = [_of_field(value, field, redactor) for value, field in zip(values, fields, strict=True)]
    else:
        own = _secret_member(column.type) or name
        made = [_cleaned(value, own, redactor.named) for value in values]
    if made == values:
        return column
    # No array of a union is made of values: what is left of one is text.
    is_union = _any_kind(column.type, pa.types.is_union)
    return pa.array([_text(value) for value in made]) if is_union else pa.array(made, type=column.type)


def _text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _of_field(value: object, field: object, redactor: Redactor) -> object:
    """A value of a manifest is JSON: the mark of a text's secret is that of the text without its quotes."""
    if not isinstance(value, str) or not isinstance(field, str):
        return value
    if not value.startswith('"'):
        return redactor.named(field, value)
    try:
        text = json.loads(value)
    except ValueError:
        return redactor.named(field, value)
    made = redactor.named(field, text)
    return value if made == text else json.dumps(made, ensure_ascii=False)


def _cleaned(value: Any, name: str, clean: Callable[[str, str], str]) -> Any:
    """Every text inside a value; keys of a struct and of a map, which is pairs, are the names of their texts.

    Below the name of a secret all are secret.
    """
    if isinstance(value, str):
        return clean(name, value)
    if isinstance(value, dict):
        return {key: _cleaned(each, _below(name, key), clean) for key, each in value.items()}
    if isinstance(value, tuple):
        key, each = value
        return _cleaned(key, "", clean), _cleaned(each, _below(name, key), clean)
    if isinstance(value, list):
        return [_cleaned(each, name, clean) for each in value]
    return value


def _below(name: str, key: object) -> str:
    return key if isinstance(key, str) and not is_secret_name(name) else name


def _secret_member(kind: Any) -> str | None:
    """A member of a union that is named like a secret: which member a value is of, Arrow does not say of the value."""
    members = [kind.field(place).name for place in range(kind.num_fields)] if pa.types.is_union(kind) else []
    inside = (_secret_member(kind.field(place).type) for place in range(kind.num_fields))
    return next((name for name in (*members, *inside) if name is not None and is_secret_name(name)), None)


def _holds_text(kind: Any) -> bool:
    return _any_kind(kind, lambda each: any(test(each) for test in _TEXTS))


_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)


def _any_kind(kind: Any, test: Callable[[Any], bool]) -> bool:
    """Whether a type, or one inside it, is of a kind."""
    if test(kind):
        return True
    if pa.types.is_dictionary(kind):
        return _any_kind(kind.value_type, test)
    if isinstance(kind, pa.BaseExtensionType):  # JSON
        return _any_kind(kind.storage_type, test)
    return any(_any_kind(kind.field(place).type, test) for place in range(kind.num_fields))
