"""mini-swe-agent: one command per accepted reply, what the model saw, and a submission only where it submitted."""

from __future__ import annotations

import io
import json
import re

import pytest

from samework.decode.source import BytesSource, FileSource
from samework.errors import DamagedRecord
from samework.model.events import Event
from samework.model.reader import Reader
from samework.model.records import Damage, ManifestFact, PatchRecord, RunEnd, RunStart
from samework.model.words import Absence, EndReason, EventKind, FieldSource, Grade
from samework.readers.mini_swe_agent import READER

DIFF = "diff --git a/a.py b/a.py\n"
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff --cached"


def reply(*commands: str, fence: str = "bash") -> dict:
    blocks = "\n".join(f"```{fence}\n{command}\n```" for command in commands)
    return {"role": "assistant", "content": f"THOUGHT: so.\n\n{blocks}"}


USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "prompt_tokens_details": {"cached_tokens": 60},
    "completion_tokens_details": {"reasoning_tokens": 5},
}
RESPONSE = {
    "id": "gen-1",
    "provider": "Google",
    "model": "g/served",
    "created": 1763508910,
    "choices": [
        {"message": {"reasoning": "hm", "reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}},
    ],
    "usage": USAGE,
}
CONFIG = {
    "agent": {"step_limit": 250},
    "model": {
        "model_name": "g/asked",
        "model_kwargs": {"temperature": 0.0, "api_key": "do-not-keep", "drop_params": True},
    },
    "environment": {"image": "img", "cwd": "/testbed"},
}
V1 = {
    "info": {
        "exit_status": "Submitted",
        "submission": DIFF,
        "model_stats": {"api_calls": 3},
        "mini_version": "1.15.0",
        "config": CONFIG,
    },
    "messages": [
        {"role": "system", "content": "Your response must contain exactly ONE bash code block."},
        {"role": "user", "content": "Mend a.py."},
        {**reply("ls"), "extra": {"response": RESPONSE}},
        {"role": "user", "content": "<returncode>0</returncode>\n<output>\na.py\n</output>"},
        reply("ls", "pwd"),
        {"role": "user", "content": "Please always provide EXACTLY ONE action."},
        reply(SUBMIT),
        {"role": "user", "content": DIFF},
    ],
    "trajectory_format": "mini-swe-agent-1",
    "instance_id": "made__up-1",
}
V11 = {
    "info": {"exit_status": "Submitted", "submission": DIFF, "mini_version": "2.4.6", "config": CONFIG},
    "messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {
            "role": "assistant",
            "content": "both",
            "tool_calls": [],
            "extra": {
                "actions": [{"command": "ls", "tool_call_id": "call_a"}, {"command": "pwd", "tool_call_id": "call_b"}],
                "timestamp": 1795964007.5,
            },
        },
        {"role": "tool", "tool_call_id": "call_b", "content": "seen b", "extra": {"raw_output": "b", "returncode": 0}},
        {"role": "tool", "tool_call_id": "call_a", "content": "seen a", "extra": {"raw_output": "a", "returncode": 2}},
        {"role": "exit", "content": DIFF, "extra": {"exit_status": "Submitted", "submission": DIFF}},
    ],
    "trajectory_format": "mini-swe-agent-1.1",
}
BARE = V1["messages"]


class Unseekable(BytesSource):
    """Bytes that can only be read forward, as those of a compressed file."""

    def open(self) -> io.BufferedReader:
        class Forward(io.RawIOBase):
            rest = io.BytesIO(self.data)

            def readable(self) -> bool:
                return True

            def readinto(self, buffer: bytearray) -> int:
                return self.rest.readinto(buffer)

        return io.BufferedReader(Forward())


def source(document: object, name: str = "x.traj.json") -> BytesSource:
    return BytesSource(name, json.dumps(document).encode())


def read(document: object, name: str = "x.traj.json") -> list[object]:
    return list(READER.read(source(document, name)))


def only(records: list[object], kind: type) -> list:
    return [record for record in records if isinstance(record, kind)]


def commands(records: list[object]) -> list[str]:
    return [call.arguments for event in only(records, Event) for call in event.calls]


def sniff(document: object, n_bytes: int = 65536) -> float:
    given = source(document)
    return READER.sniff(given.head(n_bytes), given)


def with_info(**info: object) -> dict:
    return {**V1, "info": {**V1["info"], **info}}


def test_it_is_a_reader():
    assert isinstance(READER, Reader)


def test_events_of_a_v1_run_and_a_rejected_reply_has_no_call():
    records = read(V1)
    assert isinstance(records[0], RunStart)
    assert isinstance(records[-1], RunEnd)
    events = only(records, Event)
    assert [event.kind.value for event in events] == [
        "system",
        "user",
        "completion",
        "observation",
        "completion",
        "user",
        "completion",
    ]
    assert commands(records) == ["ls", SUBMIT]
    assert events[3].call_id == events[2].calls[0].call_id
    assert events[3].exit_status == 0


def test_start_names_task_layout_and_recorder():
    start = read(V1)[0]
    assert (start.task, start.layout, start.agent, start.model) == (
        "made__up-1",
        "swe-bench",
        "mini-swe-agent",
        "g/asked",
    )
    assert start.recorder == "mini-swe-agent 1.15.0"


def test_the_reply_of_the_provider_gives_usage_reasoning_and_time():
    event = next(event for event in only(read(V1), Event) if event.kind is EventKind.COMPLETION)
    usage = event.usage
    assert (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens, usage.reasoning_tokens) == (
        100,
        60,
        20,
        5,
    )
    assert (event.reasoning, event.reasoning_hidden) == ("hm", True)
    assert event.time == "2025-11-18T23:35:10+00:00"


def test_the_model_that_answered_is_measured_and_the_one_asked_for_declared():
    facts = {fact.field: fact for fact in only(read(V1), ManifestFact)}
    assert (facts["model.id"].value, facts["model.id"].source) == ("g/served", FieldSource.MEASURED)
    assert (facts["model.id_requested"].value, facts["model.id_requested"].source) == ("g/asked", FieldSource.DECLARED)
    assert facts["engine.version"].absence is Absence.UNOBSERVABLE
    assert (facts["sampling.temperature"].value, facts["environment.image"].value) == (0.0, "img")
    assert facts["workspace.root"].value == "/testbed"
    assert "do-not-keep" not in repr(read(V1))


def test_parallel_results_are_linked_by_their_ids_and_shown_as_the_model_saw_them():
    records = read(V11)
    assert commands(records) == ["ls", "pwd"]
    observations = [event for event in only(records, Event) if event.kind is EventKind.OBSERVATION]
    assert [(event.text, event.call_id, event.exit_status) for event in observations] == [
        ("seen b", "call_b", 0),
        ("seen a", "call_a", 2),
    ]
    assert not any(event.text == DIFF for event in only(records, Event))


def test_tool_calls_without_recorded_actions_give_their_command():
    call = {"id": "c1", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    odd = {"id": "c2", "function": {"name": "bash", "arguments": "not json"}}
    messages = [{"role": "assistant", "content": None, "tool_calls": [call, odd]}]
    assert commands(read({**V11, "messages": messages})) == ["ls", "not json"]


def test_an_action_without_a_command_taints_the_run():
    messages = [{"role": "assistant", "content": "", "extra": {"actions": [{"command": None}, {"command": "ls"}]}}]
    records = read({**V11, "messages": messages})
    assert commands(records) == ["ls"]
    assert [damage.taints_run for damage in only(records, Damage)] == [True]


def test_a_bare_list_submits_by_its_last_command():
    assert sniff(BARE) > 0
    records = read(BARE)
    assert commands(records) == ["ls", SUBMIT]
    (patch,) = only(records, PatchRecord)
    assert (patch.patch, patch.grade) == (DIFF.encode(), Grade.DERIVED)
    assert records[-1].reason is EndReason.FINISHED


def test_a_bare_list_that_was_not_submitted_has_no_patch():
    records = read(BARE[:4])
    (patch,) = only(records, PatchRecord)
    assert patch.patch is None
    assert records[-1].reason is EndReason.UNRECORDED
    assert [event.kind for event in only(records, Event)][-1] is EventKind.OBSERVATION


def test_an_empty_submission_counts_only_where_the_run_submitted():
    def patch(document: dict) -> bytes | None:
        (found,) = only(read(document), PatchRecord)
        assert (found.null_reason is None) == (found.patch is not None)
        return found.patch

    assert patch(with_info(submission="")) == b""
    assert patch(with_info(submission="", exit_status="LimitsExceeded")) is None
    assert patch(with_info(submission="Connection refused", exit_status="APIError")) is None
    assert patch(with_info(submission=None)) is None
    assert patch(with_info(submission=DIFF, exit_status="LimitsExceeded")) == DIFF.encode()


def test_the_last_observation_of_a_run_that_broke_off_is_kept():
    document = {**with_info(exit_status="APIError", submission="boom"), "messages": V1["messages"][:4]}
    records = read(document)
    assert [event.kind for event in only(records, Event)][-1] is EventKind.OBSERVATION
    assert (records[-1].reason, records[-1].detail) == (EndReason.ERROR, "APIError")


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("Submitted", EndReason.FINISHED),
        ("LimitsExceeded", EndReason.LIMIT),
        ("KeyboardInterrupt", EndReason.CANCELLED),
        ("RuntimeError", EndReason.ERROR),
        (None, EndReason.UNRECORDED),
    ],
)
def test_exit_status_names_the_end_reason(status, reason):
    assert read(with_info(exit_status=status))[-1] == RunEnd(reason, detail=status)


def test_the_format_is_found_at_the_end_of_a_long_file():
    long = {"info": {"submission": "x" * 200_000}, "messages": [], "trajectory_format": "mini-swe-agent-1"}
    assert sniff(long) == 1.0
    assert READER.sniff(source(long).head(), Unseekable("x", source(long).data)) == 1.0


def test_other_formats_are_not_claimed():
    assert sniff([{"role": "system", "content": "s"}, {"role": "user", "content": "```bash\nls\n```"}]) == 0
    assert sniff({"trajectory": [{"action": "a", "observation": "b", "response": "c"}], "info": {}}) == 0
    assert sniff({"messages": [{"role": "user", "content": '"trajectory_format": "mini-swe-agent-1"'}]}) == 0


def test_a_message_list_is_needed():
    with pytest.raises(DamagedRecord):
        read({"trajectory_format": "mini-swe-agent-1", "info": {}})


def test_a_reply_of_openings_without_an_end_is_read_in_one_pass():
    messages = [{"role": "assistant", "content": "```bash\nx" * 200_000}]
    assert commands(read({**V1, "messages": messages})) == []


@pytest.mark.shared
def test_commands_of_real_runs_are_those_of_their_messages(shared_path):
    n_runs = n_rejected = 0
    for path in sorted(shared_path("data", "verified-cross", "mini-gemini3", "trajs").glob("*/*.traj.json")):
        given, document = FileSource(path), json.loads(path.read_bytes())
        assert READER.sniff(given.head(), given) == 1.0
        records = list(READER.read(given))
        replies = [message["content"] for message in document["messages"] if message["role"] == "assistant"]
        blocks = [re.findall(r"```bash\s*\n(.*?)\n```", text, re.DOTALL) for text in replies]
        assert commands(records) == [found[0].strip() for found in blocks if len(found) == 1]
        n_observed = sum(event.kind is EventKind.OBSERVATION for event in only(records, Event))
        assert n_observed == sum(message["content"].startswith("<returncode>") for message in document["messages"])
        (patch,) = only(records, PatchRecord)
        assert patch.patch == document["info"]["submission"].encode()
        assert records[0].task == path.parent.name
        n_rejected += sum(len(found) != 1 for found in blocks)
        n_runs += 1
    assert n_runs == 99
    assert n_rejected > 0


@pytest.mark.shared
def test_real_samples_of_every_version_are_claimed_and_whole(shared_path):
    paths = sorted(shared_path("data", "formats", "mini-swe-agent").rglob("*.json"))
    assert len(paths) == 10
    for path in paths:
        given = FileSource(path)
        assert READER.sniff(given.head(), given) > 0
        assert not only(list(READER.read(given)), Damage)


@pytest.mark.shared
def test_generated_runs_have_the_commands_that_were_scripted(shared_path):
    folder = shared_path("data", "formats", "mini-swe-agent", "generated-fix-add")
    for path in sorted(folder.glob("*.traj.json")):
        document = json.loads(path.read_bytes())
        scripted = [
            json.loads(call["function"]["arguments"])["command"]
            for message in document["messages"]
            for call in message.get("tool_calls") or []
        ]
        assert commands(list(READER.read(FileSource(path)))) == scripted
        assert len(scripted) == 5


@pytest.mark.shared
def test_nothing_submitted_and_nothing_recorded_are_told_apart(shared_path):
    folder = shared_path("cases", "traj-patch-null")
    patches = [
        only(list(READER.read(FileSource(folder / name))), PatchRecord)[0].patch
        for name in ("empty.traj.json", "null.traj.json")
    ]
    assert patches == [b"", None]
