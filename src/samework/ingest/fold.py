"""Events of one run to rows: digests, links between calls and results, bodies, usage, token ids.

Memory is flat: rows can be taken at any time, only calls that still wait for their result are held back.
"""

from __future__ import annotations

import array
import sys
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from samework.canon.digester import RunDigester, ids_bytes
from samework.decode.shapes import compact
from samework.model.records import Damage
from samework.model.words import EventKind
from samework.text import raw_bytes, storable

if TYPE_CHECKING:
    from collections.abc import Callable

    from samework.canon.digester import EventDigests
    from samework.ingest.rows import RunRows
    from samework.model.events import Event

_SHOWN_CANONICAL = 4096
_N_REMEMBERED_CALLS = 4096
_NO_ID = -1
_MAX_ID = (1 << 31) - 1


class FoldedTrajectory(msgspec.Struct, frozen=True):
    """A trajectory that has ended. last_chain: after its last event, None where it has none."""

    n_events: int
    n_steps: int
    n_calls: int
    last_chain: bytes | None


_MAX_NUMBER = (1 << 63) - 1


class _CallPlace(NamedTuple):
    """A call: seq of its completion, its ordinal there, and which completion of the run that is, from 1."""

    seq: int
    ordinal: int
    step: int


class TrajectoryFold:
    """Folds the events of one run, in order. rows: what is ready. on_damage: told of what an event cannot hold."""

    def __init__(
        self,
        rows: RunRows,
        on_damage: Callable[[Damage], None],
        *,
        tokenizer: str | None,
        recorder: str | None,
        workspaces: tuple[str, ...],
    ) -> None:
        self._digester = RunDigester(tokenizer=tokenizer, recorder=recorder, workspaces=workspaces)
        self._rows = rows
        self._events = rows.table("event")
        self._calls = rows.table("call")
        self._on_damage = on_damage
        self._waiting: dict[_CallPlace, tuple[object, ...]] = {}
        self._by_id: dict[str, _CallPlace] = {}
        self._unanswered: list[_CallPlace] = []
        self._told: set[str] = set()
        self.n_events = self.n_steps = self.n_calls = 0
        self.last_chain: bytes | None = None

    def add(self, event: Event) -> None:
        """Fold the next event."""
        if event.token_ids is not None or event.prompt_token_ids is not None:
            event = self._checked_ids(event)
        rows, kind = self._rows, event.kind
        call = self._observed(event) if kind is EventKind.OBSERVATION else None
        made = self._digester.add(event, None if call is None else (self.n_steps - call.step, call.ordinal))
        if kind is EventKind.COMPLETION:
            self.n_steps += 1
            self._completion(event, made)
        if made.body is not None:
            rows.body(made.body, made.raw)
        if event.reasoning is not None and made.reasoning is not None:
            rows.body(made.reasoning, raw_bytes(event.reasoning))
        self._events.append(
            (
                made.seq,
                made.step,
                kind.value,
                made.digest,
                made.prev,
                made.chain,
                made.action_sha256,
                made.tokens_sha256,
                made.n_tokens,
                made.prompt_sha256,
                made.body,
                made.reasoning,
                len(made.raw),
                self._held(event.exit_status, event),
                None if call is None else call.seq,
                None if call is None else call.ordinal,
                event.workspace_tree_oid,
                None if event.time is None else storable(event.time),
                event.offset,
            )
        )
        self.n_events += 1
        self.last_chain = made.chain

    def _checked_ids(self, event: Event) -> Event:
        try:
            for ids in (event.token_ids, event.prompt_token_ids):
                ids_bytes(ids or ())
        except (OverflowError, TypeError):
            self._on_damage(Damage(event.offset or 0, 0, "token ids that are no 32-bit integers", code="bad-token-ids"))
            return msgspec.structs.replace(event, token_ids=None, prompt_token_ids=None)
        return event

    def _held(self, number: int | None, event: Event) -> int | None:
        """A number that a column holds; one beyond 64 bits is unrecorded, and a finding."""
        if number is None or -_MAX_NUMBER <= number <= _MAX_NUMBER:
            return number
        reason = "a count beyond 64 bits is left out"
        self._on_damage(Damage(event.offset or 0, 0, reason, code="unusable-field", taints_run=False))
        return None

    def _completion(self, event: Event, made: EventDigests) -> None:
        seq = made.seq
        self._unanswered = []
        for ordinal, (call, digest) in enumerate(zip(event.calls, made.calls, strict=True)):
            place = _CallPlace(seq, ordinal, self.n_steps)
            self._rows.body(digest.arguments_sha256, raw_bytes(call.arguments))
            self._waiting[place] = (
                seq,
                ordinal,
                storable(call.name),
                None if call.call_id is None else storable(call.call_id),
                digest.arguments_sha256,
                storable(digest.canonical[:_SHOWN_CANONICAL]),
                digest.canonical_sha256,
                call.exact,
            )
            self._unanswered.append(place)
            if call.call_id is not None:
                self._by_id[call.call_id] = place
        self.n_calls += len(event.calls)
        usage = event.usage
        if usage is not None:
            self._rows.table("call_usage").append(
                (
                    seq,
                    self._held(usage.prompt_tokens, event),
                    self._held(usage.cached_tokens, event),
                    self._held(usage.cache_write_tokens, event),
                    self._held(usage.completion_tokens, event),
                    self._held(usage.reasoning_tokens, event),
                    usage.source,
                )
            )
        self._tell_unusable(event, made)
        if event.token_ids is not None or event.margins is not None:
            self._rows.table("token").append(
                (
                    seq,
                    None if event.token_ids is None or made.n_tokens is None else ids_bytes(event.token_ids),
                    None if event.margins is None else floats_bytes(event.margins),
                    event.margin_unit if event.margins is not None else None,
                )
            )
        if event.top2 is not None or event.top2_texts is not None:
            self._ranked(event, seq)

    def _tell_unusable(self, event: Event, made: EventDigests) -> None:
        """Tell, once in a run, that recorded ids or a recorded hash of them cannot stand for the tokens of a call."""
        has_ids = event.token_ids is not None
        has_hash = event.token_ids_sha256 is not None
        if (has_ids and made.n_tokens is None) or (has_hash and made.tokens_sha256 is None):
            self._tell_once(
                event, "token ids or their digest cannot be those of the whole completion, and are left out"
            )
        has_prompt = event.prompt_token_ids is not None or event.prompt_ids_sha256 is not None
        if has_prompt and made.prompt_sha256 is None:
            self._tell_once(event, "prompt token ids, or their digest, that hold nothing are left out")

    def _tell_once(self, event: Event, reason: str) -> None:
        if reason not in self._told:
            self._told.add(reason)
            self._on_damage(Damage(event.offset or 0, 0, reason, code="partial-token-ids", taints_run=False))

    def _ranked(self, event: Event, seq: int) -> None:
        """Keep the two likeliest tokens at each place; a list that does not fit the ids cannot be placed."""
        ids = None
        if event.top2 is not None:
            places = [one for pair in event.top2 for one in pair or (_NO_ID, _NO_ID)]
            if event.token_ids is None or len(event.top2) != len(event.token_ids):
                self._on_damage(_unusable_top2(event, "its places are not those of `token_ids`"))
            elif not all(_NO_ID <= one <= _MAX_ID for one in places):
                self._on_damage(_unusable_top2(event, "it names ids that are no token's"))
            else:
                ids = ids_bytes(places)
        texts = None if event.top2_texts is None else storable(compact(event.top2_texts))
        if ids is not None or texts is not None:
            self._rows.table("token_rank").append((seq, ids, texts))

    def _observed(self, event: Event) -> _CallPlace | None:
        """The call that an observation answers: the one with its id, or the oldest open one of the last completion."""
        place: _CallPlace | None
        if event.call_id is not None:
            place = self._by_id.get(event.call_id)
        else:
            place = self._unanswered[0] if self._unanswered else None
        if place is None:
            return None
        if place in self._unanswered:
            self._unanswered.remove(place)
        waiting = self._waiting.pop(place, None)
        if waiting is not None:
            self._calls.append((*waiting, True))
            self._forget_old_ids()
        return place

    def _forget_old_ids(self) -> None:
        """Answered calls are remembered only for a while: a later part of the same result still finds its call."""
        if len(self._by_id) > _N_REMEMBERED_CALLS + 2 * len(self._waiting):
            self._by_id = {name: place for name, place in self._by_id.items() if place in self._waiting}

    def finish(self) -> FoldedTrajectory:
        """Give the calls without a result, and the digests of the facets; returns what the run's own row needs."""
        self._calls.extend((*waiting, False) for waiting in self._waiting.values())
        self._waiting.clear()
        facets = self._rows.table("facet_digest")
        for facet in self._digester.facets():
            facets.append(
                (
                    facet.facet,
                    facet.ruleset_id,
                    facet.digest,
                    facet.comparable,
                    facet.null_reason,
                    facet.grade.value,
                    facet.vacuous,
                    facet.n_parts,
                    facet.n_masked_bytes,
                )
            )
        return FoldedTrajectory(self.n_events, self.n_steps, self.n_calls, self.last_chain)


def _unusable_top2(event: Event, why: str) -> Damage:
    return Damage(event.offset or 0, 0, f"`top2` cannot be used: {why}", code="unusable-field", taints_run=False)


def floats_bytes(values: tuple[float, ...]) -> bytes:
    """Float64, little-endian.

    >>> floats_bytes((1.0,)).hex()
    '000000000000f03f'
    """
    made = array.array("d", values)
    if sys.byteorder == "big":
        made.byteswap()
    return made.tobytes()
