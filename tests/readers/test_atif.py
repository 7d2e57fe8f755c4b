"""ATIF and Harbor: token ids, copied context, continuations and sub-agents; a trial's reward and test report."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import samework as sw
from samework.decode.source import BytesSource, DirSource, FileSource
from samework.errors import DamagedRecord
from samework.model.events import Event
from samework.model.records import Damage, Include, ManifestFact, OutcomeRecord, RunEnd, RunStart
from samework.model.words import EndReason
from samework.readers.atif import READER as ATIF
from samework.readers.harbor import READER as HARBOR
from tests.stores import empty_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def agent_step(number: int, message: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"step_id": number, "source": "agent", "message": message, **more}


def user_step(number: int, message: Any = "do it", **more: Any) -> dict[str, Any]:
    return {"step_id": number, "source": "user", "message": message, **more}


def trajectory(steps: list[Any], version: str = "1.6", **more: Any) -> dict[str, Any]:
    agent = {"name": "a", "version": "1", "model_name": "m"}
    return {"schema_version": f"ATIF-v{version}", "session_id": "s", "agent": agent, "steps": steps} | more


def read(value: dict[str, Any]) -> list[Any]:
    source = BytesSource("trajectory.json", json.dumps(value).encode())
    assert ATIF.sniff(source.head(), source) > 0.9
    return list(ATIF.read(source))


def only(records: list[Any], kind: type) -> list[Any]:
    return [record for record in records if isinstance(record, kind)]


def told(records: list[Any]) -> list[tuple[str, str]]:
    return [(event.kind.value, event.text) for event in only(records, Event)]


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7", "1.8"])
def test_every_version_is_read(version):
    records = read(trajectory([user_step(1), agent_step(2)], version))
    assert told(records) == [("user", "do it"), ("completion", "ok")]
    assert not only(records, Damage)


def test_token_ids_and_usage_are_those_of_the_step():
    metrics = {
        "prompt_tokens": 3,
        "completion_tokens": 2,
        "cached_tokens": 1,
        "prompt_token_ids": [1, 2, 3],
        "completion_token_ids": [4, 5],
    }
    _, event = only(read(trajectory([user_step(1), agent_step(2, metrics=metrics)])), Event)
    assert (event.prompt_token_ids, event.token_ids, event.n_prompt_tokens) == ((1, 2, 3), (4, 5), 3)
    assert (event.usage.prompt_tokens, event.usage.cached_tokens, event.usage.completion_tokens) == (3, 1, 2)
    for odd in ([], "12", [1, -1], [1 << 31], [True], [1.0]):
        (event,) = only(read(trajectory([agent_step(1, metrics={"completion_token_ids": odd})])), Event)
        assert event.token_ids is None


def test_calls_are_not_exact_and_results_answer_them_by_id():
    call = {"tool_call_id": "c1", "function_name": "run", "arguments": {"b": 1, "a": "é"}}
    results = {
        "results": [
            {"source_call_id": "c1", "content": [{"type": "text", "text": "out"}, {"type": "image", "source": {}}]}
        ]
    }
    completion, seen = only(read(trajectory([agent_step(1, tool_calls=[call], observation=results)])), Event)
    (made,) = completion.calls
    assert (made.name, made.arguments, made.exact, made.call_id) == ("run", '{"b":1,"a":"é"}', False, "c1")
    assert seen.call_id == "c1"
    assert seen.text.startswith("out\n<image sha256 ")


def test_copied_context_is_no_second_completion():
    steps = [user_step(1, "all"), agent_step(2, "asked", is_copied_context=True), agent_step(3, "new")]
    assert told(read(trajectory(steps))) == [("user", "all"), ("context_edit", "agent: asked"), ("completion", "new")]


def test_the_commands_of_terminus_are_one_call():
    said = json.dumps({"analysis": "x", "commands": [{"keystrokes": "ls\n", "duration": 0.1}, {"keystrokes": "pwd\n"}]})
    value = trajectory([agent_step(1, said), agent_step(2, "no json"), agent_step(3, '{"commands": []}')])
    value["agent"]["name"] = "terminus-2"
    first, second, third = only(read(value), Event)
    assert [call.arguments for call in first.calls] == [
        '[{"keystrokes":"ls\\n","duration":0.1},{"keystrokes":"pwd\\n"}]'
    ]
    assert (second.calls, third.calls) == ((), ())


def test_trajectories_inside_are_runs_with_their_parent():
    inner = trajectory([agent_step(1, "inner")], trajectory_id="t2", agent={"name": "helper"})
    records = read(trajectory([agent_step(1)], trajectory_id="t1", subagent_trajectories=[inner, inner]))
    starts = only(records, RunStart)
    assert [(start.native_id, start.parent_native_id) for start in starts] == [("t1", None), ("t2", "t1"), ("t2", "t1")]
    assert len({start.task for start in starts}) == 3
    assert len({start.content_sha256 for start in starts}) == 3


def referring(**reference: str) -> dict[str, Any]:
    result = {"source_call_id": "c1", "content": None, "subagent_trajectory_ref": [reference]}
    return agent_step(1, observation={"results": [result]})


def test_a_trajectory_that_a_step_refers_to_is_read_or_named(tmp_path):
    inner = trajectory([agent_step(1, "inner")], session_id="t2")
    by_file, by_id = referring(trajectory_path="sub.json", session_id="t2"), referring(session_id="t2")
    for step, name in ((by_file, "sub.json"), (by_id, "t2")):
        (damage,) = only(read(trajectory([step])), Damage)
        assert (damage.code, damage.taints_run) == ("missing-file", False)
        assert damage.reason.endswith(f"1 trajectory that this source does not hold: {name}")
    assert not only(read(trajectory([by_id], subagent_trajectories=[inner])), Damage)
    for name, value in (("t.json", trajectory([by_file])), ("t.cont-1.json", trajectory([])), ("sub.json", inner)):
        (tmp_path / name).write_text(json.dumps(value))
    records = list(ATIF.read(DirSource(tmp_path)))
    assert [(start.native_id, start.parent_native_id) for start in only(records, RunStart)] == [
        ("s", None),
        ("t2", "s"),
    ]
    assert not only(records, Damage)


def test_a_step_that_called_no_model_is_no_completion():
    metrics = {"prompt_tokens": 30}
    steps = [
        agent_step(1, "auto", llm_call_count=0, tool_calls=[{"function_name": "x"}]),
        agent_step(2, "twice", llm_call_count=2, metrics=metrics),
        agent_step(3, "once", llm_call_count=1, metrics=metrics),
    ]
    auto, twice, once = only(read(trajectory(steps)), Event)
    assert (auto.kind, auto.text) == ("context_edit", 'agent: auto\n[{"function_name":"x"}]')
    assert [(event.usage.prompt_tokens, event.n_prompt_tokens) for event in (twice, once)] == [(30, None), (30, 30)]


def test_totals_that_the_steps_contradict_are_reported_and_the_steps_count():
    records = read(trajectory([agent_step(1), agent_step(2)], final_metrics={"total_steps": 3}))
    assert len(told(records)) == 2
    assert [damage.reason for damage in only(records, Damage)] == ["final_metrics counts 3 steps, the record holds 2"]


def test_a_file_that_goes_on_elsewhere_is_incomplete_and_its_continuation_has_a_parent(tmp_path):
    first = trajectory([user_step(1), agent_step(2, "one")], continued_trajectory_ref="t.cont-1.json")
    second = trajectory([user_step(1, "summary"), agent_step(2, "one", is_copied_context=True), agent_step(3, "two")])
    second["agent"]["extra"] = {"continuation_index": 1}
    (end,) = only(read(first), RunEnd)
    assert end.reason is EndReason.LOG_TRUNCATED
    (start,) = only(read(second), RunStart)
    assert (start.native_id, start.parent_native_id) == ("s.cont-1", "s")
    for name, value in (("t.json", first), ("t.cont-1.json", second), ("u.json", trajectory([agent_step(1)]))):
        (tmp_path / name).write_text(json.dumps(value))
    records = list(ATIF.read(DirSource(tmp_path)))
    assert ATIF.sniff(b"", DirSource(tmp_path)) > 0.9
    assert told(records) == [
        ("user", "do it"),
        ("completion", "one"),
        ("context_edit", "the trajectory goes on in another file, with another context"),
        ("user", "summary"),
        ("context_edit", "agent: one"),
        ("completion", "two"),
    ]
    assert [end.reason for end in only(records, RunEnd)] == [EndReason.UNRECORDED]


def test_a_cut_file_gives_the_steps_before_the_cut_and_is_incomplete():
    data = json.dumps(trajectory([user_step(1), agent_step(2, "one"), agent_step(3, "two")])).encode()
    records = list(ATIF.read(BytesSource("t", data[: data.index(b'"two"')])))
    assert told(records) == [("user", "do it"), ("completion", "one")]
    assert [(damage.code, damage.taints_run) for damage in only(records, Damage)] == [("cut-tail", True)]
    with pytest.raises(DamagedRecord):
        list(ATIF.read(BytesSource("t", data[: data.index(b'"steps"') + 20])))


RESULT = {
    "id": "i",
    "task_name": "hello",
    "trial_name": "hello__abc1234",
    "task_checksum": "c" * 8,
    "config": {"agent": {"name": "a", "model_name": "lab/m", "kwargs": {"temperature": 0.5}}},
    "agent_info": {"name": "a", "version": "1", "model_info": {"name": "m", "provider": "lab"}},
    "agent_result": {"n_input_tokens": 5},
    "verifier_result": {"rewards": {"reward": 1.0}},
    "exception_info": None,
    "finished_at": "2026-01-01T00:00:00Z",
}
CTRF = {
    "reportFormat": "CTRF",
    "results": {
        "tool": {"name": "pytest"},
        "summary": {"tests": 1, "passed": 1, "failed": 0, "pending": 0, "skipped": 0, "other": 0},
        "tests": [{"name": "test_a", "status": "passed"}],
    },
}


def trial(folder: Path, result: dict[str, Any] = RESULT, **files: Any) -> DirSource:
    files = {
        "result.json": result,
        "agent/trajectory.json": trajectory([user_step(1), agent_step(2)]),
        "verifier/ctrf.json": CTRF,
    } | files
    for name, value in files.items():
        if value is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(value if isinstance(value, str) else json.dumps(value))
    return DirSource(folder)


def test_a_trial_is_a_run_with_reward_and_report(tmp_path):
    source = trial(tmp_path)
    assert HARBOR.sniff(b"", source) > 0.9
    records = list(HARBOR.read(source))
    (start,) = only(records, RunStart)
    assert (start.task, start.native_id, start.agent, start.model) == ("hello", "hello__abc1234", "a", "lab/m")
    assert told(records) == [("user", "do it"), ("completion", "ok")]
    assert [(each.name, each.value) for each in only(records, OutcomeRecord)] == [("reward", 1.0)]
    assert [(each.path, each.role, each.suite) for each in only(records, Include)] == [
        ("verifier/ctrf.json", "tests", "hello")
    ]
    facts = {fact.field: fact.value for fact in only(records, ManifestFact)}
    assert (facts["task.checksum"], facts["sampling.temperature"]) == ("c" * 8, 0.5)
    assert [end.reason for end in only(records, RunEnd)] == [EndReason.FINISHED]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("AgentTimeoutError", EndReason.TIMEOUT),
        ("CancelledError", EndReason.CANCELLED),
        ("ValueError", EndReason.ERROR),
        ("VerifierTimeoutError", EndReason.FINISHED),
        ("RewardFileNotFoundError", EndReason.FINISHED),
        ("DownloadVerifierDirError", EndReason.FINISHED),
    ],
)
def test_an_exception_ends_the_run_unless_it_is_the_verifiers(tmp_path, kind, reason):
    raised = {"exception_type": kind, "exception_message": "m"}
    (end,) = only(list(HARBOR.read(trial(tmp_path, RESULT | {"exception_info": raised}))), RunEnd)
    assert (end.reason, end.detail) == (reason, f"{kind}: m")


def test_a_reward_may_stand_in_a_file(tmp_path):
    source = trial(tmp_path, RESULT | {"verifier_result": None}, **{"verifier/reward.txt": "0.25\n"})
    records = list(HARBOR.read(source))
    assert [each.value for each in only(records, OutcomeRecord)] == [0.25]
    assert [damage.reason for damage in only(records, Damage)] == [
        "the outcome 'reward' stands in verifier/reward.txt alone, and not in result.json"
    ]


def test_a_reward_in_which_the_files_of_a_trial_contradict_each_other_is_left_out(tmp_path):
    records = list(HARBOR.read(trial(tmp_path / "a", **{"verifier/reward.txt": "0\n"})))
    assert not only(records, OutcomeRecord)
    (damage,) = only(records, Damage)
    assert (damage.code, damage.taints_run) == ("reward-sources", False)
    assert damage.reason.endswith("it is 1.0 in result.json, 0.0 in verifier/reward.txt")
    more = {"verifier/reward.txt": "1", "verifier/reward.json": {"reward": 1, "speed": 0.5}}
    records = list(HARBOR.read(trial(tmp_path / "b", **more)))
    assert [(each.name, each.value) for each in only(records, OutcomeRecord)] == [("reward", 1.0), ("speed", 0.5)]
    records = list(HARBOR.read(trial(tmp_path / "c", **{"verifier/reward.txt": "none"})))
    assert [each.value for each in only(records, OutcomeRecord)] == [1.0]
    assert [damage.reason for damage in only(records, Damage)] == ["verifier/reward.txt holds no number"]


def test_a_trial_that_has_not_ended_says_so(tmp_path):
    (end,) = only(list(HARBOR.read(trial(tmp_path, RESULT | {"finished_at": None}))), RunEnd)
    assert end.reason is EndReason.UNRECORDED


def test_a_list_of_episodes_is_no_atif_and_still_read(tmp_path):
    source = trial(tmp_path, **{"agent/trajectory.json": [{"episode": 0, "prompt": "p", "response": "r"}]})
    assert told(list(HARBOR.read(source))) == [("user", "p"), ("completion", "r")]


def test_the_log_of_the_agents_own_tool_is_read_where_there_is_no_trajectory(tmp_path):
    source = trial(tmp_path, **{"agent/trajectory.json": None, "agent/sessions/rollout.jsonl": "{}"})
    assert next((each.path, each.role) for each in only(list(HARBOR.read(source)), Include)) == (
        "agent/sessions/rollout.jsonl",
        "transcript",
    )


SESSION = "agent/sessions/projects/-app/5b0f.jsonl"


@pytest.mark.parametrize(
    ("files", "read"),
    [
        ({"agent/claude-code.txt": '{"type": "system"}\n', "agent/setup/stdout.txt": "{}"}, "agent/claude-code.txt"),
        ({"agent/claude-code.txt": "{}\n", SESSION: "{}", "agent/sessions/todos/a.json": "[]"}, SESSION),
        ({SESSION: "{}", "agent/sessions/projects/-app/agent-1.jsonl": "{}", "agent/x.txt": "done"}, SESSION),
        ({SESSION: "{}", "agent/sessions/projects/-app/5b0f/subagents/a.jsonl": "{}"}, SESSION),
        ({SESSION: "{}", f"{SESSION[:-6]}2.jsonl": "{}", "agent/claude-code.txt": "{}\n"}, "agent/claude-code.txt"),
        ({"agent/gemini-cli.trajectory.json": "{}", "agent/settings.json": "{}"}, "agent/gemini-cli.trajectory.json"),
        ({"agent/aider.txt": "# aider\n", "agent/sessions/todos/a.json": "[]"}, None),
        ({SESSION: "{}", f"{SESSION[:-6]}2.jsonl": "{}"}, None),
    ],
)
def test_of_many_logs_of_a_tool_its_session_is_read_else_what_it_printed(tmp_path, files, read):
    records = list(HARBOR.read(trial(tmp_path, **{"agent/trajectory.json": None}, **files)))
    assert [each.path for each in only(records, Include) if each.role == "transcript"] == ([read] if read else [])
    assert len(only(records, Damage)) == (read is None)


def test_ids_of_a_rollout_are_used_only_where_they_fit(tmp_path):
    for made, expected in (([[7, 8]], (7, 8)), ([[7], [8]], None)):
        details = [{"completion_token_ids": made, "prompt_token_ids": [[1]] * len(made)}]
        records = list(HARBOR.read(trial(tmp_path, RESULT | {"agent_result": {"rollout_details": details}})))
        assert [event.token_ids for event in only(records, Event)] == [None, expected]


def test_a_result_alone_gives_the_outcome():
    source = BytesSource("result.json", json.dumps(RESULT).encode())
    assert HARBOR.sniff(source.head(), source) > 0.9
    records = list(HARBOR.read(source))
    assert not only(records, Event)
    assert [each.value for each in only(records, OutcomeRecord)] == [1.0]


def test_trials_and_continuations_are_one_source_each_and_known_again(tmp_path):
    job = tmp_path / "job"
    for name in ("hello__aaaaaaa", "hello__bbbbbbb"):
        extra = {"agent/sessions/x.jsonl": "{}", "verifier/test-stdout.txt": name}
        trial(job / name, RESULT | {"trial_name": name}, **extra)
    (job / "result.json").write_text('{"id": "j", "n_total_trials": 2}')
    loose = tmp_path / "job" / "loose"
    loose.mkdir()
    (loose / "t.json").write_text(
        json.dumps(trajectory([agent_step(1, "one")], continued_trajectory_ref="t.cont-1.json"))
    )
    (loose / "t.cont-1.json").write_text(json.dumps(trajectory([agent_step(1, "two")])))
    with sw.Store(empty_store(tmp_path / "store")) as store:
        summary = store.ingest(job)
        assert (summary.n_new, summary.n_incomplete, summary.n_refused) == (3, 0, 0)
        assert store.ingest(job).n_known == 3
        rows = store.sql("select task, repeat, n_steps from run order by 1, 2").fetchall()
        assert [tuple(row) for row in rows] == [("hello", "1", 1), ("hello", "2", 1), ("t", "1", 2)]
        assert store.sql("select count(*) from test_report").fetchall()[0][0] == 2
        assert store.sql("select count(*) from run_outcome").fetchall()[0][0] == 2


@pytest.mark.shared
def test_counts_of_the_samples_are_those_of_a_plain_walk(shared_path: Callable[..., Path]):
    paths = sorted(shared_path("data", "formats", "atif").glob("*.json"))
    assert len(paths) == 4
    for path in paths:
        records = list(ATIF.read(FileSource(path)))
        steps = json.loads(path.read_bytes())["steps"]
        new = [step for step in steps if not step.get("is_copied_context")]
        results = [each for step in new for each in step.get("observation", {}).get("results", []) if "content" in each]
        kinds = Counter(event.kind.value for event in only(records, Event))
        usages = [event.usage for event in only(records, Event) if event.usage]
        assert kinds["completion"] == sum(step["source"] == "agent" for step in new)
        assert kinds["user"] == sum(step["source"] == "user" for step in new)
        assert kinds["observation"] == len(results)
        assert sum(usage.prompt_tokens for usage in usages) == sum(
            step.get("metrics", {}).get("prompt_tokens", 0) for step in new
        )
        assert not [damage for damage in only(records, Damage) if damage.taints_run]
