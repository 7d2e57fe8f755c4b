"""Take secrets out of a report, after everything was compared; `samework.secrets` says where they are.

What is taken out leaves its reason and the start of its sha256, so that one can still see whether two places held the
same value. Refuses to decide anything about a run; verdicts were made before, on the whole text.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar

import msgspec

from samework.canon.arguments import canonical_value
from samework.report.data import Redaction, ReportData
from samework.secrets.finding import TAKEN, digest_of, mark, replaced
from samework.secrets.names import is_secret_name
from samework.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")
SIDES = frozenset({"value", "a", "b"})
"""Names beside `field` whose text is that field's value."""
_FREE = frozenset({"outcomes"})
"""Names of values whose own names are the record's."""


class Redactor:
    """Redacts text and counts what it took out."""

    def __init__(self) -> None:
        self._found: Counter[tuple[str, str]] = Counter()

    @property
    def found(self) -> tuple[Redaction, ...]:
        """What was taken out, by reason and digest."""
        return tuple(Redaction(reason, digest, n) for (reason, digest), n in sorted(self._found.items()))

    def text(self, value: str) -> str:
        """The text without its secrets. Redacting twice changes nothing."""
        return replaced(value, self._mark)

    def named(self, name: str, value: str) -> str:
        """The value of a field whose name says that it is secret is taken out whole; any other is redacted as text."""
        if value and not value.startswith(TAKEN) and is_secret_name(name):
            return self._mark(name, value)
        return self.text(value)

    def _mark(self, reason: str, value: str) -> str:
        self._found[reason, digest_of(value)] += 1
        return mark(reason, value) + "\n" * value.count("\n")


def cleaned(data: ReportData, *, redact: bool = True) -> ReportData:
    """The report with every text made visible and, unless asked otherwise, without secrets.

    Cleaning twice changes nothing.
    """
    redactor = Redactor()

    def whole(name: str, value: str) -> str:
        shown = visible(value)
        return redactor.named(name, shown) if redact else shown

    made = msgspec.convert(_walk(msgspec.to_builtins(data), "", whole), ReportData)
    found = redactor.found or data.redactions
    return msgspec.structs.replace(made, redactions=found, is_redacted=redact or data.is_redacted)


def without_secrets(value: T, redactor: Redactor) -> T:
    """A struct, or several in a row, with every text cleaned by `redactor`; names of fields are names of its texts."""
    if isinstance(value, list | tuple):
        return type(value)(without_secrets(each, redactor) for each in value)
    return msgspec.convert(_walk(msgspec.to_builtins(value), "", redactor.named), type(value))


def _walk(value: object, name: str, whole: Callable[[str, str], str]) -> object:
    """Apply `whole(name, text)` to every string; the keys of `SIDES` beside a `field` go by the field's name."""
    if isinstance(value, str):
        return whole(name, value)
    if isinstance(value, dict):
        field = value.get("field")
        names = dict.fromkeys(_FREE, "") | (dict.fromkeys(SIDES, field) if isinstance(field, str) else {})
        return {
            whole("", key): _given(item, names[key], whole) if key in names else _walk(item, key, whole)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        if name == "lines":
            return _lines(value, whole)
        return [_walk(item, name, whole) for item in value]
    return value


def _given(value: object, name: str, whole: Callable[[str, str], str]) -> object:
    """A value that the record names, at any depth: numbers and lists under the name of a secret go by their JSON."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return whole(name, value)
    if is_secret_name(name):
        return whole(name, canonical_value(value))
    if isinstance(value, dict):
        return {whole("", key): _given(item, key, whole) for key, item in value.items()}
    return [_given(item, name, whole) for item in value] if isinstance(value, list | tuple) else value


def _lines(lines: Sequence[dict[str, str]], whole: Callable[[str, str], str]) -> list[dict[str, str]]:
    """Lines of one file, cleaned as one text: a key may span several. Their number stays."""
    cleaned_texts = whole("", "\n".join(line["text"].replace("\n", " ") for line in lines)).split("\n")
    return [line | {"text": text} for line, text in zip(lines, cleaned_texts, strict=True)]


def shared_head(left: str, right: str) -> int:
    """Number of leading characters that both texts share.

    >>> shared_head("return x", "return y")
    7
    """
    for place, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return place
    return min(len(left), len(right))
