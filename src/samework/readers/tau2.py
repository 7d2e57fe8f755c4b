"""tau2 results: one JSON object with `info`, `tasks` and `simulations`; each simulation is a run.

The simulations are read one at a time, so that a file that was cut gives those before the cut. Task is `task_id`,
repeat the trial, the reward an outcome. Calls of the simulated user are what that user did, not the agent's: they stand
as text of the user, and their results too. Arguments are decoded in this format, so they are never exact.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from samework.canon.messages import content_text
from samework.decode.elements import Part, iter_parts
from samework.decode.shapes import as_count, as_dict, as_dicts, as_name, as_number, as_text, compact
from samework.errors import DamagedRecord
from samework.model.events import Event, ToolCall, Usage
from samework.model.reader import Evidence
from samework.model.records import Damage, ManifestFact, OutcomeRecord, RunEnd, RunStart
from samework.model.words import EndReason, EventKind, FieldSource, RunKind
from samework.text import raw_bytes, shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_SIMULATIONS = re.compile(rb'"simulations"\s*:\s*\[')
_INFO = re.compile(rb'"(?:user_info|agent_info|environment_info|num_trials)"\s*:')
_STREAMED = frozenset({"simulations", "tasks"})
_FAR_BYTES = 4 << 20
_SAMPLING = ("temperature", "top_p", "seed", "max_tokens", "reasoning_effort")
_ENDS = {
    "user_stop": EndReason.FINISHED,
    "agent_stop": EndReason.FINISHED,
    "max_steps": EndReason.LIMIT,
    "too_many_errors": EndReason.LIMIT,
    "timeout": EndReason.TIMEOUT,
    "agent_error": EndReason.ERROR,
    "user_error": EndReason.ERROR,
    "infrastructure_error": EndReason.CRASH,
}


class Tau2:
    """Reader of tau2 results."""

    name = "tau2"
    title = "tau2-bench results"
    detects = "a JSON object with `info`, `tasks` and `simulations`"
    proven = False
    evidence = Evidence(
        text="yes",
        actions="yes",
        raw_arguments="where written as text",
        observations="yes",
        reuse="cached tokens, where recorded",
        outcome="reward",
    )

    def sniff(self, head: bytes, source: Source) -> float:
        """0.95 for results; the tasks that stand before the simulations may be long."""
        if source.is_dir or not head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{") or not _INFO.search(head):
            return 0.0
        far = head if _SIMULATIONS.search(head) or source.size() <= len(head) else source.head(_FAR_BYTES)
        if _SIMULATIONS.search(far):
            return 0.95
        return 0.6 if b'"agent_info"' in head and b'"user_info"' in head else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield a run a simulation.

        Raises: DamagedRecord: no object, or not one simulation could be read.
        """
        info: dict[str, object] | None = None
        first: Damage | None = None
        n_runs = 0
        for part in iter_parts(source, _STREAMED):
            if isinstance(part, Damage):
                first = first or part
                yield part
            elif part.key == "info":
                info = as_dict(part.value)
            elif part.key == "simulations" and part.index is not None:
                info = _info(source) if info is None else info
                if isinstance(part.value, dict) and isinstance(part.value.get("messages"), list):
                    n_runs += 1
                    yield from _run(part.value, info, part.offset)
                else:
                    damage = Damage(part.offset, len(part.raw), "a simulation without messages", taints_run=False)
                    first = first or damage
                    yield damage
        if not n_runs and first is not None:
            raise DamagedRecord(first.reason, place=f"{visible(source.path)}, byte {first.offset}", code=first.code)
        if not n_runs:
            yield Damage(0, 0, "the results hold no simulation", code="no-samples", taints_run=False)


def _info(source: Source) -> dict[str, object]:
    """The `info` that stands after the simulations."""
    for part in iter_parts(source, _STREAMED):
        if isinstance(part, Part) and part.key == "info":
            return as_dict(part.value)
    return {}


def _run(record: dict[str, object], info: dict[str, object], offset: int) -> Iterator[Record]:
    agent, domain = as_dict(info.get("agent_info")), as_dict(info.get("environment_info"))
    name = as_name(domain.get("domain_name"))
    task, trial = as_name(record.get("task_id")), as_name(record.get("trial"))
    task = f"{name}/{task}" if name and task else task
    extra = {
        key: record[key]
        for key in ("seed", "duration", "agent_cost", "user_cost", "mode")
        if record.get(key) is not None
    }
    yield RunStart(
        task=task,
        repeat=trial,
        kind=RunKind.TOOL_USE,
        layout="tau2",
        agent=as_name(agent.get("implementation")) or "tau2",
        model=as_name(agent.get("llm")),
        native_id=as_name(record.get("id")),
        recorder="tau2",
        started=as_text(record.get("start_time")),
        ended=as_text(record.get("end_time")),
        content_sha256=hashlib.sha256(raw_bytes(compact(record))).hexdigest(),
        extra=extra or None,
    )
    yield from _facts(record, info, agent)
    for place, message in enumerate(record["messages"] if isinstance(record["messages"], list) else [], 1):
        yield from _message(message, place, offset)
    reward = as_dict(record.get("reward_info"))
    if (total := as_number(reward.get("reward"))) is not None:
        yield OutcomeRecord("reward", total)
    for part, value in as_dict(reward.get("reward_breakdown")).items():
        if (number := as_number(value)) is not None:
            yield OutcomeRecord(f"reward.{part}", number)
    word = as_name(record.get("termination_reason"))
    reason = _ENDS.get((word or "").rpartition(".")[2].lower(), EndReason.UNRECORDED)
    yield RunEnd(reason, None if word is None else shortened(word, 80), as_text(record.get("end_time")))


def _facts(record: dict[str, object], info: dict[str, object], agent: dict[str, object]) -> Iterator[Record]:
    arguments, user = as_dict(agent.get("llm_args")), as_dict(info.get("user_info"))
    declared = [(f"sampling.{name}", arguments.get(name), "agent_info.llm_args") for name in _SAMPLING]
    declared += [
        ("model.id", agent.get("llm"), "agent_info.llm"),
        ("sampling.seed_requested", record.get("seed"), "simulation.seed"),
        ("harness.revision", info.get("git_commit"), "info.git_commit"),
        ("env.user_model", user.get("llm"), "user_info.llm"),
    ]
    for field, value, where in declared:
        if isinstance(value, str | int | float) and value != "":
            yield ManifestFact(field, value, FieldSource.DECLARED, where=where)
    policy = as_text(as_dict(info.get("environment_info")).get("policy"))
    if policy:
        yield Event(EventKind.SYSTEM, policy)


def _message(message: object, place: int, offset: int) -> Iterator[Record]:
    told = as_dict(message)
    role, text, time = told.get("role"), content_text(told.get("content")), as_text(told.get("timestamp"))
    if role == "assistant":
        usage = _usage(told.get("usage"))
        calls = tuple(_call(call) for call in as_dicts(told.get("tool_calls")))
        sent = usage.prompt_tokens if usage else None
        yield Event(
            EventKind.COMPLETION, text, calls=calls, usage=usage, n_prompt_tokens=sent, time=time, offset=offset
        )
    elif role == "user":
        did = [
            f"{as_text(call.get('name'))} {compact(call.get('arguments'))}" for call in as_dicts(told.get("tool_calls"))
        ]
        yield Event(EventKind.USER, "\n".join([*([text] if text or not did else []), *did]), time=time, offset=offset)
    elif role == "system":
        yield Event(EventKind.SYSTEM, text, time=time, offset=offset)
    elif role == "tool":
        results = as_dicts(told.get("tool_messages")) or [told]
        for result in results:
            said = content_text(result.get("content"))
            if (result.get("requestor") or told.get("requestor")) == "user":
                yield Event(EventKind.USER, said, time=time, offset=offset)
            else:
                yield Event(EventKind.OBSERVATION, said, call_id=as_name(result.get("id")), time=time, offset=offset)
    else:
        yield Damage(offset, 0, f"message {place} is not of a role that this format knows", code="unknown-record")


def _call(call: dict[str, object]) -> ToolCall:
    arguments = call.get("arguments")
    is_text = isinstance(arguments, str)
    text = str(arguments) if is_text else compact(arguments)
    return ToolCall(as_text(call.get("name")) or "", text, as_name(call.get("id")), exact=is_text)


def _usage(given: object) -> Usage | None:
    if not isinstance(given, dict):
        return None
    details = as_dict(given.get("prompt_tokens_details"))
    return Usage(
        as_count(given.get("prompt_tokens")),
        as_count(details.get("cached_tokens")),
        None,
        as_count(given.get("completion_tokens")),
        as_count(as_dict(given.get("completion_tokens_details")).get("reasoning_tokens")),
    )


READER = Tau2()
