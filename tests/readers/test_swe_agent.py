"""SWE-agent: three generations, one unit of action, and an empty submission that is not a missing one."""

from __future__ import annotations

import json

import pytest

from samework.decode.source import BytesSource, FileSource
from samework.errors import DamagedRecord
from samework.model.events import Event
from samework.model.reader import Reader
from samework.model.records import Damage, ManifestFact, PatchRecord, RunEnd, RunStart
from samework.model.words import EndReason, EventKind, FieldSource
from samework.readers.swe_agent import READER

COMMIT = "0123456789abcdef0123456789abcdef01234567"
DIFF = "diff --git a/a.py b/a.py\n"
OLD = {
    "environment": "swe_main",
    "trajectory": [
        {
            "action": "ls\n",
            "observation": "a.py\n",
            "response": "I look.\n```\nls\n```",
            "state": "{}\n",
            "thought": "t",
        },
        {
            "action": "submit\n",
            "observation": "",
            "response": "Done.\n```\nsubmit\n```",
            "state": "{}\n",
            "thought": "",
        },
    ],
    "history": [
        {"role": "system", "content": "You are a programmer.", "agent": "primary"},
        {"role": "user", "content": "A demonstration.", "agent": "primary", "is_demo": True},
        {"role": "user", "content": "Mend a.py.", "agent": "primary"},
        {"role": "assistant", "content": "I look.\n```\nls\n```", "thought": "t", "action": "ls\n", "agent": "primary"},
        {"role": "user", "content": "a.py\nbash-$", "agent": "primary"},
    ],
    "info": {"exit_status": "submitted", "submission": DIFF, "model_stats": {"api_calls": 2}},
}
CONFIG = {
    "problem_statement": {"id": "made__up-1"},
    "env": {"repo": {"base_commit": COMMIT, "repo_name": "up"}, "deployment": {"image": "img"}},
    "agent": {
        "model": {
            "name": "some-model",
            "temperature": 0.0,
            "top_p": 1.0,
            "completion_kwargs": {"seed": 7, "api_base": "http://elsewhere"},
            "api_key": "do-not-keep",
        }
    },
}


def read(document: object, name: str = "x.traj") -> list[object]:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return list(READER.read(BytesSource(name, data)))


def only(records: list[object], kind: type) -> list:
    return [record for record in records if isinstance(record, kind)]


def actions(records: list[object]) -> list[str]:
    return [call.arguments for event in only(records, Event) for call in event.calls]


def sniff(document: object) -> float:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return READER.sniff(data[:65536], BytesSource("x", data))


def test_it_is_a_reader():
    assert isinstance(READER, Reader)


def test_events_of_an_old_run_come_in_the_order_in_which_they_happened():
    records = read(OLD)
    assert isinstance(records[0], RunStart)
    assert isinstance(records[-1], RunEnd)
    assert [(event.kind, event.text) for event in only(records, Event)] == [
        (EventKind.SYSTEM, "You are a programmer."),
        (EventKind.USER, "A demonstration."),
        (EventKind.USER, "Mend a.py."),
        (EventKind.COMPLETION, "I look.\n```\nls\n```"),
        (EventKind.OBSERVATION, "a.py\n"),
        (EventKind.COMPLETION, "Done.\n```\nsubmit\n```"),
        (EventKind.OBSERVATION, ""),
    ]


def test_an_observation_answers_the_call_before_it():
    events = only(read(OLD), Event)
    assert [call.call_id for event in events for call in event.calls] == ["s1.0", "s2.0"]
    assert [event.call_id for event in events if event.kind is EventKind.OBSERVATION] == ["s1.0", "s2.0"]


def test_an_empty_action_is_an_action():
    steps = [{**OLD["trajectory"][0], "action": ""}]
    assert actions(read({**OLD, "trajectory": steps})) == [""]


@pytest.mark.parametrize("as_text", [False, True])
def test_replay_config_is_read_as_an_object_and_as_json_text(as_text):
    records = read({**OLD, "replay_config": json.dumps(CONFIG) if as_text else CONFIG})
    start = records[0]
    assert (start.task, start.layout, start.model) == ("made__up-1", "swe-bench", "some-model")
    assert (start.base_commit, start.repo) == (COMMIT, "up")
    facts = {fact.field: fact.value for fact in only(records, ManifestFact)}
    assert facts == {
        "model.id": "some-model",
        "sampling.temperature": 0.0,
        "sampling.top_p": 1.0,
        "sampling.seed": 7,
        "environment.image": "img",
        "base.commit_requested": COMMIT,
    }
    assert {fact.source for fact in only(records, ManifestFact)} == {FieldSource.DECLARED}


def test_no_key_or_address_of_the_provider_is_kept():
    assert not any(word in repr(read({**OLD, "replay_config": CONFIG})) for word in ("do-not-keep", "elsewhere"))


def test_a_symbolic_base_commit_is_requested_and_not_known():
    config = {**CONFIG, "env": {"repo": {"base_commit": "HEAD"}}}
    records = read({**OLD, "replay_config": config})
    assert records[0].base_commit is None
    assert ("base.commit_requested", "HEAD") in [(fact.field, fact.value) for fact in only(records, ManifestFact)]


def test_replay_config_that_is_no_json_costs_only_itself():
    damages = only(read({**OLD, "replay_config": "{'a'"}), Damage)
    assert [(damage.code, damage.taints_run) for damage in damages] == [("replay-config", False)]


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("runs/django__django-11039.traj", "django__django-11039"),
        ("swe-agent__test-repo-i1.traj", "swe-agent__test-repo-i1"),
        ("default__t-0.20__p-0.95__install-1.traj", None),
        ("done.traj", None),
    ],
)
def test_the_name_of_the_file_is_the_task_where_it_is_an_instance_id(name, task):
    assert read(OLD, name)[0].task == task


def test_an_empty_submission_is_a_patch_and_a_missing_one_is_none():
    def patch(info: dict) -> PatchRecord:
        (found,) = only(read({**OLD, "info": info}), PatchRecord)
        return found

    assert patch({"exit_status": "submitted", "submission": ""}).patch == b""
    assert patch({"exit_status": "submitted", "submission": DIFF}).patch == DIFF.encode()
    for info in ({"exit_status": "exit_cost", "submission": None}, {"exit_status": "exit_cost"}, {}):
        found = patch(info)
        assert found.patch is None
        assert found.null_reason.startswith("no submission recorded")


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("submitted", EndReason.FINISHED),
        ("submitted (exit_cost)", EndReason.LIMIT),
        ("submitted (exit_environment_error)", EndReason.CRASH),
        ("exit_cost", EndReason.LIMIT),
        ("exit_context", EndReason.LIMIT),
        ("exit_total_execution_time", EndReason.TIMEOUT),
        ("early_exit", EndReason.CRASH),
        ("exit_format", EndReason.ERROR),
        (None, EndReason.UNRECORDED),
    ],
)
def test_exit_status_names_the_end_reason(status, reason):
    end = read({**OLD, "info": {"exit_status": status}})[-1]
    assert (end.reason, end.detail) == (reason, status)


def test_a_file_of_history_alone_is_read_from_it():
    history = [
        {"role": "system", "content": "s", "agent": "main", "message_type": "system_prompt"},
        {"role": "assistant", "content": "demo", "is_demo": True, "agent": "main"},
        {"role": "user", "content": "u", "agent": "main", "message_type": "observation"},
        {"role": "assistant", "content": "c", "action": "ls", "agent": "main", "message_type": "action"},
        {"role": "tool", "content": "o", "tool_call_ids": ["x"], "agent": "main", "message_type": "observation"},
    ]
    assert sniff({"history": history}) > 0
    records = read({"history": history})
    assert [event.kind for event in only(records, Event)] == [
        EventKind.SYSTEM,
        EventKind.USER,
        EventKind.USER,
        EventKind.COMPLETION,
        EventKind.OBSERVATION,
    ]
    assert actions(records) == ["ls"]


def test_another_image_is_another_text():
    texts = []
    for data in ("aa", "bb"):
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        entries = [{"role": "user", "content": [{"type": "text", "text": "see "}, image]}, *OLD["history"][3:]]
        texts += [event.text for event in only(read({"history": entries}), Event) if event.kind is EventKind.USER][:1]
    assert texts[0] == "see <image_url sha256 d93df79e8eb6724d>"
    assert texts[0] != texts[1]


def test_thinking_is_reasoning_and_redacted_thinking_is_hidden():
    step = OLD["trajectory"][0]
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "redacted_thinking", "data": "x"}]
    (event,) = [
        event
        for event in only(read({**OLD, "trajectory": [{**step, "thinking_blocks": blocks}]}), Event)
        if event.kind is EventKind.COMPLETION
    ]
    assert (event.reasoning, event.reasoning_hidden) == ("hm", True)


@pytest.mark.parametrize(("best", "want"), [(0, ["first"]), (None, ["second"]), (9, ["second"])])
def test_of_several_attempts_the_best_or_else_the_last_is_read_and_the_others_reported(best, want):
    attempts = [
        {"trajectory": [{"action": word, "observation": "", "response": ""}], "info": {}}
        for word in ("first", "second")
    ]
    records = read({"attempts": attempts, "info": {"best_attempt_idx": best}})
    assert actions(records) == want
    assert [(damage.code, damage.taints_run) for damage in only(records, Damage)] == [("other-attempts", False)]


def test_a_step_that_is_no_object_taints_the_run_and_costs_only_itself():
    records = read({**OLD, "trajectory": [OLD["trajectory"][0], 7, OLD["trajectory"][1]]})
    assert actions(records) == ["ls\n", "submit\n"]
    assert [damage.taints_run for damage in only(records, Damage)] == [True]


def test_a_document_without_steps_or_history_is_refused():
    with pytest.raises(DamagedRecord):
        read({"info": {}})


def test_a_file_whose_first_texts_are_long_is_claimed_by_its_head():
    assert sniff({**OLD, "trajectory": [{**OLD["trajectory"][0], "observation": "x" * 90_000}]}) > 0
    history = [{"role": "user", "agent": "primary", "is_demo": True, "content": "x" * 90_000}, *OLD["history"]]
    assert sniff({"history": history}) > 0


def test_other_formats_are_not_claimed():
    assert sniff(OLD) > 0.9
    assert sniff({"trajectory_format": "mini-swe-agent-1", "messages": [], "info": {}}) == 0
    assert sniff({"instance_id": "a", "history": [{"id": 0, "action": "run", "args": {}, "message": "m"}]}) == 0
    assert sniff([OLD]) == 0
    assert sniff(b"\xff\xfe\x00{") == 0


@pytest.mark.shared
def test_actions_of_real_runs_are_those_of_their_steps(shared_path):
    n_runs = 0
    for path in sorted(shared_path("data", "swe-agent-lite").glob("cost_2_*/*.traj")):
        source, document = FileSource(path), json.loads(path.read_bytes())
        assert READER.sniff(source.head(), source) > 0.9
        records = list(READER.read(source))
        assert actions(records) == [step["action"] for step in document["trajectory"]]
        assert records[0].task == path.stem
        submission = document["info"].get("submission")
        (patch,) = only(records, PatchRecord)
        assert patch.patch == (None if submission is None else submission.encode())
        n_runs += 1
    assert n_runs == 153


@pytest.mark.shared
def test_every_generation_of_real_files_is_claimed_and_whole(shared_path):
    paths = sorted(shared_path("data", "formats", "swe-agent").rglob("*.traj"))
    assert len(paths) == 13
    for path in paths:
        source, document = FileSource(path), json.loads(path.read_bytes())
        assert READER.sniff(source.head(), source) > 0
        records = list(READER.read(source))
        assert not only(records, Damage)
        recorded = document.get("trajectory") or [
            entry for entry in document["history"] if entry["role"] == "assistant" and not entry.get("is_demo")
        ]
        assert actions(records) == [step["action"] for step in recorded]


@pytest.mark.shared
def test_an_unfinished_file_is_damaged_and_one_without_status_is_not(shared_path):
    folder = shared_path("cases", "traj-cut-off")
    cut = FileSource(folder / "cut.traj")
    assert READER.sniff(cut.head(), cut) > 0
    with pytest.raises(DamagedRecord):
        list(READER.read(cut))
    assert list(READER.read(FileSource(folder / "noinfo.traj")))[-1] == RunEnd()
    assert list(READER.read(FileSource(folder / "done.traj")))[-1].reason is EndReason.FINISHED
