"""Digests of one run, event by event: the chain of its trie, its actions, and the digests of its facets.

`chain_k = sha256(chain_{k-1} | kind | digest)`: equal chains are equal whole prefixes. Event digests are over the
visible, masked content (text, reasoning, canonical calls, exit status), never over times, ids of records or usage.
One digester reads one run once; memory does not grow with the run.
"""

from __future__ import annotations

import array
import hashlib
import sys
from typing import TYPE_CHECKING

import msgspec

from samework.canon.arguments import RAW, canonical_arguments
from samework.canon.masks import Masker
from samework.canon.rulesets import DEFAULT_RULESETS
from samework.model.words import EventKind, Grade
from samework.text import raw_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from samework.model.events import Event, ToolCall

_REWRITES = frozenset({EventKind.CONTEXT_EDIT, EventKind.SYSTEM, EventKind.TOOLS})
_KIND_MARKS = {kind: bytes([place]) for place, kind in enumerate(EventKind)}
_KIND_NAMES = {kind: kind.encode() + b"\0" for kind in EventKind}
_sha256 = hashlib.sha256
_NONE = b"\xff"  # never part of UTF-8: a missing part is not an empty one
_NO_DIGEST = _NONE * 32  # in the place of a digest


class CallDigest(msgspec.Struct, frozen=True, gc=False):
    """Canonical, masked arguments of one call, the digest of (tool, arguments), and that of the text as recorded."""

    canonical: str
    canonical_sha256: bytes
    arguments_sha256: bytes


class EventDigests(msgspec.Struct, frozen=True, gc=False):
    """Digests of one event; names as in the event table. body, reasoning: sha256 of the raw bytes, keys in `body`.

    raw: the bytes of the text.
    """

    seq: int
    step: int
    digest: bytes
    prev: bytes | None
    chain: bytes
    action_sha256: bytes | None
    tokens_sha256: bytes | None
    n_tokens: int | None
    prompt_sha256: bytes | None
    calls: tuple[CallDigest, ...]
    body: bytes | None
    reasoning: bytes | None
    raw: bytes


class FacetDigest(msgspec.Struct, frozen=True):
    """One row of facet_digest, without its run."""

    facet: str
    ruleset_id: bytes
    digest: bytes | None
    comparable: bytes | None
    null_reason: str | None
    grade: Grade
    vacuous: bool = False
    n_parts: int = 0
    n_masked_bytes: int = 0


def parts_digest(*parts: bytes) -> bytes:
    """sha256 over parts, each with its length before it, so that no two splits collide.

    >>> parts_digest(b"ab", b"c") == parts_digest(b"a", b"bc")
    False
    """
    made = hashlib.sha256()
    for part in parts:
        made.update(len(part).to_bytes(8, "little"))
        made.update(part)
    return made.digest()


def ids_digest(tokenizer: str | None, ids: Sequence[int]) -> bytes:
    """Digest of one call's token ids: (tokenizer, ids as int32 little-endian)."""
    return parts_digest(raw_bytes(tokenizer or ""), ids_bytes(ids))


def ids_bytes(ids: Sequence[int]) -> bytes:
    """Token ids as int32 little-endian.

    Raises:
        OverflowError: an id that is no int32.
    """
    made = array.array("i", ids)
    if sys.byteorder == "big":
        made.byteswap()
    return made.tobytes()


def _written(call: ToolCall, made: CallDigest) -> bytes:
    tool = raw_bytes(call.name)
    return len(tool).to_bytes(4, "little") + tool + made.arguments_sha256


class RunDigester:
    """Digests the events of one run in order.

    Args:
        tokenizer: digest of the tokenizer; ids are comparable only where it is known and equal.
        recorder: program and version that wrote the record; parsed text refutes only within one recorder.
        workspaces: exact roots of the run's workspace, masked as `<WS>`.
    """

    def __init__(
        self, *, tokenizer: str | None = None, recorder: str | None = None, workspaces: tuple[str, ...] = ()
    ) -> None:
        self._tokenizer = tokenizer
        self._recorder = recorder
        self._masker = Masker(workspaces)
        self._chain: bytes | None = None
        self._seq = self._step = self._n_calls = self._n_observations = 0
        self._n_observation_masked = 0
        self._actions = hashlib.sha256()
        self._observations = hashlib.sha256()
        self._text = hashlib.sha256()
        self._prompt_text = hashlib.sha256()
        self._refuter = hashlib.sha256()
        self._completion_ids = hashlib.sha256()
        self._prompt_ids = hashlib.sha256()
        self._prompt_pattern = hashlib.sha256()
        self._n_uncovered = 0
        self._is_covered = self._context_broken = False
        self._n_ids = self._n_prompts = self._n_raw = self._n_usage = 0
        self._has_producer_ids = self._has_producer_prompts = False
        self._recorder_cut = self._reasoning_hidden = False

    def add(self, event: Event) -> EventDigests:
        """Digest the next event."""
        prev, seq = self._chain, self._seq
        calls: tuple[CallDigest, ...] = ()
        action = tokens = prompt = None
        if event.kind is EventKind.COMPLETION:
            self._step += 1
            calls = tuple(self._call(call.name, call.arguments, call.is_json) for call in event.calls)
            action = _sha256(b"".join(call.canonical_sha256 for call in calls)).digest() if calls else None
            tokens, prompt = self._ids(event)
        raw = raw_bytes(event.text)
        body = _sha256(raw).digest()
        reasoning = None if event.reasoning is None else _sha256(raw_bytes(event.reasoning)).digest()
        if event.kind is EventKind.COMPLETION:
            digest = self._completion(event, body, reasoning, calls, action)
        else:
            digest = self._other(event, body)
        chain = _sha256((prev or b"") + _KIND_NAMES[event.kind] + digest).digest()
        self._chain, self._seq = chain, seq + 1
        n_tokens = len(event.token_ids) if event.token_ids is not None else None
        return EventDigests(
            seq,
            self._step,
            digest,
            prev,
            chain,
            action,
            tokens,
            n_tokens,
            prompt,
            calls,
            body if raw else None,
            reasoning,
            raw,
        )

    def _call(self, name: str, arguments: str, is_json: bool) -> CallDigest:
        canonical = self._masker.mask(canonical_arguments(arguments) if is_json else RAW + arguments)
        tool = raw_bytes(name)
        called = len(tool).to_bytes(4, "little") + tool + raw_bytes(canonical)
        return CallDigest(canonical, _sha256(called).digest(), _sha256(raw_bytes(arguments)).digest())

    def _completion(
        self,
        event: Event,
        body: bytes,
        reasoning: bytes | None,
        calls: tuple[CallDigest, ...],
        action: bytes | None,
    ) -> bytes:
        visible = body + (reasoning or _NO_DIGEST)
        self._text.update(visible)
        if action is not None:
            self._n_calls += len(calls)
            self._actions.update(action)
        written = b"".join([_written(call, made) for call, made in zip(event.calls, calls, strict=True)])
        self._refuter.update(len(written).to_bytes(8, "little") + visible + written)
        self._usage(event)
        self._n_raw += event.is_raw_text
        self._reasoning_hidden |= event.reasoning_hidden
        return _sha256(visible + (action or _NO_DIGEST)).digest()

    def _usage(self, event: Event) -> None:
        usage = event.usage
        if usage is not None and usage.completion_tokens is not None:
            self._n_usage += 1
            self._refuter.update(f"{usage.completion_tokens}/{usage.reasoning_tokens}".encode())

    def _ids(self, event: Event) -> tuple[bytes | None, bytes | None]:
        tokens = prompt = None
        if event.token_ids is not None:
            tokens = ids_digest(self._tokenizer, event.token_ids)
        elif event.token_ids_sha256 is not None:
            tokens = parts_digest(b"producer", event.token_ids_sha256.lower().encode())
            self._has_producer_ids = True
        if tokens is not None:
            self._n_ids += 1
            self._completion_ids.update(tokens)
        if event.prompt_token_ids is not None:
            prompt = ids_digest(self._tokenizer, event.prompt_token_ids)
        elif event.prompt_ids_sha256 is not None:
            size = "" if event.n_prompt_tokens is None else str(event.n_prompt_tokens)
            prompt = parts_digest(b"producer", event.prompt_ids_sha256.lower().encode(), size.encode())
            self._has_producer_prompts = True
        self._cover(event, prompt)
        return tokens, prompt

    def _cover(self, event: Event, prompt: bytes | None) -> None:
        """Weigh the prompt of one call.

        Where the harness continues one raw text, a later recorded prompt holds this one as its first n tokens; a chat
        template gives no such promise.
        """
        if prompt is not None:
            self._n_prompts += 1 + self._n_uncovered
            self._n_uncovered = 0
            self._prompt_ids.update(prompt)
            self._prompt_pattern.update(b"r")
        elif event.is_raw_text and event.n_prompt_tokens is not None:
            self._n_uncovered += 1
            self._is_covered = True
            self._prompt_ids.update(parts_digest(b"covered", str(event.n_prompt_tokens).encode()))
            self._prompt_pattern.update(b"c")

    def _other(self, event: Event, body: bytes) -> bytes:
        before = self._masker.n_masked_bytes
        text = self._masker.mask(event.text)
        masked = body if text is event.text else _sha256(raw_bytes(text)).digest()
        if event.kind in _REWRITES and self._n_uncovered:
            self._context_broken = True
        if event.kind is not EventKind.END:
            self._prompt_text.update(_KIND_MARKS[event.kind] + body)
        if event.kind is not EventKind.OBSERVATION:
            return masked
        self._n_observation_masked += self._masker.n_masked_bytes - before
        self._n_observations += 1
        self._recorder_cut |= event.truncated_by_recorder
        status = _NONE if event.exit_status is None else str(event.exit_status).encode()
        digest = _sha256(masked + status).digest()
        self._observations.update(digest)
        return digest

    def facets(self) -> list[FacetDigest]:
        """Digests of the whole run, one per facet; NULL ones carry their reason.

        Whether the run was cut off is not theirs to say: the end reason is weighed when runs are compared.
        """
        return [
            *self._token_facets(),
            self._text_facet(),
            self._refuter_facet(),
            self._actions_facet(),
            self._observations_facet(),
        ]

    def _token_facets(self) -> list[FacetDigest]:
        ids_grade = Grade.DIGEST if self._has_producer_ids else Grade.DIRECT
        prompts_grade = Grade.DIGEST if self._has_producer_prompts else Grade.DIRECT
        completion_reason = self._ids_missing(self._n_ids)
        prompt_reason = "context_edited" if self._context_broken else self._ids_missing(self._n_prompts)
        tokenizer = parts_digest(b"tokenizer", raw_bytes(self._tokenizer or ""))
        pattern = parts_digest(tokenizer, self._prompt_pattern.digest())
        prompt = self._prompt_ids.digest() if prompt_reason is None else None
        # What the recorder cut is not what the model saw, so its text can imply no prompt.
        seen = None if self._recorder_cut else self._prompt_text.digest()
        return [
            self._token_facet(
                "completion_tokens",
                self._completion_ids.digest() if completion_reason is None else None,
                tokenizer,
                completion_reason,
                ids_grade if completion_reason is None else Grade.NONE,
            ),
            self._token_facet(
                "prompt_tokens",
                seen if prompt is None else prompt,
                pattern,
                prompt_reason,
                Grade.IMPLIED if prompt is None or self._is_covered else prompts_grade,
            ),
        ]

    def _token_facet(
        self, facet: str, digest: bytes | None, comparable: bytes, reason: str | None, grade: Grade
    ) -> FacetDigest:
        reason = reason or (None if self._tokenizer else "tokenizer")
        return FacetDigest(
            facet,
            DEFAULT_RULESETS["tokens"].id,
            digest,
            comparable if reason is None else None,
            reason,
            grade,
            vacuous=self._step == 0,
            n_parts=self._step,
        )

    def _ids_missing(self, n_recorded: int) -> str | None:
        if self._step == 0:
            return "no_completion"
        if n_recorded == self._step:
            return None
        if self._reasoning_hidden:
            return "reasoning_hidden"
        return "token_ids_unrecorded" if n_recorded == 0 else "token_ids_partly_recorded"

    def _text_facet(self) -> FacetDigest:
        known = self._step > 0
        return FacetDigest(
            "text",
            DEFAULT_RULESETS["text"].id,
            self._text.digest() if known else None,
            b"text" if known else None,
            None if known else "no_completion",
            Grade.DIRECT if known else Grade.NONE,
            vacuous=not known,
            n_parts=self._step,
        )

    def _refuter_facet(self) -> FacetDigest:
        known = self._step > 0 and self._recorder is not None
        level = f"{self._n_raw == self._step}/{self._n_usage}/{self._step}"
        return FacetDigest(
            "refuter",
            DEFAULT_RULESETS["refuter"].id,
            self._refuter.digest() if known else None,
            parts_digest(b"refuter", raw_bytes(self._recorder or ""), level.encode()) if known else None,
            None if known else ("no_completion" if self._step == 0 else "recorder_unrecorded"),
            Grade.ASSERTED if known else Grade.NONE,
            n_parts=self._step,
        )

    def _actions_facet(self) -> FacetDigest:
        known = self._seq > 0
        return FacetDigest(
            "actions",
            DEFAULT_RULESETS["actions"].id,
            self._actions.digest() if known else None,
            b"actions" if known else None,
            None if known else "no_trajectory",
            Grade.DIRECT if known else Grade.NONE,
            vacuous=self._n_calls == 0,
            n_parts=self._n_calls,
            n_masked_bytes=self._masker.n_masked_bytes - self._n_observation_masked,
        )

    def _observations_facet(self) -> FacetDigest:
        reason = "no_trajectory" if self._seq == 0 else "recorder_truncated" if self._recorder_cut else None
        known = reason is None
        return FacetDigest(
            "observations",
            DEFAULT_RULESETS["observations"].id,
            self._observations.digest() if known else None,
            b"observations" if known else None,
            reason,
            Grade.DIRECT if known else Grade.NONE,
            vacuous=self._n_observations == 0,
            n_parts=self._n_observations,
            n_masked_bytes=self._n_observation_masked,
        )
