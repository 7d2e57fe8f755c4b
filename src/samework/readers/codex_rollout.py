"""Codex rollouts, current and legacy: what the model said and saw, from response items alone.

Events of the interface repeat the same content and are used for token counts and the end of a turn only. The items of
one model response are one completion: by the counters of the record where it has them, else adjacent items until an
output. Unknown records are counted and reported. Refuses to add a repeated token count or a replayed history's.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from typing import TYPE_CHECKING

from samework.decode.jsonl import Line, iter_records
from samework.model.events import Event, ToolCall, Usage
from samework.model.reader import Evidence
from samework.model.records import Damage, ManifestFact, RunEnd, RunStart
from samework.model.words import Absence, EndReason, EventKind, FieldSource
from samework.text import raw_bytes, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_RECORD_TYPES = (
    "session_meta|response_item|event_msg|turn_context|compacted|world_state|token_usage_record"
    "|inter_agent_communication_metadata"
)
_HEADED = re.compile(rb'"type"\s*:\s*"(?:%s)"' % _RECORD_TYPES.encode())
_LEGACY_META = re.compile(rb'\{"id"\s*:\s*"[^"]+"\s*,\s*"timestamp"\s*:\s*"[^"]*"\s*,\s*"(?:instructions|git)"')
_SILENT = frozenset({"session_meta", "world_state", "inter_agent_communication_metadata"})
_SILENT_ITEMS = frozenset({"ghost_snapshot", "other"})
_VIEWS = frozenset(
    {
        "agent_message", "agent_message_delta", "agent_reasoning", "agent_reasoning_raw_content", "background_event",
        "agent_reasoning_section_break", "collab_agent_interaction_end", "collab_agent_spawn_end", "collab_close_end",
        "collab_waiting_end", "context_compacted", "dynamic_tool_call_request", "dynamic_tool_call_response",
        "entered_review_mode", "exec_command_begin", "exec_command_end", "exited_review_mode", "guardian_assessment",
        "image_generation_end", "item_completed", "item_started", "mcp_tool_call_begin", "mcp_tool_call_end",
        "patch_apply_begin", "patch_apply_end", "plan_update", "shutdown_complete", "stream_error",
        "sub_agent_activity", "thread_goal_updated", "thread_name_updated", "thread_settings_applied", "turn_diff",
        "undo_completed", "undo_started", "user_message", "view_image_tool_call", "warning", "web_search_begin",
        "web_search_end",
    }
)  # fmt: skip
_EXIT = re.compile(r"^(?:Process exited with code|Exit code:) (-?[0-9]+)$", re.MULTILINE)
_OUTPUT_HEADING = re.compile(r"^Output:$", re.MULTILINE)
_UUID7 = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_PRESCAN_RECORDS = 200
_HOSTED = frozenset({"openai", "chatgpt", "openai-chat-completions", "azure"})
_HOSTED_UNOBSERVABLE = (
    "engine.name", "engine.version", "engine.build_sha", "weights.dtype", "kv.dtype", "attention.backend",
    "cache.attention_reuse.enabled", "reset.scope", "concurrency.at_request", "hw.device",
)  # fmt: skip


class CodexRollout:
    """Reader of Codex rollout files."""

    name = "codex_rollout"
    title = "Codex rollout (JSON Lines)"
    detects = "JSON Lines of timestamp, type and payload with a type of Codex, or the older bare items"
    proven = True
    evidence = Evidence(
        text="yes",
        actions="yes",
        raw_arguments="yes",
        observations="yes",
        reuse="cached tokens of each call",
        base_commit="yes",
    )

    def sniff(self, head: bytes, source: Source) -> float:
        """0.95 for a record of a known type with a payload, 0.7 for the older layout."""
        if source.is_dir or not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
            return 0.0
        lines = head.split(b"\n", 20)[:20]
        if any(b'"payload"' in line[:400] and _HEADED.search(line[:400]) for line in lines):
            return 0.95
        is_legacy = _LEGACY_META.search(lines[0][:400]) is not None
        return 0.7 if is_legacy and b'"role"' not in lines[0][:400] else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield one run.

        Raises: InputError: the source cannot be opened.
        """
        identity = _Identity(source)
        yield identity.start()
        yield from identity.facts()
        yield from identity.preamble()
        rollout = _Rollout(identity)
        for item in iter_records(source):
            if isinstance(item, Damage):
                yield item
            else:
                yield from rollout.add(item)
        yield from rollout.finish()


class _Identity:
    """Whose run it is: the first session_meta and the first turn_context, looked for in the first records."""

    def __init__(self, source: Source) -> None:
        self.meta: dict[str, object] = {}
        self.turn: dict[str, object] = {}
        self.is_legacy = False
        self.has_parent_meta = False
        for count, item in enumerate(iter_records(source)):
            if count >= _PRESCAN_RECORDS or (self.meta and self.turn):
                break
            value = item.value if isinstance(item, Line) else None
            if isinstance(value, dict):
                self._look_at(value)

    def _look_at(self, value: dict[str, object]) -> None:
        payload = value.get("payload")
        if value.get("type") == "session_meta" and isinstance(payload, dict):
            self.has_parent_meta = bool(self.meta)
            self.meta = self.meta or payload
        elif value.get("type") == "turn_context" and isinstance(payload, dict):
            self.turn = self.turn or payload
        elif not self.meta and "type" not in value and isinstance(value.get("id"), str) and "timestamp" in value:
            self.meta, self.is_legacy = value, True

    @property
    def parent(self) -> str | None:
        """Id of the session that this one was forked or spawned from."""
        return _text(self.meta.get("forked_from_id")) or _text(self.meta.get("parent_thread_id"))

    @property
    def born_ms(self) -> int | None:
        """Time in the session's id, where the history of another session may come before it."""
        return _uuid7_ms(self.meta.get("id")) if self.parent or self.has_parent_meta else None

    def start(self) -> RunStart:
        """The start of the run; keys that have no field are kept."""
        meta = self.meta
        git = _dict(meta.get("git"))
        kept = ("source", "thread_source", "history_mode", "session_id", "originator")
        extra = {key: meta[key] for key in kept if meta.get(key) is not None}
        return RunStart(
            layout="codex",
            agent="codex",
            agent_version=_text(meta.get("cli_version")),
            model=_text(self.turn.get("model")),
            native_id=_text(meta.get("id")),
            parent_native_id=self.parent,
            recorder=f"codex {_text(meta.get('cli_version')) or '(unknown version)'}",
            base_commit=_text(git.get("commit_hash")),
            repo=_text(git.get("repository_url")),
            started=_text(meta.get("timestamp")),
            extra=extra or None,
        )

    def facts(self) -> Iterator[Record]:
        """What the record says of the conditions."""
        turn, meta = self.turn, self.meta
        settings = _dict(_dict(turn.get("collaboration_mode")).get("settings"))
        effort = turn.get("effort") or turn.get("reasoning_effort") or settings.get("reasoning_effort")
        git = _dict(meta.get("git"))
        measured = (
            ("workspace.root", turn.get("cwd") or meta.get("cwd"), "cwd"),
            ("workspace.base_commit", git.get("commit_hash"), "session_meta.git"),
            ("workspace.branch", git.get("branch"), "session_meta.git"),
            ("harness.name", meta.get("originator"), "session_meta.originator"),
            ("harness.version", meta.get("cli_version"), "session_meta.cli_version"),
            ("harness.approval_policy", turn.get("approval_policy"), "turn_context"),
            ("harness.sandbox_policy", turn.get("sandbox_policy"), "turn_context"),
        )
        declared = (
            ("model.id", turn.get("model"), "turn_context.model"),
            ("model.provider", meta.get("model_provider"), "session_meta.model_provider"),
            ("sampling.reasoning_effort", effort, "turn_context"),
        )
        for facts, source in ((measured, FieldSource.MEASURED), (declared, FieldSource.DECLARED)):
            for field, value, where in facts:
                if value is not None and value != "":
                    yield ManifestFact(field, value, source, where=where)
        if meta.get("model_provider") in _HOSTED:
            for field in _HOSTED_UNOBSERVABLE:
                yield ManifestFact(field, absence=Absence.UNOBSERVABLE, where="session_meta.model_provider")

    def preamble(self) -> Iterator[Record]:
        """Instructions and tools that stand in session_meta."""
        base = self.meta.get("base_instructions", self.meta.get("instructions"))
        text = base.get("text") if isinstance(base, dict) else base
        if isinstance(text, str) and text:
            yield Event(EventKind.SYSTEM, text, time=_text(self.meta.get("timestamp")))
        if self.meta.get("dynamic_tools"):
            yield Event(EventKind.TOOLS, _compact(self.meta["dynamic_tools"]), time=_text(self.meta.get("timestamp")))


class _Step:
    """One completion that is being put together, and the outputs that answer it."""

    def __init__(self, key: str | None, offset: int, time: str | None) -> None:
        self.key = key
        self.offset = offset
        self.time = time
        self.prose: list[str] = []
        self.reasoning: list[str] = []
        self.is_hidden = False
        self.calls: list[ToolCall] = []
        self.usage: Usage | None = None
        self.is_closed = False
        self.outputs: list[Event] = []

    def events(self) -> Iterator[Event]:
        """The completion, then its outputs in the order of the record."""
        yield Event(
            EventKind.COMPLETION,
            "\n".join(self.prose),
            reasoning="\n".join(self.reasoning) if self.reasoning else None,
            reasoning_hidden=self.is_hidden,
            calls=tuple(self.calls),
            usage=self.usage,
            time=self.time,
            offset=self.offset,
        )
        yield from self.outputs


class _Rollout:
    """State of a file that is being read."""

    def __init__(self, identity: _Identity) -> None:
        self.identity = identity
        self.step: _Step | None = None
        self.counts = _TokenCounts()
        self.turn_id: str | None = None
        self.end: RunEnd | None = None
        self.is_live = False
        self.unknown: Counter[str] = Counter()
        self.first_unknown: dict[str, int] = {}
        self.n_replayed = 0
        self.models: list[str] = []

    def add(self, line: Line) -> Iterator[Record]:
        """Records of one line of the file."""
        value = line.value
        if not isinstance(value, dict):
            yield Damage(line.offset, len(line.raw), f"line {line.number}: no object")
            return
        kind, payload, time = value.get("type"), value.get("payload"), _text(value.get("timestamp"))
        if not isinstance(payload, dict):
            yield from self._legacy(value, line)
        elif kind == "response_item":
            yield from self._item(payload, line.offset, time, _dict(value.get("metadata")))
        elif kind == "event_msg":
            yield from self._message(payload, line.offset, time)
        elif kind == "token_usage_record":
            yield from self._usage_record(payload, line.offset, time)
        elif kind == "turn_context":
            self._turn(payload)
        elif kind == "compacted":
            yield from self._flush()
            yield Event(EventKind.CONTEXT_EDIT, _compaction(payload), time=time, offset=line.offset)
        elif kind not in _SILENT:
            self._unknown(str(kind), line.offset)

    def finish(self) -> Iterator[Record]:
        """What is left of the last step, findings on the whole file, and the end of the run."""
        yield from self._flush()
        for word, count in sorted(self.unknown.items()):
            reason = f"{count} records of the unknown type {shortened(word, 60)}, kept in the source only"
            yield Damage(self.first_unknown[word], 0, reason, code="unknown-record", taints_run=False)
        if self.n_replayed:
            parent = shortened(self.identity.parent or "another session", 60)
            reason = f"{self.n_replayed} records replay the history of {parent}; their token counts are not added"
            yield Damage(0, 0, reason, code="replayed-history", taints_run=False)
        if len(self.models) > 1:
            reason = f"the model changed within the run: {shortened(', '.join(self.models), 120)}"
            yield Damage(0, 0, reason, code="model-changed", taints_run=False)
        yield self._end()

    def _end(self) -> RunEnd:
        if self.end is not None and not self.is_live:
            return self.end
        if self.identity.is_legacy:
            return RunEnd(EndReason.UNRECORDED, "this layout records no end")
        return RunEnd(EndReason.LOG_TRUNCATED, "the file ends without task_complete or turn_aborted")

    def _flush(self) -> Iterator[Record]:
        if self.step is not None:
            step, self.step = self.step, None
            yield from step.events()

    def _unknown(self, word: str, offset: int) -> None:
        self.unknown[word] += 1
        self.first_unknown.setdefault(word, offset)

    def _is_replayed(self, turn_id: object) -> bool:
        """True for a record of a turn that is older than the session, which was forked from another."""
        born, made = self.identity.born_ms, _uuid7_ms(turn_id)
        return born is not None and made is not None and made < born

    # one method a record type

    def _legacy(self, value: dict[str, object], line: Line) -> Iterator[Record]:
        if value.get("record_type") == "state":
            return
        if "type" not in value and "id" in value and "timestamp" in value:
            return  # the bare meta line
        if isinstance(value.get("type"), str):
            yield from self._item(value, line.offset, None, {})
        else:
            yield Damage(line.offset, len(line.raw), f"line {line.number}: neither a record of Codex nor a bare item")

    def _turn(self, payload: dict[str, object]) -> None:
        self.turn_id = _text(payload.get("turn_id")) or self.turn_id
        model = _text(payload.get("model"))
        if model is not None and model not in self.models and not self._is_replayed(self.turn_id):
            self.models.append(model)

    def _item(
        self, payload: dict[str, object], offset: int, time: str | None, metadata: dict[str, object]
    ) -> Iterator[Record]:
        passed = _dict(payload.get("internal_chat_message_metadata_passthrough"))
        turn_id = _text(passed.get("turn_id")) or self.turn_id
        self.n_replayed += self._is_replayed(turn_id)
        kind, role = str(payload.get("type")), payload.get("role")
        if kind == "message" and role != "assistant":
            yield from self._flush()
            spoken = EventKind.USER if role == "user" else EventKind.SYSTEM
            yield Event(spoken, _content(payload.get("content")), time=time, offset=offset)
        elif kind == "agent_message":
            yield from self._flush()
            yield Event(EventKind.USER, _content(payload.get("content")), time=time, offset=offset)
        elif kind in {"compaction", "compaction_summary", "context_compaction"}:
            yield from self._flush()
            yield Event(EventKind.CONTEXT_EDIT, _compaction(payload), time=time, offset=offset)
        elif kind.endswith("_output"):
            yield from self._output(payload, offset, time)
        elif kind in {"message", "reasoning"} or kind.endswith("_call"):
            sampled = metadata.get("sampled_through_sequence")
            key = f"{turn_id}/{sampled}" if isinstance(sampled, int) else None
            yield from self._open_step(key, offset, time)
            if not self._fill(kind, payload):
                self._unknown(f"response_item/{kind}", offset)
        elif kind not in _SILENT_ITEMS:
            self._unknown(f"response_item/{kind}", offset)

    def _open_step(self, key: str | None, offset: int, time: str | None) -> Iterator[Record]:
        step = self.step
        if step is not None:
            is_same = step.key == key if step.key and key else not (step.outputs or step.is_closed)
            if is_same:
                return
            yield from self._flush()
        self.step = _Step(key, offset, time)

    def _fill(self, kind: str, payload: dict[str, object]) -> bool:
        """Add an item of the assistant to the open step; False where the kind of call is unknown."""
        step = self.step
        if step is None:
            return False
        if kind == "message":
            step.prose.append(_content(payload.get("content")))
        elif kind == "reasoning":
            shown = _content(payload.get("content")) or _content(payload.get("summary"))
            step.reasoning += [shown] if shown else []
            step.is_hidden = step.is_hidden or bool(payload.get("encrypted_content"))
        else:
            call = _call(kind, payload)
            if call is None:
                return False
            step.calls.append(call)
        return True

    def _output(self, payload: dict[str, object], offset: int, time: str | None) -> Iterator[Record]:
        given = payload.get("output", payload.get("tools"))
        text = _content(given) if not _is_plain_object(given) else _compact(given)
        event = Event(
            EventKind.OBSERVATION,
            text,
            call_id=_text(payload.get("call_id")),
            exit_status=_exit_status(text),
            time=time,
            offset=offset,
        )
        if self.step is None:
            yield event
        else:
            self.step.outputs.append(event)

    def _message(self, payload: dict[str, object], offset: int, time: str | None) -> Iterator[Record]:
        kind = payload.get("type")
        if kind == "token_count":
            yield from self._token_count(payload, offset, time)
        elif kind in {"task_started", "turn_started"}:
            self.turn_id = _text(payload.get("turn_id")) or self.turn_id
            self.is_live, self.end = True, None
            yield from self._flush()
        elif kind in {"task_complete", "turn_complete"}:
            error = payload.get("error")
            self.is_live = False
            self.end = (
                RunEnd(EndReason.ERROR, _compact(error), time) if error else RunEnd(EndReason.FINISHED, kind, time)
            )
        elif kind == "turn_aborted":
            self.is_live = False
            self.end = RunEnd(EndReason.CANCELLED, _text(payload.get("reason")) or kind, time)
        elif kind == "error":
            self.is_live = False
            self.end = RunEnd(EndReason.ERROR, _text(payload.get("message")) or "error", time)
        elif kind == "thread_rolled_back":
            yield from self._flush()
            text = f"the last {payload.get('num_turns')} turns were taken back"
            yield Event(EventKind.CONTEXT_EDIT, text, time=time, offset=offset)
        elif kind not in _VIEWS:
            self._unknown(f"event_msg/{kind}", offset)

    def _usage_record(self, payload: dict[str, object], offset: int, time: str | None) -> Iterator[Record]:
        if self._is_replayed(payload.get("turn_id") or self.turn_id):
            return
        usage = self.counts.add_record(_dict(payload.get("usage")), _dict(payload.get("thread_token_usage")))
        if usage is None:
            self._unknown("token_usage_record without counts", offset)
        else:
            yield from self._attach(usage, offset, time)

    def _token_count(self, payload: dict[str, object], offset: int, time: str | None) -> Iterator[Record]:
        info = payload.get("info")
        if not isinstance(info, dict) or self._is_replayed(self.turn_id):
            return  # limits of the account only
        usage, is_reset, is_known = self.counts.add_count(info)
        if is_reset:
            reason = "the running total of tokens fell; the counts of single calls are used"
            yield Damage(offset, 0, reason, code="usage-reset", taints_run=False)
        if not is_known:
            self._unknown("event_msg/token_count of another shape", offset)
        if usage is not None:
            yield from self._attach(usage, offset, time)

    def _attach(self, usage: Usage, offset: int, time: str | None) -> Iterator[Record]:
        """Give a count to the completion it belongs to, or to one whose content is not in the file."""
        if not usage.prompt_tokens and not usage.completion_tokens:
            return  # no call was made
        if self.step is None or self.step.usage is not None:
            yield from self._flush()
            yield Event(EventKind.COMPLETION, usage=usage, time=time, offset=offset, truncated_by_recorder=True)
            return
        self.step.usage = usage
        self.step.is_closed = True


class _TokenCounts:
    """Token counts of a file: each call once, repeats left out, resets noticed."""

    def __init__(self) -> None:
        self.total: dict[str, int] | None = None

    def add_record(self, given: dict[str, object], thread: dict[str, object]) -> Usage | None:
        """A `token_usage_record`: one response; None where it holds no counts."""
        counts = _counts(given)
        if not counts:
            return None
        known = _counts(thread)
        self.total = known or {key: (self.total or {}).get(key, 0) + count for key, count in counts.items()}
        return self._added(counts)

    def add_count(self, info: dict[str, object]) -> tuple[Usage | None, bool, bool]:
        """A `token_count`: the usage it adds (None: a repeat), whether the total fell, whether the shape is known."""
        total, last = _counts(_dict(info.get("total_token_usage"))), _counts(_dict(info.get("last_token_usage")))
        if not total and not last:
            return None, False, False
        before = self.total
        if before is not None and total and all(total.get(key, 0) == before.get(key, 0) for key in _TOTALLED):
            return None, False, True
        is_reset = before is not None and any(total.get(key, 0) < before.get(key, 0) for key in _TOTALLED if total)
        if not last:
            last = total if before is None or is_reset else {key: n - before.get(key, 0) for key, n in total.items()}
        self.total = total or self.total
        return self._added(last), is_reset, True

    @staticmethod
    def _added(counts: dict[str, int]) -> Usage:
        return Usage(
            prompt_tokens=counts.get("input_tokens"),
            cached_tokens=counts.get("cached_input_tokens"),
            cache_write_tokens=counts.get("cache_write_input_tokens"),
            completion_tokens=counts.get("output_tokens"),
            reasoning_tokens=counts.get("reasoning_output_tokens"),
        )


_TOTALLED = ("input_tokens", "output_tokens")


def _counts(given: dict[str, object]) -> dict[str, int]:
    return {
        key: count
        for key, count in given.items()
        if key.endswith("_tokens") and isinstance(count, int) and not isinstance(count, bool) and count >= 0
    }


def _call(kind: str, payload: dict[str, object]) -> ToolCall | None:
    """A tool call; None for a kind that is not known."""
    call_id = _text(payload.get("call_id")) or _text(payload.get("id"))
    if kind == "function_call":
        namespace, name = _text(payload.get("namespace")), _text(payload.get("name")) or ""
        arguments = payload.get("arguments")
        is_text = isinstance(arguments, str)
        text = str(arguments) if is_text else "" if arguments is None else _compact(arguments)
        return ToolCall(f"{namespace}.{name}" if namespace else name, text, call_id, exact=is_text)
    if kind == "custom_tool_call":
        return ToolCall(_text(payload.get("name")) or "", _text(payload.get("input")) or "", call_id, is_json=False)
    told = {"local_shell_call": "action", "web_search_call": "action", "tool_search_call": "arguments",
            "image_generation_call": "revised_prompt"}.get(kind)  # fmt: skip
    if told is None:
        return None
    return ToolCall(kind.removesuffix("_call"), _compact(payload.get(told)), call_id, exact=False)


def _content(given: object) -> str:
    """Text of a content: a string, one part or a list of parts; what is no text becomes a mark with its digest."""
    if isinstance(given, str):
        return given
    if isinstance(given, dict):
        if "content" in given and "type" not in given:
            return _content(given["content"])
        given = [given]
    if not isinstance(given, list):
        return ""
    return "\n".join(_part(part) for part in given)


def _part(part: object) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return str(part["text"])
    if isinstance(part, dict) and str(part.get("type")) in {"input_image", "encrypted_content"}:
        digest = hashlib.sha256(raw_bytes(_compact(part))).hexdigest()[:16]
        return f"<{part['type']} sha256 {digest}>"
    return _compact(part)


def _is_plain_object(given: object) -> bool:
    """True for structured output that is neither text nor parts of content."""
    if isinstance(given, dict):
        return not ({"content", "text"} & given.keys())
    return isinstance(given, list) and not all(_is_part(part) for part in given)


def _is_part(part: object) -> bool:
    return isinstance(part, str) or (
        isinstance(part, dict) and ("text" in part or str(part.get("type")) in {"input_image", "encrypted_content"})
    )


def _compaction(payload: dict[str, object]) -> str:
    """What the model sees from now on: the summary, and the history that replaces the old one."""
    history = payload.get("replacement_history")
    items = [item for item in history if isinstance(item, dict)] if isinstance(history, list) else []
    said = [
        f"{item.get('role', item.get('type'))}: {_content(item.get('content', item.get('output')))}" for item in items
    ]
    message = _text(payload.get("message")) or _content(payload.get("summary"))
    return "\n".join([*([message] if message else []), *said])


def _exit_status(text: str) -> int | None:
    """The status that the header of an output names, above the line `Output:`; None where it does not."""
    heading = _OUTPUT_HEADING.search(text)
    if heading is not None and (found := _EXIT.search(text, 0, heading.start())):
        return int(found[1])
    if text.startswith('{"output":'):
        try:
            code = _dict(_dict(json.loads(text)).get("metadata")).get("exit_code")
        except (ValueError, RecursionError):
            return None
        return code if isinstance(code, int) and not isinstance(code, bool) else None
    return None


def _uuid7_ms(given: object) -> int | None:
    """Milliseconds since 1970 in a UUID of version 7, None for anything else."""
    found = _UUID7.fullmatch(given) if isinstance(given, str) else None
    return int(found[1] + found[2], 16) if found else None


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _dict(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


READER = CodexRollout()
