"""Prediction files: every shape gives the same partial runs, and null is not an empty patch."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from samework.decode.source import BytesSource, FileSource
from samework.errors import DamagedRecord
from samework.model.reader import Reader
from samework.model.records import Damage, PatchRecord, RunEnd, RunStart
from samework.readers.predictions import READER

DIFF = "diff --git a/a.py b/a.py\n"
ROWS = [
    {"instance_id": "made__up-1", "model_name_or_path": "arm-a", "model_patch": DIFF},
    {"instance_id": "made__up-2", "model_name_or_path": "arm-a", "model_patch": ""},
    {"instance_id": "made__up-3", "model_name_or_path": "arm-a", "model_patch": None},
]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
BY_ID = {row["instance_id"]: row for row in ROWS}
SHAPES = {
    "lines": LINES,
    "lines without the last end": LINES.rstrip(),
    "list": json.dumps(ROWS),
    "pretty list": json.dumps(ROWS, indent=2),
    "object": json.dumps(BY_ID),
    "pretty object": json.dumps(BY_ID, indent=2),
    "object without ids inside": json.dumps({key: {**row, "instance_id": key} for key, row in BY_ID.items()}),
    "byte order mark": "\ufeff" + LINES,
}


def read(text: str) -> list[object]:
    return list(READER.read(BytesSource("preds", text.encode())))


def only(records: list[object], kind: type) -> list:
    return [record for record in records if isinstance(record, kind)]


def sniff(text: str) -> float:
    return READER.sniff(text.encode()[:65536], BytesSource("preds", text.encode()))


def test_it_is_a_reader():
    assert isinstance(READER, Reader)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_gives_the_same_runs(shape):
    assert sniff(SHAPES[shape]) > 0.9
    records = read(SHAPES[shape])
    assert records == read(LINES)
    assert [type(record) for record in records] == [RunStart, PatchRecord, RunEnd] * 3


def test_a_single_prediction_is_a_file_of_one():
    for text in (json.dumps(ROWS[0]), json.dumps(ROWS[0], indent=2)):
        assert read(text) == read(LINES)[:3]


def test_the_task_is_the_key_where_the_record_does_not_name_it():
    rows = {key: {"model_patch": DIFF} for key in ("made__up-1", "made__up-2")}
    assert [start.task for start in only(read(json.dumps(rows)), RunStart)] == ["made__up-1", "made__up-2"]


def test_a_run_is_partial_with_task_arm_and_identity():
    start = read(LINES)[0]
    assert (start.task, start.arm, start.layout, start.is_partial) == ("made__up-1", "arm-a", "swe-bench", True)
    assert len({found.content_sha256 for found in only(read(LINES), RunStart)}) == 3


def test_null_is_no_submission_and_an_empty_text_is_one():
    patches = only(read(LINES), PatchRecord)
    assert [patch.patch for patch in patches] == [DIFF.encode(), b"", None]
    assert [patch.null_reason for patch in patches] == [None, None, "no submission recorded"]


def test_unknown_keys_are_kept():
    assert read(json.dumps({**ROWS[0], "cost": 1.5}))[0].extra == {"cost": 1.5}


def test_a_cut_tail_costs_only_the_last_prediction():
    records = read(LINES[:-20])
    assert len(only(records, RunStart)) == 2
    (damage,) = only(records, Damage)
    assert (damage.code, damage.taints_run) == ("cut-tail", False)
    assert damage.offset == LINES.index('{"instance_id": "made__up-3"')


def test_glued_lines_are_both_read():
    records = read(LINES.replace("}\n{", "}{", 1))
    assert [start.task for start in only(records, RunStart)] == ["made__up-1", "made__up-2", "made__up-3"]
    assert [damage.code for damage in only(records, Damage)] == ["glued-records"]


@pytest.mark.parametrize(
    "row",
    [
        {"instance_id": "x"},
        {"model_patch": DIFF},
        {"instance_id": "x", "model_patch": 7},
        {"instance_id": 3, "model_patch": DIFF},
        7,
    ],
)
def test_a_record_that_is_no_prediction_is_reported_and_the_rest_is_read(row):
    records = read(json.dumps([row, *ROWS]))
    assert len(only(records, Damage)) == 1
    assert len(only(records, RunStart)) == 3


def test_a_file_without_a_prediction_is_refused():
    with pytest.raises(DamagedRecord):
        read('[{"instance_id": "x"}]')
    with pytest.raises(DamagedRecord):
        read(json.dumps(ROWS[0])[:-5])


def test_other_formats_are_not_claimed():
    assert sniff(json.dumps({"trajectory": [], "history": [], "info": {"model_patch": ""}})) == 0
    assert sniff(json.dumps({"instance_id": "a", "patch": DIFF})) == 0
    assert sniff(json.dumps({"text": '"model_patch": 1, "instance_id": 2'})) == 0
    assert sniff("model_patch") == 0


@pytest.mark.shared
def test_real_files_give_a_run_for_each_line(shared_path):
    n_runs = Counter()
    vexp = shared_path("data", "verified-cross", "vexp", "predictions.jsonl")
    for path in (vexp, *sorted(shared_path("data").rglob("all_preds.jsonl"))):
        source = FileSource(path)
        assert READER.sniff(source.head(), source) > 0.9
        rows = [json.loads(line) for line in path.read_text().split("\n") if line]
        records = list(READER.read(source))
        assert [start.task for start in only(records, RunStart)] == [row["instance_id"] for row in rows]
        assert [start.arm for start in only(records, RunStart)] == [row["model_name_or_path"] for row in rows]
        assert [patch.patch for patch in only(records, PatchRecord)] == [
            None if row["model_patch"] is None else row["model_patch"].encode() for row in rows
        ]
        n_runs[path.name] += len(rows)
    assert n_runs == {"all_preds.jsonl": 149, "predictions.jsonl": 100}
