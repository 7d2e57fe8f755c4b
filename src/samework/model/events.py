"""Events of a trajectory as readers yield them: frozen records without I/O.

Text is held exactly as the source gives it (lone surrogates included); digests are made elsewhere.
"""

from __future__ import annotations

import msgspec

from samework.model.words import EventKind


class ToolCall(msgspec.Struct, frozen=True, gc=False):
    """One tool call of a completion.

    name: tool name as written. arguments: the argument text, byte for byte where `exact`, else the reader's
    compact JSON of a decoded object (whitespace and number spelling of the model are lost). A shell action
    in free text is `arguments` with `is_json=False`. call_id: the provider's id; links a result, never identity.
    """

    name: str
    arguments: str
    call_id: str | None = None
    exact: bool = True
    is_json: bool = True


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Token counts that a server reported for one model call; None is unrecorded, never zero.

    prompt_tokens includes cached_tokens (readers convert where a provider counts otherwise).
    """

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = None
    source: str = "response"


class Event(msgspec.Struct, frozen=True, tag="event"):
    """One event, in order.

    text: system, user or tool text, prose of a completion, observation as the model saw it, end reason.
    reasoning: visible reasoning of a completion, None where none was recorded. reasoning_hidden: the provider
    kept reasoning back. calls: tool calls of a completion, in order. call_id: for an observation, the call it answers.
    token_ids / prompt_token_ids: engine-emitted ids. *_sha256: a producer's digest of the ids (hex), instead of ids.
    margins: per completion token, top-1 minus top-2, in `margin_unit` ("nats" or "logits").
    top2: per completion token the ids of the two likeliest, likeliest first, None where unrecorded. top2_texts: per
    token of the prose its text and the texts of the two likeliest, where a server names tokens by text alone.
    is_raw_text: `text` is the raw completion, before client parsing. truncated_by_recorder: the record, not the model's
    view, was cut. offset: byte offset of the record in its source. result_recorded: False for a placeholder.
    """

    kind: EventKind
    text: str = ""
    reasoning: str | None = None
    reasoning_hidden: bool = False
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None
    exit_status: int | None = None
    token_ids: tuple[int, ...] | None = None
    prompt_token_ids: tuple[int, ...] | None = None
    token_ids_sha256: str | None = None
    prompt_ids_sha256: str | None = None
    n_prompt_tokens: int | None = None
    margins: tuple[float, ...] | None = None
    margin_unit: str | None = None
    usage: Usage | None = None
    time: str | None = None
    is_raw_text: bool = False
    truncated_by_recorder: bool = False
    offset: int | None = None
    workspace_tree_oid: str | None = None
    top2: tuple[tuple[int, int] | None, ...] | None = None
    top2_texts: tuple[tuple[str, str, str] | None, ...] | None = None
