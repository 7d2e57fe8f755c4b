"""Token ids, margins and reuse as the engines add them to their replies: vLLM, SGLang, llama.cpp.

vLLM (`return_token_ids`): `prompt_token_ids`, `token_ids`; with `return_tokens_as_token_ids` the tokens of logprobs are
`token_id:N`. SGLang: `meta_info` with `output_token_logprobs` as [logprob, id, text] and `cached_tokens`. llama.cpp:
`__verbose.tokens`, and `timings.cache_n`, the tokens of the prompt that were reused; `tokens_cached` is how full the
slot was afterwards and says nothing of reuse. What an engine left out stays unknown, never zero.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from samework.decode.shapes import MAX_TOKEN_ID, as_count, as_dict, as_dicts, as_list, as_number, as_text, as_token_ids
from samework.model.events import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMED_ID = re.compile(r"token_id:(\d{1,10})")
_TWO = 2
_MAX_BYTE = 255


def completion_ids(choice: dict[str, object], reply: dict[str, object]) -> tuple[int, ...] | None:
    """Ids of a reply's tokens, from whichever place its engine puts them."""
    meta = as_dict(choice.get("meta_info")) or as_dict(reply.get("meta_info"))
    verbose = as_dict(reply.get("__verbose"))
    places = (
        choice.get("token_ids"), choice.get("output_ids"), meta.get("output_ids"), verbose.get("tokens"),
        _ranked_ids(meta.get("output_token_logprobs")), _named_ids(choice.get("logprobs")),
    )  # fmt: skip
    return next((found for place in places if (found := as_token_ids(place)) is not None), None)


def prompt_ids(choice: dict[str, object], reply: dict[str, object]) -> tuple[int, ...] | None:
    """Ids of the prompt's tokens."""
    meta = as_dict(choice.get("meta_info")) or as_dict(reply.get("meta_info"))
    places = (reply.get("prompt_token_ids"), choice.get("prompt_token_ids"), meta.get("prompt_token_ids"))
    return next((found for place in places if (found := as_token_ids(place)) is not None), None)


def _ranked_ids(given: object) -> list[object] | None:
    """Ids out of SGLang's [logprob, id, text]."""
    rows = as_list(given)
    return [row[1] if isinstance(row, list) and len(row) >= _TWO else None for row in rows] or None


def _named_ids(logprobs: object) -> list[object] | None:
    """Ids out of tokens that are named `token_id:N`; None where one is not."""
    found: list[object] = []
    for token in as_dicts(as_dict(logprobs).get("content")):
        named = _NAMED_ID.fullmatch(as_text(token.get("token")) or "")
        if named is None:
            return None
        found.append(int(named[1]))
    return found or None


def with_reuse(usage: Usage | None, choice: dict[str, object], reply: dict[str, object]) -> Usage | None:
    """Usage with what the engine says of reuse beside it, where the usage does not."""
    timings = as_dict(reply.get("timings"))
    meta = as_dict(choice.get("meta_info")) or as_dict(reply.get("meta_info"))
    reused, computed = as_count(timings.get("cache_n")), as_count(timings.get("prompt_n"))
    cached = reused if reused is not None else as_count(meta.get("cached_tokens"))
    prompt = reused + computed if reused is not None and computed is not None else as_count(meta.get("prompt_tokens"))
    made = as_count(timings.get("predicted_n"))
    made = as_count(meta.get("completion_tokens")) if made is None else made
    if usage is None:
        return None if cached is None and prompt is None and made is None else Usage(prompt, cached, None, made)
    return Usage(
        prompt_tokens=prompt if usage.prompt_tokens is None else usage.prompt_tokens,
        cached_tokens=cached if usage.cached_tokens is None else usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        completion_tokens=made if usage.completion_tokens is None else usage.completion_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        source=usage.source,
    )


def ranked(
    tokens: Sequence[dict[str, object]],
) -> tuple[tuple[float, ...] | None, tuple[tuple[int, int] | None, ...] | None]:
    """Margins in nats and the ids of the two likeliest, for tokens that list their rivals with ids.

    None for the margins unless every token has two rivals; None for the pairs unless one token has.
    """
    if not tokens:
        return None, None
    margins: list[float | None] = []
    pairs: list[tuple[int, int] | None] = []
    for token in tokens:
        gap, likeliest = _two_likeliest(token)
        first, second = map(_id_of, likeliest) if likeliest else (None, None)
        margins.append(gap)
        pairs.append(None if first is None or second is None else (first, second))
    known = [gap for gap in margins if gap is not None]
    return (
        tuple(known) if known and len(known) == len(tokens) else None,
        tuple(pairs) if any(pair is not None for pair in pairs) else None,
    )


def ranked_texts(
    logprobs: object,
) -> tuple[tuple[float, ...] | None, tuple[tuple[str, str, str] | None, ...] | None]:
    """Margins in nats, and each token's text with those of the two likeliest, where the server gives no ids.

    Both None unless every token of `content` has two rivals; a token one of whose texts lacks is None.
    """
    margins: list[float] = []
    texts: list[tuple[str, str, str] | None] = []
    for token in map(as_dict, as_list(as_dict(logprobs).get("content"))):
        gap, likeliest = _two_likeliest(token)
        if gap is None:
            return None, None
        margins.append(gap)
        own, first, second = map(_text_of, (token, *likeliest))
        texts.append(None if own is None or first is None or second is None else (own, first, second))
    return (tuple(margins), tuple(texts)) if margins else (None, None)


def _two_likeliest(token: dict[str, object]) -> tuple[float | None, list[dict[str, object]]]:
    """Top-1 minus top-2, nats, and the two; none of them where fewer are rated."""
    tops = [(as_number(top.get("logprob")), top) for top in as_dicts(token.get("top_logprobs"))]
    rated = sorted(((float(rate), top) for rate, top in tops if rate is not None), key=lambda one: -one[0])[:_TWO]
    if len(rated) < _TWO:
        return None, []
    gap = rated[0][0] - rated[1][0]
    return gap if math.isfinite(gap) else None, [top for _, top in rated]


def _text_of(token: dict[str, object]) -> str | None:
    """Text of a token, from its bytes where they are given: a part of a character has no text of its own."""
    raw = token.get("bytes")
    if isinstance(raw, list) and raw and all(type(one) is int and 0 <= one <= _MAX_BYTE for one in raw):
        return bytes(raw).decode("utf-8", "backslashreplace")
    return as_text(token.get("token"))


def _id_of(top: dict[str, object]) -> int | None:
    named = _NAMED_ID.fullmatch(as_text(top.get("token")) or "")
    found = as_count(top.get("id")) if named is None else int(named[1])
    return found if found is not None and found <= MAX_TOKEN_ID else None
