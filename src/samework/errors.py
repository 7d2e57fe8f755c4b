"""The error tree: every failure a user can meet, with where it is, what it costs and what to do.

SameworkError
├── InputError          bytes or a path that the user gave cannot be used (exit 2)
│   ├── DamagedRecord   one record of a file is not what its format says
│   ├── UnknownFormat   no reader claims the file
│   ├── LimitExceeded   an input is larger or deeper than the declared limit
│   └── GitInputError   a repository, commit, tree or patch cannot be used
├── UsageError          the command line or an argument of the API is wrong (exit 2)
│   └── NotFound        a run, task, arm or store that was named does not exist
├── StoreError          the store is locked, damaged, newer than this program or not a store (exit 2)
│   ├── StoreLocked
│   ├── StoreNewer
│   └── StoreDamaged
└── EvidenceError       the question cannot be answered from what is recorded (exit 3)

`code` is a slug with a paragraph in docs/messages.md.
"""

from __future__ import annotations


class SameworkError(Exception):
    """Root of all errors that samework raises on purpose."""

    code = "error"

    def __init__(
        self,
        message: str,
        *,
        place: str | None = None,
        effect: str | None = None,
        hint: str | None = None,
        code: str | None = None,
    ) -> None:
        """Describe a failure.

        Args:
            message: what is wrong, one sentence, untrusted text already made visible.
            place: file, byte offset or run.
            effect: what the failure costs in evidence.
            hint: a command or step that helps.
            code: slug, where it differs from that of the class.
        """
        super().__init__(message)
        self.message = message
        self.place = place
        self.effect = effect
        self.hint = hint
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        """Three lines at most: where and what, the effect, the hint."""
        first = f"{self.place}: {self.message}" if self.place else self.message
        rest = [f"  {line}" for line in (self.effect, self.hint) if line]
        lines = [first, *rest]
        lines[-1] = f"{lines[-1]}  [{self.code}]"
        return "\n".join(lines)

    def as_dict(self) -> dict[str, str | None]:
        """The same fields for `--json`."""
        return {
            "error": self.code,
            "message": self.message,
            "place": self.place,
            "effect": self.effect,
            "hint": self.hint,
        }


class InputError(SameworkError):
    """Bytes or a path that the user gave cannot be used."""

    code = "bad-input"


class DamagedRecord(InputError):
    """One record of a file is not what its format says."""

    code = "damaged-record"


class UnknownFormat(InputError):
    """No reader claims the file."""

    code = "unknown-format"


class LimitExceeded(InputError):
    """An input is larger or deeper than the declared limit."""

    code = "limit-exceeded"


class GitInputError(InputError):
    """A repository, commit, tree or patch cannot be used; `message` carries Git's own reason."""

    code = "git-input"


class UsageError(SameworkError):
    """The command line or an argument of the API is wrong."""

    code = "usage"


class NotFound(UsageError):
    """A run, task, arm or store that was named does not exist."""

    code = "not-found"


class StoreError(SameworkError):
    """The store cannot be used as it is."""

    code = "store"


class StoreLocked(StoreError):
    """Another process holds the store."""

    code = "store-locked"


class StoreNewer(StoreError):
    """A newer program made the store; this one leaves it alone."""

    code = "store-newer"


class StoreDamaged(StoreError):
    """The store's bytes are not those that were written."""

    code = "store-damaged"


class EvidenceError(SameworkError):
    """The question cannot be answered from what is recorded."""

    code = "undecided"
