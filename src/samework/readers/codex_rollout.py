"""Codex rollouts, current and legacy: what the model said and saw, from response items alone.

Events of the interface repeat the same content and are used for token counts and the end of a turn only. The items of
one model response are one completion: by the counters of the record where it has them, else adjacent items until an
output. Unknown records are counted and reported. Refuses to add a repeated token count or a replayed history's.

Declared rules: a fork or a sub-agent begins with a copy of its parent's history. Its events are kept, for the model saw
them; its tokens are not added, for the parent's file has them. Older versions write of the ends of turns only that one
was aborted: what they wrote records no end, and is cut off only where a call is left open.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from samework.decode.jsonl import Line, iter_records
from samework.decode.shapes import as_dict, as_text, compact
from samework.model.events import Event, Usage
from samework.model.reader import Evidence
from samework.model.records import Damage, ManifestFact, RunEnd, RunStart
from samework.model.words import Absence, EndReason, EventKind, FieldSource
from samework.readers.parts.agent_parts import Step, StepByStep
from samework.readers.parts.codex_parts import (
    TokenCounts,
    call_of,
    compaction,
    content,
    ended_turn,
    exit_status_of,
    is_plain_object,
    uuid7_ms,
)
from samework.text import shortened

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
_PRESCAN_RECORDS = 200
_REPLAY_GAP_S = 0.2
_ANSWERED = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_ENDS_OF_TURNS = frozenset({"task_complete", "turn_complete", "turn_aborted", "error"})
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
                rollout.is_cut = item.code == "cut-tail"
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
        spawned = as_dict(as_dict(as_dict(self.meta.get("source")).get("subagent")).get("thread_spawn"))
        named = (self.meta.get("forked_from_id"), self.meta.get("parent_thread_id"), spawned.get("parent_thread_id"))
        return next((parent for parent in named if isinstance(parent, str) and parent), None)

    @property
    def is_child(self) -> bool:
        """True where history of another session may come before the session's own."""
        return self.parent is not None or self.has_parent_meta

    @property
    def born_ms(self) -> int | None:
        """Time in the session's id, where it is a child."""
        return uuid7_ms(self.meta.get("id")) if self.is_child else None

    def start(self) -> RunStart:
        """The start of the run; keys that have no field are kept."""
        meta = self.meta
        git = as_dict(meta.get("git"))
        kept = ("source", "thread_source", "history_mode", "session_id", "originator")
        extra = {key: meta[key] for key in kept if meta.get(key) is not None}
        return RunStart(
            layout="codex",
            agent="codex",
            agent_version=as_text(meta.get("cli_version")),
            model=as_text(self.turn.get("model")),
            native_id=as_text(meta.get("id")),
            parent_native_id=self.parent,
            recorder=f"codex {as_text(meta.get('cli_version')) or '(unknown version)'}",
            base_commit=as_text(git.get("commit_hash")),
            repo=as_text(git.get("repository_url")),
            started=as_text(meta.get("timestamp")),
            extra=extra or None,
        )

    def facts(self) -> Iterator[Record]:
        """What the record says of the conditions."""
        turn, meta = self.turn, self.meta
        settings = as_dict(as_dict(turn.get("collaboration_mode")).get("settings"))
        effort = turn.get("effort") or turn.get("reasoning_effort") or settings.get("reasoning_effort")
        git = as_dict(meta.get("git"))
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
        if as_text(meta.get("model_provider")) in _HOSTED:
            for field in _HOSTED_UNOBSERVABLE:
                yield ManifestFact(field, absence=Absence.UNOBSERVABLE, where="session_meta.model_provider")

    def preamble(self) -> Iterator[Record]:
        """Instructions and tools that stand in session_meta."""
        base = self.meta.get("base_instructions", self.meta.get("instructions"))
        text = base.get("text") if isinstance(base, dict) else base
        if isinstance(text, str) and text:
            yield Event(EventKind.SYSTEM, text, time=as_text(self.meta.get("timestamp")))
        if self.meta.get("dynamic_tools"):
            yield Event(EventKind.TOOLS, compact(self.meta["dynamic_tools"]), time=as_text(self.meta.get("timestamp")))


class _Step(Step):
    """A completion; is_closed where its token count has come, after which another one begins."""

    is_closed = False


class _Rollout(StepByStep):
    """State of a file that is being read."""

    def __init__(self, identity: _Identity) -> None:
        self.identity = identity
        self.step: _Step | None = None
        self.counts = TokenCounts()
        self.turn_id: str | None = None
        self.replay = _Replay(is_on=identity.is_child)
        self.end: RunEnd | None = None
        self.has_tasks = False
        self.has_reply = False
        self.is_cut = False
        self.open_calls: set[str] = set()
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
        kind, payload, time = as_text(value.get("type")), value.get("payload"), as_text(value.get("timestamp"))
        self.replay.go_on(time)
        if not isinstance(payload, dict):
            yield from self._legacy(value, line)
        elif kind == "response_item":
            yield from self._item(payload, line.offset, time, as_dict(value.get("metadata")))
        elif kind == "event_msg":
            yield from self._message(payload, line.offset, time)
        elif kind == "token_usage_record":
            yield from self._usage_record(payload, line.offset, time)
        elif kind == "turn_context":
            self._turn(payload)
        elif kind == "compacted":
            yield from self._flush()
            yield Event(EventKind.CONTEXT_EDIT, compaction(payload), time=time, offset=line.offset)
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
        if self.end is not None:
            return self.end
        has_begun = self.has_reply or self.identity.is_legacy
        if has_begun and not (self.has_tasks or self.open_calls or self.is_cut):
            return RunEnd(EndReason.UNRECORDED, "this version records no end")
        return RunEnd(EndReason.LOG_TRUNCATED, "the file ends without task_complete or turn_aborted")

    def _unknown(self, word: str, offset: int) -> None:
        self.unknown[word] += 1
        self.first_unknown.setdefault(word, offset)

    def _is_replayed(self, turn_id: object) -> bool:
        """True for a record of a turn that is older than the session, which was forked from another.

        Where ids of turns do not tell their time, for a record that was written at one go with the file's first.
        """
        born, made = self.identity.born_ms, uuid7_ms(turn_id)
        return self.replay.is_on if born is None or made is None else made < born

    def _goes_on(self) -> None:
        """A turn goes on, whatever was said before of its end."""
        self.end = None

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
        self._goes_on()
        self.turn_id = as_text(payload.get("turn_id")) or self.turn_id
        model = as_text(payload.get("model"))
        if model is not None and model not in self.models and not self._is_replayed(self.turn_id):
            self.models.append(model)

    def _item(
        self, payload: dict[str, object], offset: int, time: str | None, metadata: dict[str, object]
    ) -> Iterator[Record]:
        passed = as_dict(payload.get("internal_chat_message_metadata_passthrough"))
        turn_id = as_text(passed.get("turn_id")) or self.turn_id
        self.n_replayed += self._is_replayed(turn_id)
        kind, role = str(payload.get("type")), payload.get("role")
        if kind == "message" and role != "assistant":
            yield from self._flush()
            if role == "user" and not self.has_tasks:  # where turns are told, more may be said after one
                self._goes_on()
            spoken = EventKind.USER if role == "user" else EventKind.SYSTEM
            yield Event(spoken, content(payload.get("content")), time=time, offset=offset)
        elif kind == "agent_message":
            yield from self._flush()
            yield Event(EventKind.USER, content(payload.get("content")), time=time, offset=offset)
        elif kind in {"compaction", "compaction_summary", "context_compaction"}:
            yield from self._flush()
            yield Event(EventKind.CONTEXT_EDIT, compaction(payload), time=time, offset=offset)
        elif kind.endswith("_output"):
            yield from self._output(payload, offset, time)
        elif kind in {"message", "reasoning"} or kind.endswith("_call"):
            self._goes_on()
            self.has_reply = True
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
            is_same = step.key == key if step.key and key else not (step.held or step.is_closed)
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
            step.prose.append(content(payload.get("content")))
        elif kind == "reasoning":
            shown = content(payload.get("content")) or content(payload.get("summary"))
            step.reasoning += [shown] if shown else []
            step.is_hidden = step.is_hidden or bool(payload.get("encrypted_content"))
        else:
            call = call_of(kind, payload)
            if call is None:
                return False
            step.calls.append(call)
            if kind in _ANSWERED and call.call_id is not None:
                self.open_calls.add(call.call_id)
        return True

    def _output(self, payload: dict[str, object], offset: int, time: str | None) -> Iterator[Record]:
        given = payload.get("output", payload.get("tools"))
        text = content(given) if not is_plain_object(given) else compact(given)
        call_id = as_text(payload.get("call_id"))
        self.open_calls.discard(call_id or "")
        event = Event(
            EventKind.OBSERVATION,
            text,
            call_id=call_id,
            exit_status=exit_status_of(text),
            time=time,
            offset=offset,
        )
        yield from self._later(event)

    def _message(self, payload: dict[str, object], offset: int, time: str | None) -> Iterator[Record]:
        kind = as_text(payload.get("type"))
        if kind == "token_count":
            yield from self._token_count(payload, offset, time)
        elif kind in {"task_started", "turn_started"}:
            self.turn_id = as_text(payload.get("turn_id")) or self.turn_id
            self.has_tasks, self.end = True, None
            yield from self._flush()
        elif kind in _ENDS_OF_TURNS:
            if not self._is_replayed(as_text(payload.get("turn_id")) or self.turn_id):
                self.end = ended_turn(kind, payload, self.end, time)
        elif kind == "thread_rolled_back":
            yield from self._flush()
            text = f"the last {payload.get('num_turns')} turns were taken back"
            yield Event(EventKind.CONTEXT_EDIT, text, time=time, offset=offset)
        elif kind not in _VIEWS:
            self._unknown(f"event_msg/{kind}", offset)

    def _usage_record(self, payload: dict[str, object], offset: int, time: str | None) -> Iterator[Record]:
        usage = self.counts.add_record(as_dict(payload.get("usage")), as_dict(payload.get("thread_token_usage")))
        if self._is_replayed(payload.get("turn_id") or self.turn_id):
            return
        if usage is None:
            self._unknown("token_usage_record without counts", offset)
        else:
            yield from self._attach(usage, offset, time)

    def _token_count(self, payload: dict[str, object], offset: int, time: str | None) -> Iterator[Record]:
        info = payload.get("info")
        if not isinstance(info, dict):
            return  # limits of the account only
        usage, is_reset, is_known = self.counts.add_count(info)
        if self._is_replayed(self.turn_id):
            return  # the parent's, from which the totals go on
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


class _Replay:
    """Whether the records so far were written at one go, as a fork writes the history of its parent.

    A reply of a model takes longer than two of its records are apart.
    """

    def __init__(self, *, is_on: bool) -> None:
        self.is_on = is_on
        self.last: datetime | None = None

    def go_on(self, time: str | None) -> None:
        """Take in the stamp of the next record."""
        if not self.is_on:
            return
        now = _moment(time)
        if now is None or (self.last is not None and not 0 <= (now - self.last).total_seconds() < _REPLAY_GAP_S):
            self.is_on = False
        self.last = now


def _moment(time: str | None) -> datetime | None:
    try:
        found = datetime.fromisoformat(time or "")
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


READER = CodexRollout()
