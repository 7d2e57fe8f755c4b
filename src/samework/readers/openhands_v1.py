"""OpenHands SDK (1.x): a conversation's events as JSON Lines, as one file each, or with base_state.json beside them.

Rules of this reader. Actions with one `llm_response_id` are one completion, though results may stand between them. The
record holds cumulative counts only: what those of the agent's model grew by since the completion before is the usage of
one, and what they grew by after the last is the last one's. A conversation that goes on has not ended. Token ids come
from the events that a vLLM server leads to. The state of a conversation without its events is no run.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from samework.canon.messages import content_text
from samework.decode.document import read_document
from samework.decode.items import iter_items
from samework.decode.shapes import as_count, as_dict, as_moment, as_name, as_text, as_token_ids, compact
from samework.errors import DamagedRecord, InputError, UnknownFormat
from samework.model.events import Event, ToolCall, Usage
from samework.model.reader import Evidence
from samework.model.records import Damage, ManifestFact, RunEnd, RunStart
from samework.model.words import EndReason, EventKind, FieldSource, RunKind
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_KIND = re.compile(
    rb'"kind"\s*:\s*"(?:MessageEvent|ActionEvent|ObservationEvent|AgentErrorEvent|SystemPromptEvent|Condensation'
    rb'|ConversationStateUpdateEvent|UserRejectObservation|PauseEvent|TokenEvent|CondensationRequest)"'
)
_SOURCE = re.compile(rb'"source"\s*:\s*"(?:agent|user|environment|hook)"')
_STATE = re.compile(rb'"kind"\s*:\s*"Agent"')
_EVENT_FILE = re.compile(r"(?:events/)?event-([0-9]{1,9})-.+\.json")
_BASE = "base_state.json"
_SILENT = frozenset(
    {
        "CondensationRequest", "PauseEvent", "LLMCompletionLogEvent", "HookExecutionEvent", "TokenEvent",
        "ConversationStateUpdateEvent", "ConversationErrorEvent",
    }
)  # fmt: skip
_SAMPLING = ("temperature", "top_p", "top_k", "seed", "max_output_tokens", "reasoning_effort")
_ENDS = {
    "finished": EndReason.FINISHED,
    "error": EndReason.ERROR,
    "stuck": EndReason.LIMIT,
    "paused": EndReason.CANCELLED,
}
_GOING_ON = frozenset({"running", "idle", "waiting_for_confirmation"})
_COUNTS = ("prompt_tokens", "cache_read_tokens", "cache_write_tokens", "completion_tokens", "reasoning_tokens")
_GROWTH = "growth of cumulative counts"


class OpenhandsV1:
    """Reader of conversations of the OpenHands SDK."""

    name = "openhands_v1"
    title = "OpenHands SDK conversation (1.x)"
    detects = "events with `kind`, `source`, `id` and `timestamp`, as lines or as files of a conversation"
    proven = True
    evidence = Evidence(
        tokens="where a vLLM server returns ids",
        text="yes",
        actions="yes",
        raw_arguments="yes",
        observations="yes",
        reuse="growth of cumulative counts",
    )

    def sniff(self, head: bytes, source: Source) -> float:
        """0.9 for events, 0.8 for the state of a conversation."""
        if source.is_dir:
            names = _event_names(source)
            try:
                found = source.child(names[0] if names else _BASE)
            except InputError:
                return 0.0
            head = b"" if found is None else found.head()
        start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        if not start.startswith((b"{", b"[")):
            return 0.0
        if _KIND.search(start) and _SOURCE.search(start):
            return 0.92
        is_state = _STATE.search(start) and b'"workspace"' in start and b'"llm"' in start
        return 0.8 if is_state and start.startswith(b"{") else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield the run.

        Raises: UnknownFormat: the state of a conversation without events. DamagedRecord: no event could be read.
        """
        state: dict[str, object] = {}
        if source.is_dir and (found := source.child(_BASE)) is not None:
            try:
                state = as_dict(read_document(found))
            except InputError as error:
                state = {"": error.message}
        conversation = _Conversation(state)
        first: list[Record] | None = []
        for item in _items(source):
            if not isinstance(item, Damage) and "kind" not in item[1] and "agent" in item[1]:
                raise _no_events(source)
            made = [item] if isinstance(item, Damage) else conversation.add(*item)
            if first is not None:
                first.extend(made)
                if conversation.n_events:
                    yield conversation.start()
                    yield from conversation.facts()
                    yield from first
                    first = None
            else:
                yield from made
        if not conversation.n_events:
            if source.is_dir and not _event_names(source):
                raise _no_events(source)
            reason = next((each.reason for each in first or [] if isinstance(each, Damage)), "no event of OpenHands")
            raise DamagedRecord(reason, place=visible(source.path))
        yield from conversation.finish()


def _no_events(source: Source) -> UnknownFormat:
    return UnknownFormat(
        "the state of an OpenHands conversation without its events",
        place=visible(source.path),
        hint="Ingest the directory that holds base_state.json and events/.",
    )


def _event_names(source: Source) -> list[str]:
    found = [(int(match[1]), name) for name in source.names() if (match := _EVENT_FILE.fullmatch(name))]
    return [name for _, name in sorted(found)]


def _items(source: Source) -> Iterator[tuple[int, dict[str, object]] | Damage]:
    """Events with their offsets (0 in a file of its own)."""
    if not source.is_dir:
        for item in iter_items(source):
            yield item if isinstance(item, Damage) else (item.offset, item.value)
        return
    for name in _event_names(source):
        try:
            found = source.child(name)
            value = None if found is None else read_document(found)
        except InputError as error:
            yield Damage(0, 0, f"{shortened(name, 120)}: {error.message}", code=error.code)
            continue
        yield (0, value) if isinstance(value, dict) else Damage(0, 0, f"{shortened(name, 120)}: no event")


class _Step:
    """A completion that is being put together, and the results that answer it."""

    def __init__(self, reply: str | None, event: dict[str, object], offset: int) -> None:
        self.reply = reply
        self.offset = offset
        self.time = as_moment(event.get("timestamp"))
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.calls: list[ToolCall] = []
        self.usage: Usage | None = None
        self.n_counted = 0
        self.ids: tuple[int, ...] | None = None
        self.prompt_ids: tuple[int, ...] | None = None
        self.results: list[Event] = []

    def events(self) -> Iterator[Event]:
        """The completion, then its results. The prompt has a length where the counts are of one call."""
        yield Event(
            EventKind.COMPLETION,
            "\n".join(self.text),
            reasoning="\n".join(self.reasoning) or None,
            calls=tuple(self.calls),
            usage=self.usage,
            n_prompt_tokens=self.usage.prompt_tokens if self.usage and self.n_counted == 1 else None,
            token_ids=self.ids,
            prompt_token_ids=self.prompt_ids,
            time=self.time,
            offset=self.offset,
        )
        yield from self.results


class _Conversation:
    """State of the conversation that is being read."""

    def __init__(self, state: dict[str, object]) -> None:
        self.state = state
        self.agent = as_dict(state.get("agent"))
        self.step: _Step | None = None
        self.n_events = 0
        self.end = RunEnd()
        self.error: RunEnd | None = None
        self.counted: dict[str, dict[str, int]] = {}
        self.growth: list[Usage] = []
        self.unfit: set[str] = set()
        self.called: set[str] = set()
        self.model: str | None = None

    def start(self) -> RunStart:
        """The start of the run."""
        return RunStart(
            kind=RunKind.CODING,
            layout="openhands",
            agent="openhands",
            model=as_name(as_dict(self.agent.get("llm")).get("model")),
            native_id=as_name(self.state.get("id")),
            recorder="openhands-sdk (unknown version)",
        )

    def facts(self) -> Iterator[Record]:
        """What the state says of the conditions."""
        llm = as_dict(self.agent.get("llm"))
        for name in _SAMPLING:
            if isinstance(llm.get(name), str | int | float):
                yield ManifestFact(f"sampling.{name}", llm[name], FieldSource.DECLARED, where="base_state.agent.llm")
        root = as_text(as_dict(self.state.get("workspace")).get("working_dir"))
        for field, value in (("model.id", as_name(llm.get("model"))), ("workspace.root", root)):
            if value:
                yield ManifestFact(field, value, FieldSource.DECLARED, where=_BASE)
        if isinstance(damage := self.state.get(""), str):
            yield Damage(0, 0, f"{_BASE}: {damage}", taints_run=False)

    def add(self, offset: int, event: dict[str, object]) -> list[Record]:
        """Records of one event."""
        kind, time = as_text(event.get("kind")), as_moment(event.get("timestamp"))
        if kind is None or ("source" not in event and "id" not in event):
            return [Damage(offset, 0, "no event: it has no kind")]
        self.n_events += 1
        if kind == "ActionEvent":
            return list(self._action(event, offset))
        if kind in {"ObservationEvent", "AgentErrorEvent", "UserRejectObservation"}:
            return self._result(kind, event, offset, time)
        if kind in _SILENT:
            self._silent(kind, event)
            return []
        return [*self._flush(), *self._other(kind, event, offset, time)]

    def _silent(self, kind: str, event: dict[str, object]) -> None:
        """Take in what makes no event of its own."""
        if kind == "ConversationStateUpdateEvent":
            self._update(event)
        elif kind == "ConversationErrorEvent":
            self.end = self.error = _error_of(event)
        elif kind == "TokenEvent" and self.step is not None and self.step.ids is None:
            self.step.ids = as_token_ids(event.get("response_token_ids"))
            self.step.prompt_ids = as_token_ids(event.get("prompt_token_ids"))

    def finish(self) -> Iterator[Record]:
        """The last completion, with what was counted after it, and the end."""
        if self.step is not None:
            self._count(self.step)
        yield from self._flush()
        yield from self._uncounted()
        if self.model is not None and not self.agent:
            yield ManifestFact("model.id", self.model, FieldSource.DECLARED, where="stats")
        yield self.end

    def _flush(self) -> list[Record]:
        step, self.step = self.step, None
        return [] if step is None else list(step.events())

    def _opened(self, reply: str | None, event: dict[str, object], offset: int) -> _Step:
        self.step = _Step(reply, event, offset)
        self._count(self.step)
        self._goes_on()
        return self.step

    def _goes_on(self) -> None:
        """The conversation goes on, whatever was said before of its end."""
        self.end, self.error = RunEnd(), None

    def _count(self, step: _Step) -> None:
        """Give a completion what was counted since the one before."""
        step.n_counted += len(self.growth)
        step.usage = _summed([step.usage, *self.growth] if step.usage else self.growth)
        self.growth = []

    def _uncounted(self) -> Iterator[Damage]:
        """Counts that belong to no completion."""
        if (rest := _summed(self.growth)) is not None:
            reason = f"{rest.prompt_tokens} prompt and {rest.completion_tokens} completion tokens after the last reply"
            yield Damage(0, 0, f"{reason} are left out", code="counts-without-call", taints_run=False)
        if self.unfit and not self.counted:
            names = shortened(", ".join(sorted(self.unfit)), 120)
            reason = f"tokens are counted under {names}, and nothing says which is the agent's"
            yield Damage(0, 0, reason, code="counts-without-call", taints_run=False)

    def _action(self, event: dict[str, object], offset: int) -> Iterator[Record]:
        reply = as_name(event.get("llm_response_id"))
        step = self.step
        if step is None or reply is None or step.reply != reply:
            yield from self._flush()
            step = self._opened(reply, event, offset)
        thought = content_text(event.get("thought"))
        step.text += [thought] if thought else []
        reasoning = as_text(event.get("reasoning_content"))
        step.reasoning += [reasoning] if reasoning and reasoning not in step.reasoning else []
        call = as_dict(event.get("tool_call"))
        arguments = call.get("arguments", as_dict(call.get("function")).get("arguments"))
        is_text = isinstance(arguments, str)
        shown = arguments if arguments is not None else event.get("action")
        name = as_text(event.get("tool_name")) or as_text(call.get("name")) or ""
        call_id = as_name(event.get("tool_call_id")) or as_name(call.get("id"))
        self.called |= {each for each in (call_id, as_name(event.get("id"))) if each}
        step.calls.append(ToolCall(name, str(shown) if is_text else compact(shown), call_id, exact=is_text))
        if name == "finish":
            self.end = RunEnd(EndReason.FINISHED, "finish")

    def _result(self, kind: str, event: dict[str, object], offset: int, time: str | None) -> list[Record]:
        observation = as_dict(event.get("observation"))
        if kind == "ObservationEvent":
            text = _shown(observation, event.get("observation"))
        else:
            text = as_text(event.get("error")) or as_text(event.get("rejection_reason")) or ""
        call_id = as_name(event.get("tool_call_id"))
        code = observation.get("exit_code", as_dict(observation.get("metadata")).get("exit_code"))
        status = code if type(code) is int and -(1 << 31) <= code < 1 << 31 else None
        made = Event(EventKind.OBSERVATION, text, call_id=call_id, exit_status=status, time=time, offset=offset)
        if call_id not in self.called and as_name(event.get("action_id")) not in self.called:
            reason = f"a result of the call {shortened(str(call_id), 60)}, which is not in the record"
            return [*self._flush(), Damage(offset, 0, reason, code="missing-call"), made]
        if self.step is not None:
            self.step.results.append(made)
            return []
        return [made]

    def _update(self, event: dict[str, object]) -> None:
        key, value = as_text(event.get("key")), event.get("value")
        if key == "execution_status":
            self._status(as_text(value) or "")
        elif key in {"stats", "full_state"}:
            stats = as_dict(value) if key == "stats" else as_dict(as_dict(value).get("stats"))
            agent = self.agent or as_dict(as_dict(value).get("agent"))
            told = {name: as_dict(each) for name, each in as_dict(stats.get("usage_to_metrics")).items()}
            name = _agents_own(set(told), agent)
            if name is None:
                self.unfit |= {each for each in told if _counts(told[each])}
            else:
                self._grow(name, told[name])

    def _status(self, status: str) -> None:
        if status in _GOING_ON:
            self._goes_on()
        elif (reason := _ENDS.get(status)) is not None:
            self.end = self.error if self.error is not None and reason is EndReason.ERROR else RunEnd(reason, status)

    def _grow(self, name: str, metrics: dict[str, object]) -> None:
        """Remember by how much the counts of the agent's own model grew."""
        self.model = as_name(metrics.get("model_name")) or self.model
        now, before = _counts(metrics), self.counted.get(name, {})
        grown = [now[each] - before.get(each, 0) if each in now else None for each in _COUNTS]
        if now and now != before and all(each is None or each >= 0 for each in grown):
            prompt, cached, written, made, reasoned = grown
            self.growth.append(Usage(prompt, cached, written, made, reasoned, _GROWTH))
        if now:
            self.counted[name] = now

    def _other(self, kind: str, event: dict[str, object], offset: int, time: str | None) -> Iterator[Record]:
        if kind == "SystemPromptEvent":
            prompt = event.get("system_prompt")
            text = as_text(as_dict(prompt).get("text")) or as_text(prompt) or ""
            yield Event(EventKind.SYSTEM, text, time=time, offset=offset)
            if event.get("tools"):
                yield Event(EventKind.TOOLS, compact(event["tools"]), time=time, offset=offset)
        elif kind == "MessageEvent":
            yield from self._message(event, offset, time)
        elif kind.startswith("Condensation"):
            yield Event(EventKind.CONTEXT_EDIT, as_text(event.get("summary")) or "", time=time, offset=offset)
        else:
            reason = f"an event of the unknown kind {shortened(kind, 60)}, kept in the source only"
            yield Damage(offset, 0, reason, code="unknown-record", taints_run=False)

    def _message(self, event: dict[str, object], offset: int, time: str | None) -> Iterator[Record]:
        message = as_dict(event.get("llm_message"))
        added = content_text(event.get("extended_content"))
        text = content_text(message.get("content"))
        if event.get("source") == "agent" or message.get("role") == "assistant":
            step = self._opened(as_name(event.get("llm_response_id")), event, offset)
            step.text.append(text)
            reasoning = as_text(message.get("reasoning_content"))
            step.reasoning += [reasoning] if reasoning else []
            return
        kind = EventKind.SYSTEM if message.get("role") == "system" else EventKind.USER
        self._goes_on()
        yield Event(kind, f"{text}\n{added}" if added else text, time=time, offset=offset)


def _counts(metrics: dict[str, object]) -> dict[str, int]:
    told = as_dict(metrics.get("accumulated_token_usage"))
    return {name: count for name in _COUNTS if (count := as_count(told.get(name))) is not None}


def _agents_own(names: set[str], agent: dict[str, object]) -> str | None:
    """Under which name the agent's model is counted: as the state says, else the only one that no condenser has."""
    if (said := as_name(as_dict(agent.get("llm")).get("usage_id"))) is not None:
        return said if said in names else None
    condenser = as_name(as_dict(as_dict(agent.get("condenser")).get("llm")).get("usage_id"))
    left = {name for name in names if name != condenser and "condenser" not in name}
    if len(left) == 1:
        return left.pop()
    return "default" if "default" in left else None


def _summed(counts: list[Usage]) -> Usage | None:
    """Counts of calls that follow each other as one; a count that one of them does not tell is unknown."""
    if len(counts) <= 1:
        return counts[0] if counts else None
    columns = zip(*([getattr(each, name) for name in _FIELDS] for each in counts), strict=True)
    prompt, cached, written, made, reasoned = (None if None in column else sum(column) for column in columns)
    return Usage(prompt, cached, written, made, reasoned, _GROWTH)


_FIELDS = ("prompt_tokens", "cached_tokens", "cache_write_tokens", "completion_tokens", "reasoning_tokens")


def _error_of(event: dict[str, object]) -> RunEnd:
    """The end that an error of the conversation tells; a number of steps that was used up is a limit."""
    code = as_name(event.get("code")) or "error"
    detail = ": ".join(each for each in (code, as_text(event.get("detail")) or "") if each)
    return RunEnd(EndReason.LIMIT if "MaxIteration" in code else EndReason.ERROR, shortened(detail, 200))


def _shown(observation: dict[str, object], given: object) -> str:
    """What the model saw of a result: its content, or the output of an older one."""
    for name in ("content", "output", "message", "error"):
        value = observation.get(name)
        if isinstance(value, str | list) and value:
            return content_text(value)
    return as_text(given) or (compact(observation) if observation else "")


READER = OpenhandsV1()
