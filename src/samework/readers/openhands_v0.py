"""OpenHands before 1.0: an instance a line of output.jsonl, the resolver's lines, or the event pages of a session.

Rules of this reader. Actions that came from one reply of the model are one completion, with the reply's own text and
arguments; an older record without replies gives an action each, with its arguments decoded. A result answers the action
that it names as its cause, since call ids repeat within a run. What the harness recalls or condenses is an edit of the
context. The resolver's `success` is a model's judgement, kept as an outcome under that name.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from typing import TYPE_CHECKING

from samework.canon.messages import content_text
from samework.decode.document import read_document
from samework.decode.items import iter_items
from samework.decode.shapes import as_count, as_dict, as_dicts, as_list, as_moment, as_name, as_text, compact
from samework.errors import DamagedRecord, InputError
from samework.model.events import Event, ToolCall, Usage
from samework.model.reader import Evidence
from samework.model.records import Damage, ManifestFact, OutcomeRecord, PatchRecord, RunEnd, RunStart
from samework.model.words import EndReason, EventKind, FieldSource, RunKind
from samework.text import raw_bytes, shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_PAGE = re.compile(r"([0-9]{1,9})\.json")
_SWE_BENCH = re.compile(r"[\w.-]+__[\w.-]+-[0-9]+")
_HEAD_BYTES = 65536
_UNKNOWN_VERSION = "openhands (unknown version)"
_SAMPLING = ("temperature", "top_p", "top_k", "seed", "max_output_tokens", "reasoning_effort")
_SILENT = frozenset({"recall", "change_agent_state", "null", "pause", "resume", "loop_recovery"})
_SILENT_RESULTS = frozenset({"agent_state_changed", "null"})
_NOT_ARGUMENTS = frozenset(
    {
        "thought", "is_confirmed", "confirmation_state", "keep_prompt", "action", "action_risk", "id", "timestamp",
        "source", "message", "tool_call_metadata", "llm_metrics", "security_risk", "hidden", "blocking", "is_input",
        "args", "timeout", "wait_for_response", "image_urls", "file_urls",
    }
)  # fmt: skip


class OpenhandsV0:
    """Reader of OpenHands 0.x."""

    name = "openhands_v0"
    title = "OpenHands 0.x output.jsonl, resolver output, session events"
    detects = "lines with `history` of actions and observations, or numbered pages of such events"
    proven = True
    evidence = Evidence(
        text="yes",
        actions="yes",
        raw_arguments="where the model's replies are kept",
        observations="yes",
        reuse="cached tokens of each call",
        base_commit="yes",
        patch="yes",
        outcome="resolved or success",
    )

    def sniff(self, head: bytes, source: Source) -> float:
        """0.9 for a line of an evaluation or of the resolver, or pages of events."""
        if source.is_dir:
            return _sniffed_pages(source)
        start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        if not start.startswith((b"{", b"[")):
            return 0.0
        keys = {key for key in _MARKS if _MARKS[key].search(start)}
        if {"instance_id", "test_result", "agent_class"} <= keys or {"issue_type", "git_patch", "instruction"} <= keys:
            return 0.9
        if {"instance_id", "history", "event"} <= keys or {"issue", "git_patch", "history"} <= keys:
            return 0.9
        return 0.85 if start.startswith(b"[") and {"event", "source", "cause"} <= keys else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield a run an instance, or the one of a session.

        Raises: DamagedRecord: neither. InputError: it cannot be opened.
        """
        if source.is_dir:
            yield from _session(source)
            return
        n_runs, first, loose = 0, None, []
        for item in iter_items(source):
            if isinstance(item, Damage):
                first = first or item
                yield _between(item)
            elif "history" in item.value or "test_result" in item.value or "git_patch" in item.value:
                n_runs += 1
                yield from _instance(item.value, item.offset)
            elif "action" in item.value or "observation" in item.value:
                loose.append((item.offset, item.value))
            else:
                yield _between(Damage(item.offset, item.n_bytes, "no instance: it has no history and no result"))
        if loose:
            n_runs += 1
            yield RunStart(layout="openhands", agent="openhands", recorder=_UNKNOWN_VERSION)
            yield from _History([each for _, each in loose], loose[0][0]).records()
        if not n_runs:
            reason = first.reason if first is not None else "no instance of OpenHands"
            raise DamagedRecord(reason, place=visible(source.path), code=first.code if first else "damaged-record")


_MARKS = {
    "instance_id": re.compile(rb'"instance_id"\s*:'),
    "test_result": re.compile(rb'"test_result"\s*:'),
    "agent_class": re.compile(rb'"agent_class"\s*:'),
    "history": re.compile(rb'"history"\s*:\s*\['),
    "issue": re.compile(rb'"issue"\s*:\s*\{'),
    "issue_type": re.compile(rb'"issue_type"\s*:'),
    "instruction": re.compile(rb'"instruction"\s*:'),
    "git_patch": re.compile(rb'"git_patch"\s*:'),
    "event": re.compile(rb'"(?:action|observation)"\s*:\s*"'),
    "source": re.compile(rb'"source"\s*:\s*"(?:agent|user|environment)"'),
    "cause": re.compile(rb'"(?:cause|args|extras)"\s*:'),
}


def _between(damage: Damage) -> Damage:
    return Damage(damage.offset, damage.n_bytes, damage.reason, code=damage.code, taints_run=False)


def _pages(source: Source) -> list[str]:
    """Pages by number."""
    found = [(int(match[1]), name) for name in source.names() if (match := _PAGE.fullmatch(name))]
    return [name for _, name in sorted(found)]


def _sniffed_pages(source: Source) -> float:
    names = _pages(source)
    if not names or len(names) != len(source.names()):
        return 0.0
    try:
        found = source.child(names[0])
        head = b"" if found is None else found.head(_HEAD_BYTES)
    except InputError:
        return 0.0
    return 0.9 if all(_MARKS[key].search(head) for key in ("event", "source")) else 0.0


def _session(source: Source) -> Iterator[Record]:
    """The run of a session whose events lie in pages."""
    events: list[dict[str, object]] = []
    damage: list[Damage] = []
    for name in _pages(source):
        try:
            found = source.child(name)
            value = None if found is None else read_document(found)
        except InputError as error:
            damage.append(Damage(0, 0, f"{name}: {error.message}", code=error.code))
            continue
        held = as_dicts(value) if isinstance(value, list) else as_dicts([value])
        events += held
        if not held:
            damage.append(Damage(0, 0, f"{name}: no event"))
    if not events:
        raise DamagedRecord("not one event could be read", place=visible(source.path))
    yield RunStart(
        layout="openhands",
        agent="openhands",
        recorder=_UNKNOWN_VERSION,
        started=as_moment(events[0].get("timestamp")),
    )
    yield from damage
    yield from _History(events, None).records()


def _instance(record: dict[str, object], offset: int) -> Iterator[Record]:
    metadata, instance, issue = (as_dict(record.get(name)) for name in ("metadata", "instance", "issue"))
    config, tested = as_dict(metadata.get("llm_config")), as_dict(record.get("test_result"))
    task = as_name(record.get("instance_id")) or as_name(instance.get("instance_id")) or _issue_name(issue)
    base = as_text(record.get("base_commit")) or as_text(instance.get("base_commit"))
    base = base or as_text(as_dict(instance.get("base")).get("sha")) or None
    version = as_name(metadata.get("openhands_version"))
    yield RunStart(
        task=task,
        kind=RunKind.CODING,
        layout="swe-bench" if task is not None and _SWE_BENCH.fullmatch(task) and instance else "openhands",
        agent="/".join(part for part in ("openhands", as_name(metadata.get("agent_class"))) if part),
        agent_version=version,
        model=as_name(config.get("model")),
        recorder=f"openhands {version}" if version else _UNKNOWN_VERSION,
        base_commit=base,
        repo=as_name(instance.get("repo")),
        content_sha256=hashlib.sha256(raw_bytes(compact(record))).hexdigest(),
        extra={"eval_note": metadata["eval_note"]} if as_name(metadata.get("eval_note")) else None,
    )
    for name in _SAMPLING:
        if isinstance(config.get(name), str | int | float):
            yield ManifestFact(f"sampling.{name}", config[name], FieldSource.DECLARED, where="metadata.llm_config")
    if as_name(config.get("model")):
        yield ManifestFact("model.id", config["model"], FieldSource.DECLARED, where="metadata.llm_config.model")
    history = _History(_flat(record.get("history")), offset)
    events = list(history.records())
    if not any(isinstance(each, Event) and each.kind is EventKind.USER for each in events) and record.get(
        "instruction"
    ):
        yield Event(EventKind.USER, content_text(record["instruction"]), offset=offset)
    yield from events[:-1]
    yield _patch(record, tested, base)
    yield from _outcomes(record, tested)
    yield _end(record, history)


def _issue_name(issue: dict[str, object]) -> str | None:
    parts = [as_name(issue.get(name)) for name in ("owner", "repo", "number")]
    return "{}__{}-{}".format(*parts) if all(parts) else None


def _flat(history: object) -> list[dict[str, object]]:
    """Events in order; an older history is a list of pairs of action and result."""
    flat: list[object] = []
    for each in as_list(history):
        flat += each if isinstance(each, list) else [each]
    return as_dicts(flat)


def _patch(record: dict[str, object], tested: dict[str, object], base: str | None) -> PatchRecord:
    given = tested["git_patch"] if "git_patch" in tested else record.get("git_patch")
    if isinstance(given, str):
        return PatchRecord(raw_bytes(given), base_commit=base)
    return PatchRecord(None, base_commit=base, null_reason="no patch is recorded")


def _outcomes(record: dict[str, object], tested: dict[str, object]) -> Iterator[Record]:
    resolved = as_dict(tested.get("report")).get("resolved")
    for name, value in (("resolved", resolved), ("success", record.get("success"))):
        if isinstance(value, bool):
            yield OutcomeRecord(name, value)


def _end(record: dict[str, object], history: _History) -> RunEnd:
    error = as_text(record.get("error"))
    if error:
        is_limit = "maximum" in error.lower() or "budget" in error.lower()
        return RunEnd(EndReason.LIMIT if is_limit else EndReason.ERROR, shortened(error, 200))
    return history.end


class _History:
    """Events of OpenHands to events of a run. end: how the history itself ends.

    to_come: by a reply's id, its calls whose actions have not come; neither ids of replies nor of calls are unique.
    """

    def __init__(self, events: list[dict[str, object]], offset: int | None) -> None:
        self.events = events
        self.offset = offset
        self.end = RunEnd()
        self.has_replies = False
        self.to_come: dict[str, set[str]] = {}
        self.actions_of: dict[tuple[str, str], deque[str]] = {}
        for event in events:
            reply, call_id = _reply_of(event)
            if event.get("action") and reply and call_id:
                self.actions_of.setdefault((reply, call_id), deque()).append(f"e{as_name(event.get('id'))}")

    def records(self) -> Iterator[Record]:
        """Records of all events, then the end."""
        for place, event in enumerate(self.events, 1):
            action, observation = as_text(event.get("action")), as_text(event.get("observation"))
            if action:
                yield from self._action(action, event)
            elif observation:
                yield from self._observation(observation, event)
            else:
                yield Damage(
                    self.offset or 0, 0, f"event {place} is neither action nor observation", code="unknown-record"
                )
        yield self.end

    def _made(self, kind: EventKind, text: str, event: dict[str, object], **more: object) -> Event:
        return Event(kind, text, time=as_moment(event.get("timestamp")), offset=self.offset, **more)  # type: ignore[arg-type]

    def _action(self, action: str, event: dict[str, object]) -> Iterator[Record]:
        given = as_dict(event.get("args")) or event
        if action == "system":
            yield self._made(EventKind.SYSTEM, _said(given, event), event)
            if given.get("tools"):
                yield self._made(EventKind.TOOLS, compact(given["tools"]), event)
        elif action in _SILENT:
            return
        elif action.startswith("condensation"):
            yield self._made(EventKind.CONTEXT_EDIT, as_text(given.get("summary")) or "", event)
        elif action == "message" and (
            event.get("source") == "user" or (event.get("source") is None and not self.has_replies)
        ):
            self.end = RunEnd()
            yield self._made(EventKind.USER, _said(given, event), event)
        else:
            yield from self._completion(action, given, event)
        if action in {"finish", "reject"}:
            self.end = RunEnd(EndReason.FINISHED, action)

    def _completion(self, action: str, given: dict[str, object], event: dict[str, object]) -> Iterator[Record]:
        reply_id, call_id = _reply_of(event)
        to_come = self.to_come.get(reply_id or "", set())
        if call_id in to_come:
            to_come.discard(call_id)
            return  # another action of the same reply
        self.has_replies, self.end = True, RunEnd()
        response = as_dict(as_dict(event.get("tool_call_metadata")).get("model_response"))
        message = as_dict(next(iter(as_dicts(response.get("choices"))), {}).get("message"))
        usage = _usage(response.get("usage"))
        asked = as_dicts(message.get("tool_calls"))
        if reply_id:
            self.to_come[reply_id] = {
                name for call in asked if (name := as_name(call.get("id"))) not in {None, call_id}
            }
        calls = tuple(self._call(call, reply_id or "") for call in asked)
        text = content_text(message.get("content")) if message else ""
        if not message:
            is_said = action == "message"
            text = (
                _said(given, event) if is_said else as_text(given.get("thought")) or as_text(event.get("thought")) or ""
            )
            calls = () if is_said else (_action_call(action, given, event),)
        reasoning = as_text(message.get("reasoning_content"))
        yield self._made(
            EventKind.COMPLETION,
            text,
            event,
            calls=calls,
            usage=usage,
            reasoning=reasoning or None,
            n_prompt_tokens=usage.prompt_tokens if usage else None,
        )

    def _call(self, call: dict[str, object], reply: str) -> ToolCall:
        function, call_id = as_dict(call.get("function")), as_name(call.get("id"))
        arguments = function.get("arguments")
        is_text = isinstance(arguments, str)
        actions = self.actions_of.get((reply, call_id or ""))
        known = actions.popleft() if actions else None
        return ToolCall(
            as_text(function.get("name")) or "",
            str(arguments) if is_text else compact(arguments),
            known or (f"{reply}:{call_id}" if call_id else None),
            exact=is_text,
        )

    def _observation(self, observation: str, event: dict[str, object]) -> Iterator[Record]:
        extras = as_dict(event.get("extras"))
        if observation in _SILENT_RESULTS:
            if extras.get("agent_state") == "error":
                self.end = RunEnd(EndReason.ERROR, shortened(as_text(extras.get("reason")) or "agent_state error", 200))
            return
        text = content_text(event.get("content"))
        if observation == "recall":
            yield self._made(EventKind.CONTEXT_EDIT, text, event)
            return
        cause = as_name(event.get("cause"))
        code = as_dict(extras.get("metadata")).get("exit_code", extras.get("exit_code", event.get("exit_code")))
        status = code if type(code) is int and -(1 << 31) <= code < 1 << 31 else None
        yield self._made(
            EventKind.OBSERVATION, text, event, call_id=f"e{cause}" if cause is not None else None, exit_status=status
        )


def _reply_of(event: dict[str, object]) -> tuple[str | None, str | None]:
    """Ids of the model's reply that an event came from, and of the call in it."""
    told = as_dict(event.get("tool_call_metadata"))
    return as_name(as_dict(told.get("model_response")).get("id")), as_name(told.get("tool_call_id"))


def _said(given: dict[str, object], event: dict[str, object]) -> str:
    return (
        content_text(given.get("content")) or content_text(event.get("content")) or as_text(event.get("message")) or ""
    )


def _action_call(action: str, given: dict[str, object], event: dict[str, object]) -> ToolCall:
    """The call of an action whose reply was not kept."""
    arguments = {name: value for name, value in given.items() if name not in _NOT_ARGUMENTS}
    number = as_name(event.get("id"))
    return ToolCall(action, compact(arguments), None if number is None else f"e{number}", exact=False)


def _usage(given: object) -> Usage | None:
    if not isinstance(given, dict):
        return None
    cached = as_count(as_dict(given.get("prompt_tokens_details")).get("cached_tokens"))
    return Usage(
        as_count(given.get("prompt_tokens")),
        as_count(given.get("cache_read_input_tokens")) if cached is None else cached,
        as_count(given.get("cache_creation_input_tokens")),
        as_count(given.get("completion_tokens")),
        as_count(as_dict(given.get("completion_tokens_details")).get("reasoning_tokens")),
    )


READER = OpenhandsV0()
