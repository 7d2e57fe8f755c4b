"""What the user says about sources, beyond what they say themselves. Refuses nothing; names only."""

from __future__ import annotations

import hashlib
from typing import Protocol

import msgspec

from samework.canon.arguments import canonical_value
from samework.text import storable_id

FIELDS = ("task", "arm", "repeat", "suite", "env")
BATCH_BYTES = 32 * 1024 * 1024


class IngestSettings(msgspec.Struct, frozen=True):
    """Settings of one ingest.

    format: reader to use instead of detection. task / arm / repeat / suite / env: instead of what sources record.
    layout: pattern whose fields are taken from paths. jobs: processes that read, beside the one that stores.
    batch_bytes: small sources are grouped into transactions of about this size; a larger source has its own.
    """

    format: str | None = None
    task: str | None = None
    arm: str | None = None
    repeat: str | None = None
    suite: str | None = None
    env: str | None = None
    layout: str | None = None
    jobs: int = 1
    batch_bytes: int = BATCH_BYTES

    def given(self, fields: dict[str, str] | None = None) -> Given:
        """Settings of one source: fields of its path, under what the user gave by name."""
        values = {name: (fields or {}).get(name) for name in FIELDS}
        values.update({name: value for name in FIELDS if (value := getattr(self, name)) is not None})
        return Given.of(**values)


class Given(msgspec.Struct, frozen=True):
    """What was given for one source. None: nothing was."""

    task: str | None = None
    arm: str | None = None
    repeat: str | None = None
    suite: str | None = None
    env: str | None = None

    @classmethod
    def of(cls, **values: str | None) -> Given:
        r"""The same of names and words of a command line, which may be bytes that are no UTF-8: these are spelled out.

        Two names that differ stay two; U+FFFD in the place of such bytes would make one task of them.

        >>> Given.of(task="a\udcff").task
        'a\\udcff'
        """
        return cls(**{name: value and storable_id(value) for name, value in values.items()})

    @property
    def text(self) -> str:
        """Canonical JSON of what was given."""
        return canonical_value({name: value for name in FIELDS if (value := getattr(self, name)) is not None})

    @property
    def sha256(self) -> bytes:
        """Identity of the settings: 32 bytes.

        >>> Given().sha256.hex()[:8]
        '44136fa3'
        """
        return hashlib.sha256(self.text.encode()).digest()


class Progress(Protocol):
    """Called now and then: bytes done, bytes in all, what is being read (visible text)."""

    def __call__(self, done_bytes: int, total_bytes: int, label: str) -> object:
        """Tell how far it is."""
        ...
