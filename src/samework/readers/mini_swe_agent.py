"""mini-swe-agent trajectories: `mini-swe-agent-1`, `mini-swe-agent-1.1`, and the older bare list of messages.

The unit of action is the shell command, a call of `bash`: from `extra.actions` where recorded, else the one fenced
block of the reply, trimmed as the tool trims it. A reply with no block or several was rejected by the tool and has no
call; the complaint it drew is a user event. Observations are the rendered messages, as the model saw them. The last
message of a run that ended holds its submission, which no model read; it is no event. Refuses what has no messages.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from samework.canon.messages import content_text
from samework.decode import strict_json
from samework.decode.document import read_document
from samework.decode.limits import MIB
from samework.decode.shapes import as_number
from samework.errors import DamagedRecord
from samework.model.events import Event, ToolCall, Usage
from samework.model.reader import Evidence
from samework.model.records import Damage, ManifestFact, PatchRecord, RunEnd, RunStart
from samework.model.words import Absence, EndReason, EventKind, FieldSource, Grade, RunKind
from samework.text import raw_bytes, shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Reader, Source
    from samework.model.records import Record

_FORMAT = re.compile(rb'(?<!\\)"trajectory_format"\s*:\s*"mini-swe-agent-1')
_MAY_BE = re.compile(rb'[\xef\xbb\xbf\s]*\{\s*"(?:info|messages|instance_id)"')
_MADE_BY = re.compile(rb'(?<!\\)"mini_version"\s*:|(?<!\\)"minisweagent\.')
_FENCED = re.compile(rb"```(?:bash|mswea_bash_command)\s*\\n")
_PLAIN_LIST = re.compile(rb'\s*\[\s*\{\s*"(?:role|content)"\s*:')
_TAIL_BYTES = 4096
_OPENING = re.compile(r"```(?:bash|mswea_bash_command)\s*?\n")
_RETURN_CODE = re.compile(r"<returncode>(-?\d{1,9})</returncode>")
_SUBMITS = ("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", "MINI_SWE_AGENT_FINAL_OUTPUT")
_SUBMITTED = "Submitted"
_SWE_BENCH = re.compile(r"[A-Za-z0-9_.-]+__[A-Za-z0-9_.-]+-\d+")
# Anything else among the options may be an address or a key.
_SAMPLING = frozenset(
    {"temperature", "top_p", "top_k", "min_p", "seed", "max_tokens", "max_completion_tokens", "reasoning_effort"}
    | {"frequency_penalty", "presence_penalty", "repetition_penalty", "parallel_tool_calls", "n"}
)
_END_REASONS = {
    _SUBMITTED: EndReason.FINISHED,
    "LimitsExceeded": EndReason.LIMIT,
    "TimeoutExpired": EndReason.TIMEOUT,
    "TimeExceeded": EndReason.TIMEOUT,
    "KeyboardInterrupt": EndReason.CANCELLED,
    "UserInterruption": EndReason.CANCELLED,
}


class MiniSweAgentReader:
    """mini-swe-agent trajectories."""

    name = "mini_swe_agent"
    title = "mini-swe-agent trajectory (.traj.json), v1, v1.1 and bare message lists"
    detects = (
        "`trajectory_format` of mini-swe-agent-1…, or a message list with its fenced commands and returncode marks"
    )
    proven = True
    evidence = Evidence(
        text="yes",
        actions="yes",
        observations="yes",
        reuse="where the provider's reply is recorded",
        patch="yes",
    )

    def sniff(self, head: bytes, source: Source) -> float:
        """Confidence that `head` begins a mini-swe-agent trajectory; looks at the file's end where that decides."""
        start = head.removeprefix(strict_json.BOM).lstrip()[:1]
        if start == b"[":
            is_own = _PLAIN_LIST.match(head.removeprefix(strict_json.BOM)) and _FENCED.search(head)
            return 0.8 if is_own and (b"<returncode>" in head or b"bash code block" in head) else 0.0
        if start != b"{":
            return 0.0
        if _says_format(head) or (_MAY_BE.match(head) and _says_format(_tail(source, len(head)))):
            return 1.0
        is_named = b"mini_version" in head or b"minisweagent" in head
        return (
            0.9 if is_named and _MADE_BY.search(head) and re.search(rb'(?<!\\)"(?:exit_status|config)"', head) else 0.0
        )

    def read(self, source: Source) -> Iterator[Record]:
        """Yield the one run of the document.

        Raises: DamagedRecord: no JSON, or no list of messages. LimitExceeded: too large.
        """
        document = read_document(source)
        data = {"messages": document} if isinstance(document, list) else _object(document)
        messages = data.get("messages")
        if not isinstance(messages, list):
            raise DamagedRecord("a mini-swe-agent file needs a list `messages`", place=visible(source.path))
        info = _object(data.get("info"))
        last = _last_word(messages, info)
        yield _start(source, data, info)
        yield from _facts(info, messages)
        yield from _events(messages[: len(messages) - (last is not None)])
        yield from _patch(info, last, is_bare=isinstance(document, list))
        yield _end(info, last)


READER: Reader = MiniSweAgentReader()


def _says_format(data: bytes) -> bool:
    return b"trajectory_format" in data and _FORMAT.search(data) is not None


def _tail(source: Source, n_known: int) -> bytes:
    """The end of a source that is longer than `n_known` bytes, of one that cannot be sought as well."""
    with source.open() as stream:
        if stream.seekable():
            size = stream.seek(0, os.SEEK_END)
            if size <= n_known:
                return b""
            stream.seek(max(0, size - _TAIL_BYTES))
            return stream.read(_TAIL_BYTES)
        tail = b""
        while part := stream.read(MIB):
            tail = (tail + part)[-_TAIL_BYTES:]
        return tail


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _start(source: Source, data: dict[str, Any], info: dict[str, Any]) -> RunStart:
    version = _string(info.get("mini_version"))
    task = _string(data.get("instance_id"))
    if task is None:
        stem = PurePosixPath(source.path).name.removesuffix(".json").removesuffix(".traj")
        task = stem if _SWE_BENCH.fullmatch(stem) else None
    stats = info.get("model_stats")
    return RunStart(
        task=task,
        kind=RunKind.CODING,
        layout="swe-bench" if task is not None and _SWE_BENCH.fullmatch(task) else "mini-swe-agent",
        agent="mini-swe-agent",
        agent_version=version,
        model=_string(_object(_object(info.get("config")).get("model")).get("model_name")),
        recorder=f"mini-swe-agent {version}" if version else None,
        extra={"model_stats": stats} if isinstance(stats, dict) else None,
    )


def _last_word(messages: list[Any], info: dict[str, Any]) -> str | None:
    """Content of the closing message that carries the submission or the reason of the end; None where there is none.

    v1.1 gives it the role `exit`. Before, it is a user message that repeats `info.submission`, or, in a bare list, the
    one that answers the command that submits.
    """
    last = _object(messages[-1]) if messages else {}
    role, content = last.get("role"), last.get("content")
    if role == "exit":
        return content_text(content)
    if role != "user" or not isinstance(content, str):
        return None
    status = _string(info.get("exit_status"))
    if status is not None:
        return content if status == _SUBMITTED or content == info.get("submission") else None
    if info:
        return None
    before = _object(messages[-2]) if len(messages) > 1 else {}
    blocks = _blocks(content_text(before.get("content"))) if before.get("role") == "assistant" else []
    return content if len(blocks) == 1 and any(word in blocks[0] for word in _SUBMITS) else None


def _facts(info: dict[str, Any], messages: list[Any]) -> Iterator[ManifestFact]:
    config = _object(info.get("config"))
    model, environment = _object(config.get("model")), _object(config.get("environment"))
    declared: dict[str, tuple[Any, str]] = {
        "harness.version": (info.get("mini_version"), "info.mini_version"),
        "model.id_requested": (model.get("model_name"), "info.config.model.model_name"),
        "environment.image": (environment.get("image"), "info.config.environment.image"),
    }
    workspace = _string(environment.get("cwd"))
    if workspace is not None and workspace.startswith("/"):
        declared["workspace.root"] = (workspace, "info.config.environment.cwd")
    options = _object(model.get("model_kwargs"))
    for key in sorted(_SAMPLING & options.keys()):
        declared[f"sampling.{key}"] = (options[key], f"info.config.model.model_kwargs.{key}")
    for field, (value, where) in declared.items():
        if isinstance(value, str | int | float | bool):
            yield ManifestFact(field, value, FieldSource.DECLARED, where=where)
    yield from _reply_facts(messages, model.get("model_name"))


def _reply_facts(messages: list[Any], requested: Any) -> Iterator[ManifestFact]:
    """What the provider's own first reply says of the server."""
    where = "messages[].extra.response"
    replies = (_object(_object(_object(message).get("extra")).get("response")) for message in messages)
    reply = next((found for found in replies if found), {})
    named = reply.get("model")
    if isinstance(named, str):
        yield ManifestFact("model.id", named, FieldSource.MEASURED, where=f"{where}.model")
    elif isinstance(requested, str):
        yield ManifestFact("model.id", requested, FieldSource.DECLARED, where="info.config.model.model_name")
    for field, key in (("routing.provider", "provider"), ("engine.fingerprint", "system_fingerprint")):
        if isinstance(reply.get(key), str):
            yield ManifestFact(field, reply[key], FieldSource.MEASURED, where=f"{where}.{key}")
    if isinstance(reply.get("provider"), str):  # only a router of hosted models names one
        yield ManifestFact("engine.version", absence=Absence.UNOBSERVABLE, where=f"{where}.provider")


def _events(messages: list[Any]) -> Iterator[Event | Damage]:
    step = 0
    unanswered: list[str | None] = []
    for index, message in enumerate(messages, 1):
        role = message.get("role") if isinstance(message, dict) else None
        if role == "assistant":
            step += 1
            calls, reason = _calls(step, message)
            if reason is not None:
                yield Damage(0, 0, f"message {index}: {reason}")
            unanswered = [call.call_id for call in calls]
            yield _completion(message, calls)
        elif role == "tool" or (role == "user" and unanswered):
            call_id = unanswered.pop(0) if unanswered else None
            yield _observation(message, _string(message.get("tool_call_id")) or call_id)
        elif role in ("system", "user", "exit"):
            kind = EventKind.SYSTEM if role == "system" else EventKind.USER
            yield Event(kind, text=content_text(message.get("content")))
        else:
            yield Damage(0, 0, f"message {index} is not of a role that this format knows")


def _calls(step: int, message: dict[str, Any]) -> tuple[tuple[ToolCall, ...], str | None]:
    """Commands of a reply, and a sentence where some could not be read."""
    actions = _object(message.get("extra")).get("actions")
    if isinstance(actions, list):
        found = [(_string(_object(action).get("tool_call_id")), _object(action).get("command")) for action in actions]
    elif isinstance(message.get("tool_calls"), list):
        found = [_called(call) for call in message["tool_calls"]]
    else:
        blocks = _blocks(content_text(message.get("content")))
        found = [(None, blocks[0].strip())] if len(blocks) == 1 else []
    calls = tuple(
        ToolCall("bash", command, call_id=given or f"s{step}.{place}", exact=False, is_json=False)
        for place, (given, command) in enumerate(found)
        if isinstance(command, str)
    )
    return calls, None if len(calls) == len(found) else "an action without a command"


def _called(call: Any) -> tuple[str | None, Any]:
    """Id and command of a provider's tool call; arguments that hold no command stand as they are."""
    arguments = _object(_object(call).get("function")).get("arguments")
    try:
        decoded = strict_json.loads(arguments) if isinstance(arguments, str) else arguments
    except DamagedRecord:
        decoded = None
    command = _object(decoded).get("command")
    return _string(_object(call).get("id")), command if isinstance(command, str) else arguments


def _blocks(text: str) -> list[str]:
    """Contents of the fenced blocks of shell, in one pass over the text."""
    blocks: list[str] = []
    at = 0
    while (opening := _OPENING.search(text, at)) is not None:
        end = text.find("\n```", opening.end())
        if end < 0:
            break
        blocks.append(text[opening.end() : end])
        at = end + 4
    return blocks


def _completion(message: dict[str, Any], calls: tuple[ToolCall, ...]) -> Event:
    extra = _object(message.get("extra"))
    reply = _object(extra.get("response"))
    choices = reply.get("choices")
    said = _object(_object(choices[0]).get("message")) if isinstance(choices, list) and choices else message
    details = said.get("reasoning_details")
    return Event(
        EventKind.COMPLETION,
        text=content_text(message.get("content")),
        reasoning=_string(said.get("reasoning")) or _string(said.get("reasoning_content")),
        reasoning_hidden=isinstance(details, list)
        and any(_object(part).get("type") == "reasoning.encrypted" for part in details),
        calls=calls,
        usage=_usage(_object(reply.get("usage"))),
        time=_time(extra.get("timestamp", reply.get("created"))),
    )


def _usage(usage: dict[str, Any]) -> Usage | None:
    if not usage:
        return None
    prompt, completion = _object(usage.get("prompt_tokens_details")), _object(usage.get("completion_tokens_details"))
    return Usage(
        prompt_tokens=_number(usage.get("prompt_tokens")),
        cached_tokens=_number(prompt.get("cached_tokens")),
        cache_write_tokens=_number(prompt.get("cache_write_tokens")),
        completion_tokens=_number(usage.get("completion_tokens")),
        reasoning_tokens=_number(completion.get("reasoning_tokens")),
    )


def _observation(message: dict[str, Any], call_id: str | None) -> Event:
    """What the model saw; the exit status from `extra`, else from the mark at the start of the default template."""
    text, extra = content_text(message.get("content")), _object(message.get("extra"))
    status = _number(extra.get("returncode"))
    if status is None and (marked := _RETURN_CODE.match(text)) is not None:
        status = int(marked.group(1))
    return Event(
        EventKind.OBSERVATION, text=text, call_id=call_id, exit_status=status, time=_time(extra.get("timestamp"))
    )


def _time(epoch_s: Any) -> str | None:
    """An epoch time, seconds, as ISO 8601 in UTC; None where it is none."""
    seconds = as_number(epoch_s)
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (OverflowError, ValueError, OSError):
        return None


def _patch(info: dict[str, Any], last: str | None, *, is_bare: bool) -> Iterator[PatchRecord | Damage]:
    """The submission. A run that did not submit has none, though v1 then writes "" or the error's text there."""
    if is_bare:
        submission, status, grade = last, _SUBMITTED if last is not None else None, Grade.DERIVED
    else:
        submission, status, grade = info.get("submission"), _string(info.get("exit_status")), Grade.DIRECT
    if submission is not None and not isinstance(submission, str):
        yield Damage(0, 0, "`info.submission` is no text")
    elif submission is not None and (status == _SUBMITTED or "diff --git " in submission):
        yield PatchRecord(raw_bytes(submission), grade=grade)
        return
    ended = f"the run ended with {shortened(status, 80)}" if status else "no end recorded"
    yield PatchRecord(None, null_reason=f"no submission recorded ({ended})")


def _end(info: dict[str, Any], last: str | None) -> RunEnd:
    status = _string(info.get("exit_status"))
    if status is None:
        return RunEnd(EndReason.FINISHED, detail="submitted") if last is not None and not info else RunEnd()
    return RunEnd(_END_REASONS.get(status, EndReason.ERROR), detail=status)
