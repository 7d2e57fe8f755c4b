"""Digests of one run, event by event: the chain of its trie, its actions, and the digests of its facets.

`chain_k = sha256(chain_{k-1} | kind | digest)`: equal chains are equal whole prefixes. Event digests are over the
visible, masked content (text, reasoning, canonical calls, exit status, which call a result answers), never over times,
ids of records or usage. One digester reads one run once; memory does not grow with the run.
"""

from __future__ import annotations

import array
import hashlib
import re
import sys
from typing import TYPE_CHECKING

import msgspec

from samework.canon.arguments import RAW, canonical_arguments
from samework.canon.masks import Masker
from samework.canon.rulesets import DEFAULT_RULESETS
from samework.model.records import versioned
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
_HEX = re.compile(r"[0-9a-f]+")
_IDS, _HASH, _SIZED_HASH, _COVERED = b"i", b"h", b"s", b"c"  # what the tokens of a call are known by


class CallDigest(msgspec.Struct, frozen=True, gc=False):
    """Canonical, masked arguments of one call, the digest of (tool, arguments), and that of the text as recorded."""

    canonical: str
    canonical_sha256: bytes
    arguments_sha256: bytes


class EventDigests(msgspec.Struct, frozen=True, gc=False):
    """Digests of one event; names as in the event table. body, reasoning: sha256 of the raw bytes, keys in `body`.

    tokens_sha256, n_tokens, prompt_sha256: None also where what is recorded cannot be all of it. raw: the bytes of the
    text.
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


def _written(calls: Sequence[ToolCall], digests: Sequence[CallDigest]) -> bytes:
    """Calls as the model wrote them, with their length before them."""
    parts = []
    for call, made in zip(calls, digests, strict=True):
        tool = raw_bytes(call.name)
        parts.append(len(tool).to_bytes(4, "little") + tool + made.arguments_sha256)
    written = b"".join(parts)
    return len(written).to_bytes(8, "little") + written


def _whole_ids(event: Event) -> tuple[int, ...] | None:
    """Token ids that can be all of a completion's: not none beside content, nor fewer than were counted."""
    ids, usage = event.token_ids, event.usage
    if ids is None or (not ids and (event.text or event.reasoning or event.calls)):
        return None
    counted = None if usage is None else usage.completion_tokens
    return ids if counted is None or counted <= len(ids) else None


def _hash_of(given: str | None) -> bytes | None:
    """A producer's hash in one spelling, None for text that is none.

    >>> _hash_of("sha256:AB"), _hash_of(""), _hash_of("unknown")
    (b'ab', None, None)
    """
    found = (given or "").strip().lower().removeprefix("sha256:")
    return found.encode() if _HEX.fullmatch(found) else None


class _Pattern:
    """What each call of a run has, a letter for each: runs compare only where these are alike."""

    def __init__(self) -> None:
        self._letters: set[bytes] = set()
        self._all = hashlib.sha256()

    def add(self, letter: bytes) -> None:
        """The letter of the next call."""
        self._letters.add(letter)
        self._all.update(letter)

    @property
    def kind(self) -> bytes:
        """One letter where all calls have it, however many they are, else a digest of all of them in order."""
        return next(iter(self._letters)) if len(self._letters) == 1 else self._all.digest()

    def digest(self) -> bytes:
        """Of all letters in order."""
        return self._all.digest()


class RunDigester:
    """Digests the events of one run in order.

    Args:
        tokenizer: digest of the tokenizer; ids are comparable only where it is known and equal.
        recorder: program and version that wrote the record; parsed text refutes only within one version, counts only
            within one program.
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
        self._prose = hashlib.sha256()
        self._prompt_text = hashlib.sha256()
        self._refuter = hashlib.sha256()
        self._reasoning = hashlib.sha256()
        self._counts = hashlib.sha256()
        self._counted = _Pattern()
        self._hidden = _Pattern()
        self._completion_ids = hashlib.sha256()
        self._completion_kinds = _Pattern()
        self._prompt_ids = hashlib.sha256()
        self._prompt_kinds = _Pattern()
        self._n_uncovered = 0
        self._is_covered = self._context_broken = False
        self._n_ids = self._n_partial = self._n_prompts = self._n_raw = self._n_counts = 0
        self._has_producer_ids = self._has_producer_prompts = False
        self._observation_cut = self._completion_cut = self._calls_cut = False
        self._has_reasoning = self._reasoning_hidden = False

    def add(self, event: Event, answers: tuple[int, int] | None = None) -> EventDigests:
        """Digest the next event.

        Args:
            event: it.
            answers: of an observation, the call that it answers: completions since that call's, and its ordinal there.
        """
        prev, seq = self._chain, self._seq
        calls: tuple[CallDigest, ...] = ()
        action = tokens = prompt = n_tokens = None
        if event.kind is EventKind.COMPLETION:
            self._step += 1
            calls = tuple(self._call(call.name, call.arguments, call.is_json) for call in event.calls)
            action = _sha256(b"".join(call.canonical_sha256 for call in calls)).digest() if calls else None
            ids = _whole_ids(event)
            n_tokens = None if ids is None else len(ids)
            tokens, prompt = self._tokens(event, ids), self._prompt(event)
        raw = raw_bytes(event.text)
        body = _sha256(raw).digest()
        reasoning = None if event.reasoning is None else _sha256(raw_bytes(event.reasoning)).digest()
        if event.kind is EventKind.COMPLETION:
            digest = self._completion(event, body, reasoning, calls, action)
        else:
            digest = self._other(event, body, answers)
        chain = _sha256((prev or b"") + _KIND_NAMES[event.kind] + digest).digest()
        self._chain, self._seq = chain, seq + 1
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
        written = _written(event.calls, calls)
        self._text.update(visible)
        self._prose.update(body)
        if action is not None:
            self._n_calls += len(calls)
            self._actions.update(action)
        self._refuter.update(body + written)
        self._reasoning.update(reasoning or _NO_DIGEST)
        # A later prompt holds this completion as the harness wrote it back, between what came before and after it.
        self._prompt_text.update(_KIND_MARKS[event.kind] + visible + written)
        self._count(event)
        self._n_raw += event.is_raw_text
        self._has_reasoning |= reasoning is not None
        self._reasoning_hidden |= event.reasoning_hidden
        self._hidden.add(b"h" if event.reasoning_hidden else b"-")
        self._completion_cut |= event.truncated_by_recorder
        self._calls_cut |= event.truncated_by_recorder and not event.calls
        return _sha256(visible + (action or _NO_DIGEST)).digest()

    def _count(self, event: Event) -> None:
        usage = event.usage
        for count in (None, None) if usage is None else (usage.completion_tokens, usage.reasoning_tokens):
            self._n_counts += count is not None
            self._counted.add(b"-" if count is None else b"n")
            self._counts.update(f"{count};".encode())

    def _tokens(self, event: Event, ids: tuple[int, ...] | None) -> bytes | None:
        self._n_partial += ids is None and bool(event.token_ids)
        if ids is not None:
            tokens, kind = ids_digest(self._tokenizer, ids), _IDS
        elif (given := _hash_of(event.token_ids_sha256)) is not None:
            tokens, kind = parts_digest(b"producer", given), _HASH
            self._has_producer_ids = True
        else:
            return None
        self._n_ids += 1
        self._completion_ids.update(tokens)
        self._completion_kinds.add(kind)
        return tokens

    def _prompt(self, event: Event) -> bytes | None:
        if event.prompt_token_ids:
            prompt = ids_digest(self._tokenizer, event.prompt_token_ids)
            self._cover(event, prompt, _IDS)
        elif (given := _hash_of(event.prompt_ids_sha256)) is not None:
            prompt, size = parts_digest(b"producer", given), event.n_prompt_tokens
            self._has_producer_prompts = True
            if size is None:
                self._cover(event, prompt, _HASH)
            else:
                self._cover(event, parts_digest(prompt, str(size).encode()), _SIZED_HASH)
        else:
            prompt = None
            self._cover(event, None, _COVERED)
        return prompt

    def _cover(self, event: Event, prompt: bytes | None, kind: bytes) -> None:
        """Weigh the prompt of one call.

        Where the harness continues one raw text, a later recorded prompt holds this one as its first n tokens; a chat
        template gives no such promise.
        """
        if prompt is not None:
            self._n_prompts += 1 + self._n_uncovered
            self._n_uncovered = 0
            self._prompt_ids.update(prompt)
            self._prompt_kinds.add(kind)
        elif event.is_raw_text and event.n_prompt_tokens is not None:
            self._n_uncovered += 1
            self._is_covered = True
            self._prompt_ids.update(parts_digest(b"covered", str(event.n_prompt_tokens).encode()))
            self._prompt_kinds.add(kind)

    def _other(self, event: Event, body: bytes, answers: tuple[int, int] | None) -> bytes:
        before = self._masker.n_masked_bytes
        text = self._masker.mask(event.text)
        masked = body if text is event.text else _sha256(raw_bytes(text)).digest()
        if event.kind in _REWRITES and self._n_uncovered:
            self._context_broken = True
        if event.kind is EventKind.END:
            return masked
        self._prompt_text.update(_KIND_MARKS[event.kind] + body)
        if event.kind is not EventKind.OBSERVATION:
            return masked
        answered = b"/" + (_NONE if answers is None else b"%d.%d" % answers) + b"/"
        self._prompt_text.update(answered)
        self._n_observation_masked += self._masker.n_masked_bytes - before
        self._n_observations += 1
        self._observation_cut |= event.truncated_by_recorder
        status = _NONE if event.exit_status is None else str(event.exit_status).encode()
        digest = _sha256(masked + status + answered).digest()
        self._observations.update(digest)
        return digest

    def facets(self) -> list[FacetDigest]:
        """Digests of the whole run, one per facet; NULL ones carry their reason.

        Whether the run was cut off is not theirs to say: the end reason is weighed when runs are compared.
        """
        return [
            *self._token_facets(),
            *self._text_facets(),
            *self._refuter_facets(),
            self._actions_facet(),
            self._observations_facet(),
        ]

    def _token_facets(self) -> list[FacetDigest]:
        ids_grade = Grade.DIGEST if self._has_producer_ids else Grade.DIRECT
        prompts_grade = Grade.DIGEST if self._has_producer_prompts else Grade.DIRECT
        completion_reason = self._ids_missing(self._n_ids, self._n_partial)
        prompt_reason = "context_edited" if self._context_broken else self._ids_missing(self._n_prompts)
        tokenizer = parts_digest(b"tokenizer", raw_bytes(self._tokenizer or ""))
        prompt = self._prompt_ids.digest() if prompt_reason is None else None
        # What the recorder cut is not what the model saw, so its text can imply no prompt.
        is_cut = self._observation_cut or self._completion_cut
        seen = None if is_cut else self._prompt_text.digest()
        return [
            self._token_facet(
                "completion_tokens",
                self._completion_ids.digest() if completion_reason is None else None,
                parts_digest(tokenizer, self._completion_kinds.kind),
                completion_reason,
                ids_grade if completion_reason is None else Grade.NONE,
            ),
            self._token_facet(
                "prompt_tokens",
                seen if prompt is None else prompt,
                parts_digest(tokenizer, self._prompt_kinds.digest()),
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

    def _ids_missing(self, n_recorded: int, n_partial: int = 0) -> str | None:
        if self._step == 0:
            return "no_completion"
        if n_recorded == self._step:
            return None
        if self._reasoning_hidden:
            return "reasoning_hidden"
        return "token_ids_partly_recorded" if n_recorded or n_partial else "token_ids_unrecorded"

    def _text_facets(self) -> list[FacetDigest]:
        """The text, and, where reasoning is part of it or was kept back, the prose alone."""
        reason = self._words_missing()
        found = [_plain_facet("text", self._text.digest(), b"text", reason, n_parts=self._step)]
        if reason is None and (self._has_reasoning or self._reasoning_hidden):
            hidden = parts_digest(b"prose", self._hidden.digest())
            found.append(_plain_facet("prose", self._prose.digest(), hidden, None, n_parts=self._step))
        return found

    def _words_missing(self) -> str | None:
        """Why the words of all completions are not recorded."""
        return "no_completion" if self._step == 0 else "recorder_truncated" if self._completion_cut else None

    def _refuter_facets(self) -> list[FacetDigest]:
        """What refutes tokens and never confirms them: messages, counts, and, needing no recorder, raw text.

        Reasoning counts only where none was kept back.
        """
        recorder = raw_bytes(self._recorder or "")
        missing = self._words_missing()
        is_raw = self._n_raw == self._step
        level = f"{is_raw}/{self._reasoning_hidden}/{self._step}".encode()
        reasoning = b"" if self._reasoning_hidden else self._reasoning.digest()
        messages = parts_digest(self._refuter.digest(), reasoning)
        reason = missing or (None if versioned(self._recorder) else "recorder_unrecorded")
        found = [self._refuting("refuter", messages, parts_digest(b"refuter", recorder, level), reason)]
        if self._n_counts and self._recorder is not None:
            pattern = parts_digest(b"counts", recorder, self._counted.digest())
            found.append(self._refuting("counts", self._counts.digest(), pattern, None))
        if is_raw and self._tokenizer and missing is None:
            tokenizer = parts_digest(b"raw", raw_bytes(self._tokenizer))
            found.append(self._refuting("raw_text", self._text.digest(), tokenizer, None))
        return found

    def _refuting(self, facet: str, digest: bytes, comparable: bytes, reason: str | None) -> FacetDigest:
        return _plain_facet(facet, digest, comparable, reason, n_parts=self._step, grade=Grade.ASSERTED)

    def _actions_facet(self) -> FacetDigest:
        return _plain_facet(
            "actions",
            self._actions.digest(),
            b"actions",
            self._trajectory_missing(is_cut=self._calls_cut),
            n_parts=self._n_calls,
            n_masked_bytes=self._masker.n_masked_bytes - self._n_observation_masked,
        )

    def _observations_facet(self) -> FacetDigest:
        return _plain_facet(
            "observations",
            self._observations.digest(),
            b"observations",
            self._trajectory_missing(is_cut=self._observation_cut),
            n_parts=self._n_observations,
            n_masked_bytes=self._n_observation_masked,
        )

    def _trajectory_missing(self, *, is_cut: bool) -> str | None:
        return "no_trajectory" if self._seq == 0 else "recorder_truncated" if is_cut else None


def _plain_facet(
    facet: str,
    digest: bytes,
    comparable: bytes,
    reason: str | None,
    *,
    n_parts: int,
    n_masked_bytes: int = 0,
    grade: Grade = Grade.DIRECT,
) -> FacetDigest:
    """A facet with its digest, or with the reason why there is none."""
    known = reason is None
    return FacetDigest(
        facet,
        DEFAULT_RULESETS[facet].id,
        digest if known else None,
        comparable if known else None,
        reason,
        grade if known else Grade.NONE,
        vacuous=n_parts == 0,
        n_parts=n_parts,
        n_masked_bytes=n_masked_bytes,
    )
