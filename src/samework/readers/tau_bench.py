"""tau-bench v1 results: one JSON list of {task_id, reward, info, traj, trial}, many runs in a file.

The list is read one run at a time, so a file that was cut still gives the runs before the cut. Task is `task_id`,
repeat is `trial`, the reward is an outcome. These runs leave no tree: what they did is in their calls. The format
records neither model nor sampling. tau2 files are another format. Refuses what is no list.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

import orjson

from samework.canon.messages import content_text
from samework.decode import strict_json
from samework.decode.limits import DEFAULT, MIB, Limits
from samework.decode.shapes import as_number
from samework.errors import DamagedRecord
from samework.model.events import Event, ToolCall
from samework.model.reader import Evidence
from samework.model.records import Damage, OutcomeRecord, RunEnd, RunStart
from samework.model.words import EndReason, EventKind, RunKind
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Reader, Source
    from samework.model.records import Record

_KEYS = re.compile(rb'(?<!\\)"(task_id|reward|traj|trial|simulations)"\s*:')
_STRUCTURE = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?P<end>"|\\?\Z)|[\[\]{}]', re.DOTALL)
_SEPARATORS = b" \t\r\n,"
_STOP = "###STOP###"
_KINDS = {"system": EventKind.SYSTEM, "user": EventKind.USER, "tool": EventKind.OBSERVATION}


class TauBenchReader:
    """tau-bench results."""

    name = "tau_bench"
    title = "tau-bench v1 results"
    detects = "a JSON list of objects with `task_id`, `reward` and `traj`"
    proven = True
    evidence = Evidence(text="yes", actions="yes", raw_arguments="yes", observations="yes", outcome="reward")

    def sniff(self, head: bytes, source: Source) -> float:  # noqa: ARG002 (content decides)
        """Confidence that `head` begins tau-bench results."""
        if not re.match(rb"\s*\[\s*\{", head.removeprefix(strict_json.BOM)):
            return 0.0
        keys = set(_KEYS.findall(head))
        if b"task_id" not in keys or b"simulations" in keys:
            return 0.0
        return 0.95 if b"traj" in keys and keys & {b"reward", b"trial"} else 0.6 if b"reward" in keys else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield each run of the list.

        Raises: DamagedRecord: no list, or not one run could be read.
        """
        n_read = 0
        first_damage: Damage | None = None
        for found in _elements(source):
            made = found if isinstance(found, Damage) else _decoded(*found)
            if isinstance(made, Damage):
                first_damage = first_damage or made
                yield made
                continue
            n_read += 1
            yield from _run(*made)
        if not n_read and first_damage is not None:
            place = f"{visible(source.path)}, byte {first_damage.offset}"
            raise DamagedRecord(first_damage.reason, place=place, code=first_damage.code)


READER: Reader = TauBenchReader()


def _elements(source: Source, limits: Limits = DEFAULT) -> Iterator[tuple[int, bytes] | Damage]:
    """Elements of a list of objects, undecoded, with their offsets; memory is that of the largest one.

    Raises: DamagedRecord: the source does not begin as a list.
    """
    with source.open() as stream:
        buffer = stream.read(MIB)
        base = len(buffer) - len(buffer.removeprefix(strict_json.BOM).lstrip())
        if buffer[base : base + 1] != b"[":
            raise DamagedRecord("not a JSON list", place=visible(source.path))
        base, buffer = base + 1, buffer[base + 1 :]
        scan = _Scan()
        while True:
            at = 0
            for start, end in scan.elements(buffer):
                if buffer[at:start].strip(_SEPARATORS):
                    yield _between(base + at, start - at, "something that is no run", "damaged-record")
                if end > start:
                    yield base + start, buffer[start:end]
                at = end
            base, buffer = base + scan.n_done, buffer[scan.n_done :]
            scan.forget()
            if scan.is_closed:
                break
            if len(buffer) > limits.max_line_bytes:
                yield _between(base, len(buffer), f"a run of more than {limits.max_line_bytes} bytes", "limit-exceeded")
                return
            more = stream.read(max(MIB, len(buffer)))
            if not more:
                yield _between(base, len(buffer), "the file ends inside the list", "cut-tail")
                return
            buffer += more
        if buffer.strip():
            yield _between(base, len(buffer), "bytes after the end of the list", "damaged-record")


class _Scan:
    """Finds where elements begin and end. n_done: bytes of the buffer that are dealt with."""

    def __init__(self) -> None:
        self.is_closed = False
        self.n_done = 0
        self._depth = self._start = self._at = 0

    def elements(self, buffer: bytes) -> Iterator[tuple[int, int]]:
        """Spans of the elements that end in the buffer, an empty one at the list's end; goes on where it stopped."""
        for found in _STRUCTURE.finditer(buffer, self._at):
            mark = found.group()
            if mark.startswith(b'"'):
                if found.group("end") != b'"':
                    self._at = found.start()  # a string that goes on beyond the buffer
                    return
            elif mark in b"[{":
                if self._depth == 0:
                    self._start = found.start()
                self._depth += 1
            elif self._depth == 0:
                self.is_closed, self.n_done = True, found.end()
                yield found.start(), found.start()
                return
            else:
                self._depth -= 1
                if self._depth == 0:
                    self.n_done = found.end()
                    yield self._start, found.end()
            self._at = found.end()

    def forget(self) -> None:
        """Adjust to a buffer from which the first `n_done` bytes were dropped."""
        self._start -= self.n_done
        self._at -= self.n_done
        self.n_done = 0


def _between(offset: int, n_bytes: int, reason: str, code: str) -> Damage:
    """Damage that lies between runs: it costs a run of its own, and none that was read."""
    return Damage(offset, n_bytes, reason, code=code, taints_run=False)


def _decoded(offset: int, raw: bytes) -> tuple[int, dict[str, Any]] | Damage:
    try:
        value = strict_json.loads(raw)
    except strict_json.NotJson as error:
        return _between(offset, len(raw), f"{error.message} at byte {offset + error.offset}", error.code)
    if not isinstance(value, dict) or not isinstance(value.get("traj"), list) or not _is_id(value.get("task_id")):
        return _between(offset, len(raw), "a run without `task_id` and `traj`", "damaged-record")
    return offset, value


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def _run(offset: int, record: dict[str, Any]) -> Iterator[Record]:
    info = record.get("info")
    info = info if isinstance(info, dict) else {}
    trial = record.get("trial")
    extra = {name: info[name] for name in ("source", "user_cost") if name in info}
    yield RunStart(
        task=str(record["task_id"]),
        repeat=str(trial) if _is_id(trial) else None,
        kind=RunKind.TOOL_USE,
        layout="tau-bench",
        agent="tau-bench",
        content_sha256=_content_sha256(record),
        extra=extra or None,
    )
    yield from _events(offset, record["traj"])
    reward = record.get("reward")
    if isinstance(reward, bool) or (reward := as_number(reward)) is not None:
        yield OutcomeRecord("reward", reward)
    yield _end(record["traj"], info)


def _events(offset: int, messages: list[Any]) -> Iterator[Event | Damage]:
    step = 0
    for index, message in enumerate(messages, 1):
        role = message.get("role") if isinstance(message, dict) else None
        if role == "assistant":
            step += 1
            calls, n_lost = _calls(step, message.get("tool_calls"))
            if n_lost:
                yield Damage(offset, 0, f"message {index}: {n_lost} tool calls without a name or arguments")
            yield Event(EventKind.COMPLETION, text=content_text(message.get("content")), calls=calls, offset=offset)
        elif isinstance(role, str) and role in _KINDS:
            call_id = message.get("tool_call_id") if role == "tool" else None
            yield Event(
                _KINDS[role],
                text=content_text(message.get("content")),
                call_id=call_id if isinstance(call_id, str) else None,
                offset=offset,
            )
        else:
            yield Damage(offset, 0, f"message {index} is not of a role that this format knows")


def _calls(step: int, recorded: Any) -> tuple[tuple[ToolCall, ...], int]:
    """Calls of one message, and how many could not be read."""
    items = recorded if isinstance(recorded, list) else []
    calls = []
    for place, item in enumerate(items):
        function = item.get("function") if isinstance(item, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            continue
        arguments, given = function.get("arguments"), item.get("id")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, separators=(",", ":"))
        is_exact = isinstance(arguments, str)
        call_id = given if isinstance(given, str) and given else f"s{step}.{place}"
        calls.append(ToolCall(function["name"], text, call_id=call_id, exact=is_exact))
    return tuple(calls), len(items) - len(calls)


def _end(messages: list[Any], info: dict[str, Any]) -> RunEnd:
    """The simulated user's stop ends a run; an error is recorded in `info`; else the reason is not recorded."""
    error = info.get("error")
    if error is not None:
        return RunEnd(EndReason.ERROR, detail=shortened(str(error), 200))
    last = messages[-1] if messages else None
    if isinstance(last, dict) and last.get("role") == "user" and _STOP in content_text(last.get("content")):
        return RunEnd(EndReason.FINISHED, detail=_STOP)
    return RunEnd()


def _content_sha256(record: dict[str, Any]) -> str:
    """Digest of the record with its keys sorted, so that a copy in another spacing is the same run."""
    try:
        canonical = orjson.dumps(record, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:  # big integers, lone surrogates
        canonical = json.dumps(record, sort_keys=True).encode()
    return hashlib.sha256(canonical).hexdigest()
