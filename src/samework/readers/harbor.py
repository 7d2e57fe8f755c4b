"""Harbor trials: a directory with result.json, the agent's trajectory, and what the verifier left.

Rules of this reader. The task is `task_name`, its checksum a fact: trials of one name and another checksum are not of
one task state. The trajectory is ATIF with its continuations, or the list of episodes that an older Terminus wrote, or
the one log that the agent's own tool left: its session, else what it printed where that is JSON Lines. Rewards are
outcomes, unless the files of a trial contradict each other; CTRF is the test report. Files below a trial are the
trial's: an agent's own log beside an ATIF trajectory tells the same conversation, and is not read again. The final tree
is not kept by Harbor. A result without its directory gives the outcome alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from samework.decode.document import read_bytes, read_document
from samework.decode.shapes import as_dict, as_dicts, as_list, as_name, as_number, as_text, as_token_ids
from samework.errors import DamagedRecord, InputError
from samework.model.events import Event
from samework.model.reader import Evidence
from samework.model.records import Damage, Include, ManifestFact, OutcomeRecord, RunEnd, RunStart
from samework.model.words import EndReason, EventKind, FieldSource, RunKind
from samework.readers.parts.atif_steps import (
    Trajectory,
    inner_runs,
    joined,
    read_trajectory,
    referred_runs,
    unread_references,
    with_continuations,
)
from samework.text import shortened, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from samework.model.reader import Source
    from samework.model.records import Record

_RESULT = "result.json"
_TRAJECTORY = "agent/trajectory.json"
_CTRF = "verifier/ctrf.json"
_REWARDS = ("verifier/reward.txt", "verifier/reward.json")
_KEYS = (rb'"trial_name"\s*:', rb'"task_name"\s*:', rb'"(?:agent_info|verifier_result|task_checksum|agent_result)"\s*:')
_SESSION = re.compile(
    r"agent/(?:[^/]+\.(?:jsonl|trajectory\.json)"
    r"|(?:sessions|qwen-sessions)/(?!.*/subagents/)(?:.+/)?(?!agent-)[^/]+\.jsonl)"
)
_PRINTED = re.compile(r"agent/[^/]+\.txt")
_LOG = re.compile(r"agent/(?!sessions/todos/).+\.jsonl?")
_OF_VERIFIER = ("Verifier", "RewardFile", "AddTestsDir", "DownloadVerifierDir")
_SAMPLING = ("temperature", "top_p", "seed", "max_tokens", "reasoning_effort")


class Harbor:
    """Reader of Harbor trials."""

    name = "harbor"
    title = "Harbor trial directory"
    detects = "a directory whose result.json has `trial_name` and `task_name`, or that file alone"
    proven = False
    evidence = Evidence(
        tokens="where the harness records ids",
        text="yes",
        actions="yes",
        observations="yes",
        reuse="cached tokens of each call, where recorded",
        tests="CTRF of the verifier",
        outcome="rewards",
    )

    def sniff(self, head: bytes, source: Source) -> float:
        """0.95 for a trial, by its result."""
        if source.is_dir:
            try:
                found = source.child(_RESULT)
                head = b"" if found is None else found.head()
            except InputError:
                return 0.0
        is_object = head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")
        return 0.95 if is_object and all(re.search(key, head) for key in _KEYS) else 0.0

    def read(self, source: Source) -> Iterator[Record]:
        """Yield the trial's run, and those of its sub-agents.

        Raises: DamagedRecord: result.json is no object, or cut.
        """
        found = source.child(_RESULT) if source.is_dir else source
        result = None if found is None else read_document(found)
        if not isinstance(result, dict) or not (as_name(result.get("task_name")) or as_name(result.get("trial_name"))):
            raise DamagedRecord("no result of a trial", place=visible(source.path))
        task = as_name(result.get("task_name")) or as_name(as_dict(result.get("task_id")).get("path"))
        start = _start(result, task)
        trajectory, later = None, []
        if source.is_dir:
            try:
                trajectory = _trajectory(source)
            except InputError as error:
                later.append(Damage(0, 0, f"{_TRAJECTORY}: {error.message}", code=error.code))
        yield _filled(start, trajectory)
        yield from _facts(result)
        if trajectory is not None:
            yield from trajectory.facts()
            yield from _with_ids(list(trajectory.records()), result)
            yield from unread_references(trajectory, source, "agent/")
        elif source.is_dir and not later:
            yield from _other_log(source)
        yield from later
        yield from _verified(source, result, task)
        yield _end(result, trajectory)
        if trajectory is not None:
            parent = start.native_id
            yield from inner_runs(trajectory, parent, task)
            yield from referred_runs(trajectory, source, "agent/", parent, task)


def _start(result: dict[str, object], task: str | None) -> RunStart:
    info, config = as_dict(result.get("agent_info")), as_dict(as_dict(result.get("config")).get("agent"))
    model = as_dict(info.get("model_info"))
    named = "/".join(part for part in (as_name(model.get("provider")), as_name(model.get("name"))) if part)
    spent = as_dict(result.get("agent_result"))
    kept = ("n_input_tokens", "n_cache_tokens", "n_output_tokens", "cost_usd")
    extra = {name: spent[name] for name in kept if as_number(spent.get(name)) is not None}
    return RunStart(
        task=task,
        kind=RunKind.CODING,
        layout="harbor",
        agent=as_name(info.get("name")) or as_name(config.get("name")) or as_name(config.get("import_path")),
        agent_version=as_name(info.get("version")),
        model=named or as_name(config.get("model_name")),
        native_id=as_name(result.get("trial_name")) or as_name(result.get("id")),
        recorder="harbor",
        started=as_text(result.get("started_at")),
        ended=as_text(result.get("finished_at")),
        extra=extra or None,
    )


def _filled(start: RunStart, trajectory: Trajectory | None) -> RunStart:
    """The start, with what only the trajectory says; its recorder is what wrote the events."""
    if trajectory is None:
        return start
    told = trajectory.start()
    return msgspec.structs.replace(
        start, agent=start.agent or told.agent, model=start.model or told.model, recorder=told.recorder
    )


def _facts(result: dict[str, object]) -> Iterator[Record]:
    config = as_dict(result.get("config"))
    agent, task = as_dict(config.get("agent")), as_dict(result.get("task_id"))
    kwargs = as_dict(agent.get("kwargs"))
    declared = (
        ("task.checksum", result.get("task_checksum"), "task_checksum"),
        ("task.commit", task.get("git_commit_id"), "task_id"),
        ("model.id_requested", agent.get("model_name"), "config.agent.model_name"),
        ("env.type", as_dict(config.get("environment")).get("type"), "config.environment.type"),
        *((f"sampling.{name}", kwargs.get(name), "config.agent.kwargs") for name in _SAMPLING),
    )
    for field, value, where in declared:
        if isinstance(value, str | int | float) and value != "":
            yield ManifestFact(field, value, FieldSource.DECLARED, where=where)


def _trajectory(source: Source) -> Trajectory | None:
    """The trial's ATIF trajectory, or its episodes as one; None where there is neither."""
    found = source.child(_TRAJECTORY)
    if found is None:
        return None
    if found.head(4096).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"["):
        return _episodes(read_document(found), found.path)
    return joined([read_trajectory(each) for each in with_continuations(source, _TRAJECTORY)])


def _episodes(value: object, path: str) -> Trajectory:
    """A list of episodes, each a prompt and a response: not ATIF, though its file has that name."""
    episodes = as_dicts(value)
    if not episodes or any("prompt" not in each or "response" not in each for each in episodes):
        raise DamagedRecord("neither ATIF nor a list of episodes", place=visible(path))
    made = Trajectory()
    made.members = {"agent": {"name": "terminus"}, "schema_version": "episodes"}
    for each in episodes:
        made.steps += [
            (None, {"source": "user", "message": each["prompt"]}),
            (None, {"source": "agent", "message": each["response"]}),
        ]
    return made


def _other_log(source: Source) -> Iterator[Record]:
    """The one log of the agent's own tool; of several of a kind, nobody says which is the conversation."""
    names = source.names()
    kinds = (
        [name for name in names if _SESSION.fullmatch(name)],
        [name for name in names if _PRINTED.fullmatch(name) and _is_lines(source, name)],
        [name for name in names if _LOG.fullmatch(name)],
    )
    only = next((logs[0] for logs in kinds if len(logs) == 1), None)
    if only is not None:
        yield Include(only, "transcript")
    else:
        n_logs = len(set().union(*kinds))
        said = "no log of the agent" if not n_logs else f"{n_logs} logs of the agent, and no trajectory.json"
        yield Damage(0, 0, f"the trial holds {said}", code="missing-file", taints_run=n_logs > 0)


def _is_lines(source: Source, name: str) -> bool:
    """True where what a tool printed begins with an object."""
    try:
        found = source.child(name)
        return found is not None and found.head(64).lstrip().startswith(b"{")
    except InputError:
        return False


def _with_ids(records: list[Record], result: dict[str, object]) -> Iterator[Record]:
    """The records, with the token ids of `rollout_details` where these fit the completions one to one."""
    rollout = next(iter(as_dicts(as_dict(result.get("agent_result")).get("rollout_details"))), {})
    made = [as_token_ids(each) for each in as_list(rollout.get("completion_token_ids"))]
    sent = [as_token_ids(each) for each in as_list(rollout.get("prompt_token_ids"))]
    completions = [each for each in records if isinstance(each, Event) and each.kind is EventKind.COMPLETION]
    fits = len(made) == len(completions) and not any(each.token_ids for each in completions)
    place = 0
    for record in records:
        if fits and isinstance(record, Event) and record.kind is EventKind.COMPLETION:
            prompt = sent[place] if len(sent) == len(made) else None
            yield msgspec.structs.replace(record, token_ids=made[place], prompt_token_ids=prompt)
            place += 1
        else:
            yield record


def _verified(source: Source, result: dict[str, object], task: str | None) -> Iterator[Record]:
    """Rewards and the test report."""
    verifier = as_dict(result.get("verifier_result"))
    rewards = as_dict(verifier.get("rewards")) or {"reward": verifier.get("reward")}
    told = {
        "result.json": {name: number for name, value in rewards.items() if (number := as_number(value)) is not None}
    }
    for name in _REWARDS if source.is_dir else ():
        found = source.child(name)
        if found is None:
            continue
        told[name] = _rewards_in(found)
        if not told[name]:
            yield Damage(0, 0, f"{name} holds no number", code="reward-sources", taints_run=False)
    yield from _rewards(told)
    if source.is_dir and source.child(_CTRF) is not None:
        yield Include(_CTRF, "tests", suite=task)


def _rewards(told: dict[str, dict[str, int | float]]) -> Iterator[Record]:
    """Outcomes that the trial's files tell, by file; one in which they contradict each other is unknown."""
    for name in dict.fromkeys(name for rewards in told.values() for name in rewards):
        values = {where: rewards[name] for where, rewards in told.items() if name in rewards}
        label = f"the outcome {shortened(name, 60)!r}"
        if len(set(values.values())) > 1:
            said = ", ".join(f"{value} in {where}" for where, value in values.items())
            yield Damage(0, 0, f"{label} is left out: it is {said}", code="reward-sources", taints_run=False)
            continue
        if "result.json" not in values:
            reason = f"{label} stands in {next(iter(values))} alone, and not in result.json"
            yield Damage(0, 0, reason, code="reward-sources", taints_run=False)
        yield OutcomeRecord(name, next(iter(values.values())))


def _rewards_in(found: Source) -> dict[str, int | float]:
    """Rewards in a file of the verifier; what cannot be read is none, and takes nothing from the trial."""
    try:
        text = read_bytes(found).decode("utf-8", "replace").strip()
        value: object = read_document(found) if found.path.endswith(".json") else float(text)
    except (InputError, ValueError):
        return {}
    given = value if isinstance(value, dict) else {"reward": value}
    return {name: number for name, each in given.items() if (number := as_number(each)) is not None}


def _end(result: dict[str, object], trajectory: Trajectory | None) -> RunEnd:
    """A trial that ended without exception ended by itself; a verifier that failed says nothing of the agent."""
    raised = as_dict(result.get("exception_info"))
    kind, ended = as_text(raised.get("exception_type")) or "", as_text(result.get("finished_at"))
    detail = shortened(f"{kind}: {as_text(raised.get('exception_message')) or ''}", 200) if raised else None
    if trajectory is not None and (end := trajectory.end()).reason is EndReason.LOG_TRUNCATED:
        return end
    if not raised or kind.startswith(_OF_VERIFIER):
        return RunEnd(EndReason.FINISHED if ended else EndReason.UNRECORDED, detail, ended)
    words = ((EndReason.TIMEOUT, "Timeout"), (EndReason.CANCELLED, "Cancel"))
    return RunEnd(next((reason for reason, word in words if word in kind), EndReason.ERROR), detail, ended)


READER = Harbor()
