"""Copilot CLI: `events.jsonl` of a session.

An `assistant.message` is one completion, with those that are parts of the same call of the model. What a sub-agent did
names it (`agentId`, in older files the call that began it): it is a run of its own, with the session as parent. Of the
tokens only those of replies are recorded with each message; the rest are totals of the session, kept as such. The
stream of `--output-format json` is the same events and ends with a `result`. The model saw `transformedContent` of a
prompt. The base commit is the head at the start, on which the work was done (`baseCommit` is that of the branch, and
is taken only where no head is recorded). Refuses nothing but what is no JSON.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from samework.decode.jsonl import Line, iter_records
from samework.decode.shapes import as_count, as_dict, as_dicts, as_text, compact
from samework.model.events import Event, Usage
from samework.model.reader import Evidence
from samework.model.records import Damage, ManifestFact, RunEnd, RunStart
from samework.model.words import EndReason, EventKind, FieldSource
from samework.readers.parts.agent_parts import (
    Step,
    StepByStep,
    Unknowns,
    content_of,
    is_counted,
    largest,
    note,
    object_call,
    part_text,
    quick_records,
)
from samework.text import shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_START = re.compile(rb'"type"\s*:\s*"session\.(?:start|resume)"')
_SIGN = re.compile(rb'"(?:copilotVersion|producer)"\s*:\s*"')
_EVENT = re.compile(rb'\A\{"type"\s*:\s*"(?:assistant\.(?:message|turn_start)|tool\.execution_start|user\.message)"')
_EXIT = re.compile(r"<(?:exited|shellId: [^<>\n]{1,100} completed) with exit code (-?[0-9]{1,9})>\s*\Z")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LOOKED_AT = 20
_MAX_AGENTS = 256
_MAX_HELD_BYTES = 4 << 20  # of lines, decoded some times that; fewer would mean more passes over the file
_SILENT_ROOMS = frozenset(
    {
        "auto_mode_switch", "capabilities", "command", "commands", "elicitation", "exit_plan_mode", "external_tool",
        "factory", "hook", "mcp", "mcp_app", "model", "pending_messages", "permission", "sampling",
        "session_limits_exhausted", "skill", "subagent", "tool_search", "ui", "user_input",
    }
)  # fmt: skip
_SILENT = frozenset(
    {
        "assistant.idle", "assistant.intent", "assistant.message_delta", "assistant.message_start",
        "assistant.reasoning_delta", "assistant.server_tool_progress", "assistant.streaming_delta",
        "assistant.tool_call_delta", "assistant.turn_end", "assistant.turn_retry", "assistant.turn_start",
        "session.autopilot_objective_changed", "session.background_tasks_changed", "session.binary_asset",
        "session.custom_agents_updated", "session.custom_notification", "session.extensions_loaded",
        "session.managed_settings_enforced", "session.managed_settings_resolved",
        "session.mcp_server_status_changed", "session.mcp_servers_loaded", "session.permissions_changed",
        "session.remote_steerable_changed", "session.schedule_cancelled", "session.schedule_created",
        "session.schedule_rearmed", "session.session_limits_changed", "session.skills_loaded",
        "session.todos_changed", "session.tools_updated", "tool.execution_partial_result",
        "tool.execution_progress", "tool.execution_start",
        "tool.user_requested", "session.auto_mode_resolved", "session.compaction_start", "session.context_changed",
        "session.handoff", "session.idle", "session.import_legacy", "session.info", "session.mode_changed",
        "session.model_change",
        "session.plan_changed", "session.start", "session.task_complete", "session.title_changed",
        "session.usage_checkpoint", "session.usage_info", "session.warning", "session.workspace_file_changed",
    }
)  # fmt: skip
_EDITS = frozenset(
    {"session.compaction_complete", "session.context_cleared", "session.snapshot_rewind", "session.truncation"}
)


class CopilotCli:
    """Reader of Copilot CLI's events."""

    name = "copilot_cli"
    title = "Copilot CLI events (JSON Lines)"
    detects = "JSON Lines of type, data, id, timestamp and parentId that begin with session.start of Copilot"
    proven = False  # the sample at hand is synthetic
    evidence = Evidence(text="yes", actions="yes", raw_arguments="yes", observations="yes", base_commit="yes")

    def sniff(self, head: bytes, source: Source) -> float:
        """0.95 for the start of a session, 0.6 for its events without it."""
        start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
        if source.is_dir or not start.startswith(b"{"):
            return 0.0
        lines = start.split(b"\n", _LOOKED_AT)[:_LOOKED_AT]
        if any(_START.search(line[:100]) and _SIGN.search(line) for line in lines):
            return 0.95
        return 0.6 if any(_EVENT.match(line) and b'"data"' in line[:100] for line in lines) else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield the session, then its sub-agents.

        Raises: InputError: the source cannot be opened.
        """
        facts = _Facts(source)
        yield from facts.start(None)
        session = _Session()
        for item in iter_records(source):
            if isinstance(item, Damage):
                yield item
            elif isinstance(item.value, dict) and isinstance(item.value.get("data"), dict):
                if facts.agent_of(item.value) is None:
                    yield from session.add(item.value, item.offset)
            elif isinstance(item.value, dict) and item.value.get("type") == "result":
                session.result(item.value)
            else:
                yield Damage(item.offset, len(item.raw), f"line {item.number}: no event")
        if facts.n_beyond:
            yield note(0, f"{facts.n_beyond} events of further sub-agents, in the source only", "limit-exceeded")
        yield from session.finish(is_main=True)
        for agents in facts.batches():
            yield from _sub_agents(source, facts, agents)


def _sub_agents(source: Source, facts: _Facts, agents: list[str]) -> Iterator[Record]:
    """Some sub-agents, a run each. The first is told as it is read, what the others said is held until it has ended."""
    places = [facts.agents[agent] for agent in agents]
    lines = range(min(place.first for place in places), max(place.last for place in places) + 1)
    sessions = {agent: _Session() for agent in agents}
    held: dict[str, list[Record]] = {agent: [] for agent in agents}
    yield from facts.begin(agents[0])
    for item in iter_records(source, wanted=lambda number, raw: number in lines and _may_name_agent(raw)):
        if not isinstance(item, Line) or not isinstance(item.value, dict):
            continue
        agent = facts.agent_of(item.value)
        if agent == agents[0]:
            yield from sessions[agent].add(item.value, item.offset)
        elif agent in held:
            held[agent] += sessions[agent].add(item.value, item.offset)
    yield from sessions[agents[0]].finish(is_main=False)
    for agent in agents[1:]:
        yield from facts.begin(agent)
        yield from held.pop(agent)
        yield from sessions[agent].finish(is_main=False)


def _may_name_agent(raw: bytes) -> bool:
    """False where a line cannot have a key of a sub-agent, not even one written with escapes."""
    return b"agentId" in raw or b"parentToolCallId" in raw or b"\\u" in raw


class _Place(msgspec.Struct):
    """Where the events of a sub-agent lie. first, last: lines. n_bytes: of its events."""

    first: int
    last: int
    n_bytes: int


class _Facts:
    """What the events say of the conditions, and which sub-agents there are."""

    def __init__(self, source: Source) -> None:
        self.begun: dict[str, object] = {}
        self.shut: dict[str, object] = {}
        self.models: dict[str | None, str] = {}
        self.effort: str | None = None
        self.agents: dict[str, _Place] = {}
        self.named: dict[str, dict[str, object]] = {}
        self.by_call: dict[str, str] = {}
        self.streamed: str | None = None
        self.n_beyond = 0
        self.damage: Damage | None = None
        for item in quick_records(source):
            if isinstance(item, Damage):
                self.damage = self.damage or (item if item.taints_run else None)
            elif isinstance(item.value, dict):
                self._look(item.value, as_dict(item.value.get("data")), item.number, len(item.raw))

    def _place(self, agent: str, number: int, n_bytes: int, *, is_telling: bool) -> None:
        """Note where an event of a sub-agent is; one that tells nothing makes no run."""
        place = self.agents.get(agent)
        if place is not None:
            place.last = number
            place.n_bytes += n_bytes
        elif not is_telling:
            return
        elif len(self.agents) < _MAX_AGENTS:
            self.agents[agent] = _Place(number, number, n_bytes)
        else:
            self.n_beyond += 1

    def _name(self, call: str, agent: str) -> None:
        """Learn which sub-agent a call began; what was found under the call is the sub-agent's."""
        if call in self.by_call or len(self.by_call) >= _MAX_AGENTS:
            return
        self.by_call[call] = agent
        if call == agent:
            return
        if call in self.models:  # what its own id has told already stands
            self.models.setdefault(agent, self.models.pop(call))
        if call in self.named:
            self.named.setdefault(agent, self.named.pop(call))
        place = self.agents.pop(call, None)
        if place is not None:
            held = self.agents.setdefault(agent, place)
            held.first, held.last = min(held.first, place.first), max(held.last, place.last)
            held.n_bytes += place.n_bytes if held is not place else 0

    def _look(self, value: dict[str, object], data: dict[str, object], number: int, n_bytes: int) -> None:
        kind, named, call = as_text(value.get("type")), as_text(value.get("agentId")), _call_of(data)
        if kind == "subagent.started":
            call = call or as_text(data.get("toolCallId"))
        if named is not None and call is not None:
            self._name(call, named)
        agent = self.agent_of(value)
        if agent is not None:
            is_telling = (kind or "").partition(".")[0] not in _SILENT_ROOMS
            self._place(agent, number, n_bytes, is_telling=is_telling)
        if kind == "result":
            self.streamed = as_text(value.get("sessionId"))
        if kind == "session.start" and not self.begun:
            self.begun = data
        elif kind == "session.shutdown":
            self.shut = data
        elif kind == "subagent.started" and len(self.named) < _MAX_AGENTS:
            begun = as_text(data.get("toolCallId")) or ""
            self.named.setdefault(named or self.by_call.get(begun, begun), data)
        model = as_text(data.get("model"))
        if kind == "assistant.message" and model is not None and len(self.models) <= _MAX_AGENTS:
            self.models.setdefault(agent, model)
        self.effort = self.effort or as_text(data.get("reasoningEffort"))

    def agent_of(self, value: dict[str, object]) -> str | None:
        """The sub-agent of an event, None for the session's own."""
        call = _call_of(as_dict(value.get("data")))
        return as_text(value.get("agentId")) or (None if call is None else self.by_call.get(call, call))

    def batches(self) -> Iterator[list[str]]:
        """Sub-agents in order, as many at once as can be held beside the first of them."""
        batch: list[str] = []
        n_held = 0
        for agent, place in self.agents.items():
            if batch and n_held + place.n_bytes > _MAX_HELD_BYTES:
                yield batch
                batch, n_held = [], 0
            n_held += place.n_bytes if batch else 0
            batch.append(agent)
        if batch:
            yield batch

    def begin(self, agent: str) -> Iterator[Record]:
        """The start of a sub-agent; damage anywhere in the file may be its own."""
        yield from self.start(agent)
        if self.damage is not None:
            reason = f"the file holds what cannot be read ({self.damage.reason}), which may have been this run's"
            yield Damage(self.damage.offset, self.damage.n_bytes, reason, code=self.damage.code)

    def start(self, agent: str | None) -> Iterator[Record]:
        """The start and the facts of the session, or of a sub-agent."""
        begun, context = self.begun, as_dict(self.begun.get("context"))
        session, version = as_text(begun.get("sessionId")) or self.streamed, as_text(begun.get("copilotVersion"))
        model = self.models.get(agent) or as_text(begun.get("selectedModel"))
        commits = [as_text(context.get(name)) for name in ("headCommit", "baseCommit")]
        commit = next((one for one in commits if one and _COMMIT.fullmatch(one)), None)
        totals: dict[str, object] = {
            name: self.shut[name] for name in ("tokenDetails", "modelMetrics") if name in self.shut
        }
        named = as_text(self.named.get(agent or "", {}).get("agentName"))
        yield RunStart(
            layout="copilot-cli",
            agent="copilot-cli",
            agent_version=version,
            model=model,
            native_id=session if agent is None else f"{session or ''}/{agent}",
            parent_native_id=None if agent is None else session,
            recorder=f"copilot-cli {version or '(unknown version)'}",
            base_commit=commit,
            repo=as_text(context.get("repository")),
            started=as_text(begun.get("startTime")),
            extra=(totals or None) if agent is None else {"call": agent, **({"agent": named} if named else {})},
        )
        told = (
            ("harness.name", "copilot-cli", FieldSource.MEASURED, "format"),
            ("harness.version", version, FieldSource.MEASURED, "copilotVersion"),
            ("workspace.root", context.get("cwd"), FieldSource.MEASURED, "context.cwd"),
            ("workspace.base_commit", commit, FieldSource.MEASURED, "context.headCommit"),
            ("workspace.branch", context.get("branch"), FieldSource.MEASURED, "context.branch"),
            ("model.id", model, FieldSource.DECLARED, "model"),
            ("sampling.reasoning_effort", self.effort, FieldSource.DECLARED, "reasoningEffort"),
        )
        for field, value, source, where in told:
            if as_text(value):
                yield ManifestFact(field, value, source, where=where)


def _call_of(data: dict[str, object]) -> str | None:
    """The call that began the sub-agent of an event, as older files name it."""
    return as_text(data.get("parentToolCallId"))


class _Session(StepByStep):
    """State of one run that is being read."""

    def __init__(self) -> None:
        self.thought: list[str] = []
        self.unknown = Unknowns()
        self.end: RunEnd | None = None

    def add(self, value: dict[str, object], offset: int) -> Iterator[Record]:
        """Records of one event."""
        kind, time = as_text(value.get("type")), as_text(value.get("timestamp"))
        data = as_dict(value.get("data"))
        if kind == "assistant.message":
            yield from self._reply(data, offset, time)
        elif kind == "tool.execution_complete":
            yield from self._later(_observation(data, offset, time))
        elif kind in {"user.message", "system.message", "system.notification"}:
            self.end = None if kind == "user.message" else self.end
            text = as_text(data.get("transformedContent")) or content_of(data.get("content"))
            images = [one for one in as_dicts(data.get("attachments")) if one.get("type") == "blob"]
            text = "\n".join([text, *map(part_text, images)])
            spoken = EventKind.USER if kind == "user.message" else EventKind.SYSTEM
            yield from self._later(Event(spoken, text, time=time, offset=offset))
        elif kind in _EDITS and data.get("success") is not False:
            yield from self._flush()
            yield Event(EventKind.CONTEXT_EDIT, f"{kind} {compact(data)}", time=time, offset=offset)
        elif kind == "assistant.reasoning":
            self.thought.append(content_of(data.get("content")))
        elif kind == "assistant.usage":
            self._usage(data)
        else:
            self._other(kind, data, offset, time)

    def _other(self, kind: str | None, data: dict[str, object], offset: int, time: str | None) -> None:
        if kind == "session.resume":
            self.end = None
        elif kind == "abort":
            self.end = RunEnd(EndReason.CANCELLED, shortened(as_text(data.get("reason")) or "abort", 60), time)
        elif kind == "session.error":
            self.end = RunEnd(EndReason.ERROR, shortened(as_text(data.get("message")) or "error", 200), time)
        elif kind == "session.shutdown":
            said = as_text(data.get("shutdownType")) or "shutdown"
            if self.end is None or said != "routine":
                reason = EndReason.FINISHED if said == "routine" else EndReason.ERROR
                self.end = RunEnd(reason, shortened(said, 60), time)
        elif kind is None or (kind not in _SILENT | _EDITS and kind.split(".")[0] not in _SILENT_ROOMS):
            self.unknown.add(kind, offset)

    def result(self, value: dict[str, object]) -> None:
        """The end of a stream."""
        code = value.get("exitCode")
        if self.end is None and code is not None:
            self.end = RunEnd(
                EndReason.FINISHED if code == 0 else EndReason.ERROR,
                shortened(f"exit code {code}", 60),
                as_text(value.get("timestamp")),
            )

    def _reply(self, data: dict[str, object], offset: int, time: str | None) -> Iterator[Event]:
        key = as_text(data.get("apiCallId")) or as_text(data.get("messageId"))
        self.end = None
        if self.step is None or key is None or self.step.key != key or data.get("chunkIndex") is None:
            yield from self._flush()
            self.step = Step(key, offset, time)
        step = self.step
        prose = content_of(data.get("content"))
        step.prose += [prose] if prose else []
        shown = as_text(data.get("reasoningText"))
        thought, self.thought = [one for one in self.thought if one and one != shown], []
        step.reasoning += [*thought, *([shown] if shown else [])]
        step.is_hidden = step.is_hidden or (
            not step.reasoning and any(as_text(data.get(name)) for name in ("reasoningOpaque", "encryptedContent"))
        )
        for call in as_dicts(data.get("toolRequests")):
            step.calls.append(object_call(call.get("name"), call.get("arguments"), call.get("toolCallId")))
        usage = Usage(completion_tokens=as_count(data.get("outputTokens")))
        if is_counted(usage):
            step.usage = largest(step.usage, usage)

    def _usage(self, data: dict[str, object]) -> None:
        usage = Usage(
            prompt_tokens=as_count(data.get("inputTokens")),
            cached_tokens=as_count(data.get("cacheReadTokens")),
            cache_write_tokens=as_count(data.get("cacheWriteTokens")),
            completion_tokens=as_count(data.get("outputTokens")),
            reasoning_tokens=as_count(data.get("reasoningTokens")),
        )
        if self.step is not None and is_counted(usage):
            self.step.usage = largest(self.step.usage, usage)

    def finish(self, *, is_main: bool) -> Iterator[Record]:
        """What is left, and the end. A sub-agent has no end of its own in the record."""
        open_calls = self.step.open_calls if self.step is not None else 0
        yield from self._flush()
        yield from self.unknown.findings()
        if self.end is not None:
            yield self.end
        elif open_calls or is_main:
            yield RunEnd(EndReason.LOG_TRUNCATED, "the events end without a shutdown")
        else:
            yield RunEnd(EndReason.UNRECORDED, "no end of a sub-agent is recorded")


def _observation(data: dict[str, object], offset: int, time: str | None) -> Event:
    result, error = as_dict(data.get("result")), as_dict(data.get("error"))
    plain = as_text(data.get("result"))
    text = content_of(result.get("content")) if result else plain or content_of(error.get("message"))
    found = _EXIT.search(text[-200:])
    told = [one.get("exitCode") for one in as_dicts(result.get("contents")) if one.get("type") == "shell_exit"]
    code = int(found[1]) if found else next((one for one in told if type(one) is int and abs(one) < 1 << 31), None)
    images = map(part_text, as_dicts(result.get("binaryResultsForLlm")))
    text = "\n".join([text, *images])
    return Event(
        EventKind.OBSERVATION,
        text,
        call_id=as_text(data.get("toolCallId")),
        exit_status=code,
        time=time,
        offset=offset,
    )


READER = CopilotCli()
