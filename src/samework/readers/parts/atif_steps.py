"""Steps of ATIF trajectories as records of runs; what the readers of single files and of trial directories share.

A step with `is_copied_context` retells an earlier one: it is a context edit here, and no second completion. A system
step that refers to other trajectories is the harness handing over, and an agent's step that says it called no model is
the harness acting. Terminus writes its commands as JSON in the
message: they are one call, since one screen answers them. Trajectories inside a trajectory, and those that a step
refers to by a file at hand, are runs of their own.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

import msgspec

from samework.decode.elements import iter_parts
from samework.decode.shapes import (
    as_count,
    as_dict,
    as_dicts,
    as_list,
    as_name,
    as_text,
    as_token_ids,
    compact,
    decoded,
)
from samework.errors import DamagedRecord, InputError
from samework.model.events import Event, ToolCall, Usage
from samework.model.records import Damage, ManifestFact, RunEnd, RunStart
from samework.model.words import EndReason, EventKind, FieldSource, RunKind
from samework.text import counted, raw_bytes, shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_SAMPLING = ("temperature", "top_p", "top_k", "seed", "max_tokens", "reasoning_effort")
_MAX_NESTING = 20
_STEP_KEYS = frozenset({"message", "tool_calls", "observation", "reasoning_content", "metrics"})


_CONTINUED = re.compile(r"(.+)\.cont-([0-9]{1,6})\.json")
_STREAMED = frozenset({"steps"})


class Trajectory:
    """One trajectory document: its members, and its steps with their places.

    steps: (offset or None, step). damage: what could not be read of it. notes: events that stand before the
    step of that place. n_of_files: steps of each continuation that was joined.
    """

    def __init__(self) -> None:
        self.members: dict[str, object] = {}
        self.steps: list[tuple[int | None, object]] = []
        self.damage: list[Damage] = []
        self.notes: dict[int, Event] = {}
        self.n_of_files: list[int] = []

    @classmethod
    def of(cls, value: dict[str, object]) -> Trajectory:
        """A trajectory that is decoded already, such as one inside another."""
        made = cls()
        made.members = {key: each for key, each in value.items() if key != "steps"}
        made.steps = [(None, step) for step in as_list(value.get("steps"))]
        return made

    @property
    def native_id(self) -> str | None:
        """Its own id, else that of the session."""
        return as_name(self.members.get("trajectory_id")) or as_name(self.members.get("session_id"))

    def start(self, parent: str | None = None, task: str | None = None) -> RunStart:
        """The start of its run."""
        agent = as_dict(self.members.get("agent"))
        version, schema = as_name(agent.get("version")), as_text(self.members.get("schema_version")) or "ATIF"
        extra = {name: self.members[name] for name in ("notes", "extra") if self.members.get(name)}
        extra |= {"agent": agent["extra"]} if agent.get("extra") else {}
        times = [time for _, step in self.steps if (time := as_text(as_dict(step).get("timestamp"))) is not None]
        name = as_name(agent.get("name"))
        return RunStart(
            task=task,
            kind=RunKind.CODING,
            layout="atif",
            agent=name,
            agent_version=version,
            model=as_name(agent.get("model_name")) or self._model_of_steps(),
            native_id=self.native_id,
            parent_native_id=parent,
            recorder=f"{name or 'unknown'} {version or '(unknown version)'}, {schema}",
            started=times[0] if times else None,
            ended=times[-1] if times else None,
            extra=extra or None,
        )

    def _model_of_steps(self) -> str | None:
        return next((name for _, step in self.steps if (name := as_name(as_dict(step).get("model_name")))), None)

    @property
    def _is_terminus(self) -> bool:
        agent = as_dict(self.members.get("agent"))
        return (as_text(agent.get("name")) or "").startswith("terminus")

    def facts(self) -> Iterator[Record]:
        """Conditions, and the tools."""
        agent = as_dict(self.members.get("agent"))
        named = (("harness.name", agent.get("name")), ("harness.version", agent.get("version")))
        for field, value in (*named, ("model.id", agent.get("model_name"))):
            if as_name(value):
                yield ManifestFact(field, value, FieldSource.DECLARED, where="agent")
        efforts = [as_dict(step).get("reasoning_effort") for _, step in self.steps]
        given = as_dict(agent.get("extra")) | {"reasoning_effort": next((each for each in efforts if each), None)}
        for name in _SAMPLING:
            if isinstance(given.get(name), str | int | float):
                yield ManifestFact(f"sampling.{name}", given[name], FieldSource.DECLARED, where="agent.extra")
        if agent.get("tool_definitions"):
            yield Event(EventKind.TOOLS, compact(agent["tool_definitions"]))

    def records(self) -> Iterator[Record]:
        """Events of the steps, damage, and what the totals say otherwise."""
        for place, (offset, step) in enumerate(self.steps, 1):
            if place - 1 in self.notes:
                yield self.notes[place - 1]
            if isinstance(step, dict) and not _STEP_KEYS.isdisjoint(step):
                yield from _step(step, offset, has_commands=self._is_terminus)
            else:
                yield Damage(offset or 0, 0, f"step {place} is none: it has neither message nor call")
        yield from self.damage
        yield from self._totals()

    def _totals(self) -> Iterator[Damage]:
        """Totals that the steps contradict; the steps are what counts."""
        totals = as_dict(self.members.get("final_metrics"))
        claimed = as_count(totals.get("total_steps"))
        held = self.n_of_files[-1] if self.n_of_files else len(self.steps)
        if claimed is not None and claimed not in {held, len(self.steps)}:
            reason = f"final_metrics counts {claimed} steps, the record holds {held}"
            yield Damage(0, 0, reason, code="totals-differ", taints_run=False)
        ids = [step_id for _, step in self.steps if (step_id := as_count(as_dict(step).get("step_id"))) is not None]
        if not self.n_of_files and len(ids) == len(self.steps) and ids != list(range(1, len(ids) + 1)):
            reason = "the steps are not numbered from 1 without a gap; they stay in the order of the record"
            yield Damage(0, 0, reason, code="step-order", taints_run=False)

    def end(self) -> RunEnd:
        """Its end: ATIF records none, but for a record that goes on elsewhere."""
        continued = as_text(self.members.get("continued_trajectory_ref"))
        if continued:
            return RunEnd(EndReason.LOG_TRUNCATED, f"it goes on in {shortened(continued, 80)}, which is not at hand")
        if any(each.code == "cut-tail" for each in self.damage):
            return RunEnd(EndReason.LOG_TRUNCATED, "the file ends inside the document")
        return RunEnd()


def read_trajectory(source: Source) -> Trajectory:
    """A trajectory with what is wrong with it.

    Raises: DamagedRecord: no object, or it was cut before its first step. InputError: it cannot be opened.
    """
    made = Trajectory()
    for part in iter_parts(source, _STREAMED):
        if isinstance(part, Damage):
            made.damage.append(msgspec.structs.replace(part, taints_run=True))
        elif part.index is None:
            made.members[part.key] = part.value
        elif part.key:
            made.steps.append((part.offset, part.value))
    if not isinstance(made.members.get("schema_version"), str) or (made.damage and not made.steps):
        reason = made.damage[0].reason if made.damage else "no ATIF trajectory"
        code = made.damage[0].code if made.damage else "damaged-record"
        raise DamagedRecord(reason, place=visible(source.path), code=code)
    return made


def joined(parts: list[Trajectory]) -> Trajectory:
    """One trajectory of a file and its continuations, which must follow one another."""
    whole, *rest = parts
    for part in rest:
        whole.members.pop("continued_trajectory_ref", None)
        note = Event(EventKind.CONTEXT_EDIT, "the trajectory goes on in another file, with another context")
        whole.notes[len(whole.steps)] = note
        whole.steps += [(None, step) for _, step in part.steps]
        whole.damage += part.damage
        whole.n_of_files.append(len(part.steps))
        for name in ("continued_trajectory_ref", "final_metrics"):
            if name in part.members:
                whole.members[name] = part.members[name]
    return whole


def referred_runs(
    whole: Trajectory, source: Source, folder: str, parent: str | None, task: str | None
) -> Iterator[Record]:
    """Runs of the files that the steps refer to, where they are at hand."""
    for place, name in enumerate(references(whole), 1):
        try:
            found = source.child(folder + name)
            inner = None if found is None else read_trajectory(found)
        except InputError as error:
            yield Damage(
                0, 0, f"a trajectory that a step refers to: {error.message}", code=error.code, taints_run=False
            )
            continue
        if inner is not None:
            yield from run(inner, parent, sub_task(inner, task, place), sub_id=f"{parent or ''}/{name}")


def unread_references(whole: Trajectory, source: Source, folder: str) -> Iterator[Damage]:
    """A finding on trajectories that the steps refer to, where they stand neither inside nor in a file at hand."""
    lost = [name for name in references(whole) if not _is_at_hand(source, folder + name)]
    inner = as_dicts(whole.members.get("subagent_trajectories"))
    held = {name for each in inner for key in _IDS if (name := as_name(each.get(key)))}
    yield from _unread([*lost, *(name for name in _references_by_id(whole) if name not in held)])


def _unread(lost: list[str]) -> Iterator[Damage]:
    if lost:
        names = shortened(", ".join(lost), 160)
        reason = f"steps refer to {counted(len(lost), 'trajectory', 'trajectories')} that this source does not hold:"
        yield Damage(0, 0, f"{reason} {names}", code="missing-file", taints_run=False)


def _is_at_hand(source: Source, name: str) -> bool:
    try:
        return source.child(name) is not None
    except InputError:
        return True  # there, and it is told why it cannot be read


def continued_name(source: Source) -> str | None:
    """The file that the others of a set continue, None where there is none."""
    continued = {found[1] for name in source.names() if (found := _CONTINUED.fullmatch(name))}
    return next((f"{base}.json" for base in sorted(continued) if f"{base}.json" in source.names()), None)


def with_continuations(source: Source, first: str) -> list[Source]:
    """A file of a set and its continuations, in order."""
    found = [(0, first)]
    for name in source.names():
        match = _CONTINUED.fullmatch(name)
        if match is not None and f"{match[1]}.json" == first:
            found.append((int(match[2]), name))
    return [child for _, name in sorted(found) if (child := source.child(name)) is not None]


def inner_runs(outer: Trajectory, parent: str | None, task: str | None, depth: int = 0) -> Iterator[Record]:
    """Runs of the trajectories that stand inside a trajectory."""
    for place, value in enumerate(as_dicts(outer.members.get("subagent_trajectories")), 1):
        inner = Trajectory.of(value)
        if depth >= _MAX_NESTING:
            return
        yield from run(inner, parent, sub_task(inner, task, place), sub_id=f"{parent or ''}#{place}")
        yield from inner_runs(inner, inner.native_id, task, depth + 1)


def run(trajectory: Trajectory, parent: str | None, task: str | None, sub_id: str) -> Iterator[Record]:
    """The run of a sub-agent. sub_id: what tells it from the others of its file."""
    start = trajectory.start(parent, task)
    content = hashlib.sha256(raw_bytes(compact([sub_id, trajectory.members, [step for _, step in trajectory.steps]])))
    yield msgspec.structs.replace(start, content_sha256=content.hexdigest())
    yield from trajectory.facts()
    yield from trajectory.records()
    yield from _unread(references(trajectory))  # files are followed from the outermost trajectory only
    yield trajectory.end()


def sub_task(inner: Trajectory, task: str | None, place: int) -> str:
    """A sub-agent's task: that of its run, with the sub-agent's name and place."""
    name = as_name(as_dict(inner.members.get("agent")).get("name")) or "sub-agent"
    return f"{task or 'atif'}/{name}.{place}"


def references(trajectory: Trajectory) -> list[str]:
    """Files of other trajectories that the steps refer to, in order, each once."""
    paths = (as_text(reference.get("trajectory_path")) for reference in _all_references(trajectory))
    return list(dict.fromkeys(path for path in paths if path))


def _references_by_id(trajectory: Trajectory) -> list[str]:
    """Trajectories that the steps refer to by an id and no file, each once."""
    named = (
        next((name for key in _IDS if (name := as_name(reference.get(key)))), None)
        for reference in _all_references(trajectory)
        if not reference.get("trajectory_path")
    )
    return list(dict.fromkeys(name for name in named if name))


_IDS = ("trajectory_id", "session_id")


def _all_references(trajectory: Trajectory) -> Iterator[dict[str, object]]:
    for _, step in trajectory.steps:
        for result in as_dicts(as_dict(as_dict(step).get("observation")).get("results")):
            yield from as_dicts(result.get("subagent_trajectory_ref"))


def _step(step: dict[str, object], offset: int | None, *, has_commands: bool) -> Iterator[Event]:
    source, time, text = step.get("source"), as_text(step.get("timestamp")), _text(step.get("message"))
    results = as_dicts(as_dict(step.get("observation")).get("results"))
    is_without_model = source == "agent" and as_count(step.get("llm_call_count")) == 0
    if step.get("is_copied_context") is True or is_without_model:
        calls = [compact(step["tool_calls"])] if is_without_model and step.get("tool_calls") else []
        said = [f"{as_text(source) or 'unknown'}: {text}", *calls]
        said += [_text(result.get("content")) for result in results]
        yield Event(EventKind.CONTEXT_EDIT, "\n".join(said), time=time, offset=offset)
        return
    if source == "agent":
        yield _completion(step, text, time, offset, has_commands=has_commands)
    elif source == "system" and any(result.get("subagent_trajectory_ref") for result in results):
        yield Event(EventKind.CONTEXT_EDIT, text, time=time, offset=offset)
    else:
        yield Event(EventKind.SYSTEM if source == "system" else EventKind.USER, text, time=time, offset=offset)
    for result in results:
        if result.get("content") is None and result.get("subagent_trajectory_ref"):
            continue
        answer = _text(result.get("content"))
        call_id = as_name(result.get("source_call_id"))
        yield Event(EventKind.OBSERVATION, answer, call_id=call_id, time=time, offset=offset)


def _completion(
    step: dict[str, object], text: str, time: str | None, offset: int | None, *, has_commands: bool
) -> Event:
    metrics = step.get("metrics")
    counts = as_dict(metrics)
    extra = as_dict(counts.get("extra"))
    usage = None
    if isinstance(metrics, dict):
        usage = Usage(
            as_count(counts.get("prompt_tokens")),
            as_count(counts.get("cached_tokens")),
            as_count(extra.get("cache_creation_input_tokens")),
            as_count(counts.get("completion_tokens")),
            as_count(extra.get("reasoning_tokens")),
        )
    is_of_several = (as_count(step.get("llm_call_count")) or 0) > 1
    reasoning = as_text(step.get("reasoning_content"))
    calls = tuple(_call(call) for call in as_dicts(step.get("tool_calls"))) or (_commands(text) if has_commands else ())
    return Event(
        EventKind.COMPLETION,
        text,
        reasoning=reasoning or None,
        reasoning_hidden=not reasoning and usage is not None and bool(usage.reasoning_tokens),
        calls=calls,
        token_ids=as_token_ids(counts.get("completion_token_ids")),
        prompt_token_ids=as_token_ids(counts.get("prompt_token_ids")),
        n_prompt_tokens=usage.prompt_tokens if usage and not is_of_several else None,
        usage=usage,
        time=time,
        offset=offset,
    )


def _call(call: dict[str, object]) -> ToolCall:
    arguments = call.get("arguments")
    is_text = isinstance(arguments, str)
    name, call_id = as_text(call.get("function_name")) or "", as_name(call.get("tool_call_id"))
    return ToolCall(name, str(arguments) if is_text else compact(arguments), call_id, exact=is_text)


def _commands(text: str) -> tuple[ToolCall, ...]:
    """The commands that a message of Terminus holds; none where it holds no such object."""
    value = decoded(text)
    commands = value.get("commands") if isinstance(value, dict) else None
    return (ToolCall("commands", compact(commands), exact=False),) if isinstance(commands, list) and commands else ()


def _text(given: object) -> str:
    """Text of a message or result: a string, or parts (from v1.6); what is no text becomes a mark with its digest."""
    if given is None:
        return ""
    if isinstance(given, str):
        return given
    return "\n".join(_part(part) for part in given) if isinstance(given, list) else compact(given)


def _part(part: object) -> str:
    said = as_dict(part).get("text")
    if isinstance(said, str):
        return said
    kind = shortened(as_text(as_dict(part).get("type")) or "part", 40)
    return f"<{kind} sha256 {hashlib.sha256(raw_bytes(compact(part))).hexdigest()[:16]}>"
