"""What helps where a source is refused, by the slug of its error: one sentence for those that carry none."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from samework.errors import InputError

_AGAIN = "the same command takes it up again; what was read beside it is stored."
_ADVICE = {
    "bad-input": f"See that it is whole and may be read, then {_AGAIN}",
    "bad-run-json": f"Mend run.json (schema/run.schema.json lists its keys), then {_AGAIN}",
    "changed-while-read": f"When its writer is done, {_AGAIN}",
    "damaged-record": f"Mend it, or fetch it again, then {_AGAIN}",
    "incomplete-archive": f"Wait until it is written, or copy it again, then {_AGAIN}",
    "limit-exceeded": "It is beyond what samework reads of one input. Split it, or leave out what no run needs.",
    "no-such-path": f"See how the path is spelled, then {_AGAIN}",
    "run-id-taken": "Give the run another run_id in run.json, or none.",
    "unsafe-name": "Names stay inside the directory or archive that holds them: move the file there, and rename it.",
    "xml-dtd": "Write the report without a document type; no test runner needs one.",
}


def advice(error: InputError) -> str | None:
    """The error's own hint, else what is known to help with errors of its kind.

    >>> from samework.errors import InputError
    >>> advice(InputError("x", hint="Say please."))
    'Say please.'
    """
    return error.hint or _ADVICE.get(error.code)
