"""Masks, canonical arguments and the digests of a run: worked values, and what must and must not be equal."""

from __future__ import annotations

import json
import math

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from samework.canon.arguments import canonical_arguments, canonical_value
from samework.canon.digester import FacetDigest, RunDigester, parts_digest
from samework.canon.masks import Masker
from samework.model.events import Event, ToolCall, Usage
from samework.model.words import EventKind, Grade

COMPLETION, OBSERVATION, USER = EventKind.COMPLETION, EventKind.OBSERVATION, EventKind.USER


def facets(*events: Event, tokenizer: str | None = "tok", recorder: str | None = "rec 1") -> dict[str, FacetDigest]:
    digester = RunDigester(tokenizer=tokenizer, recorder=recorder)
    for event in events:
        digester.add(event)
    return {facet.facet: facet for facet in digester.facets()}


def test_equal_values_of_other_spelling_have_one_canonical_form() -> None:
    assert canonical_arguments('{"b":1,"a":1.0}') == canonical_arguments('{"a":1,"b":1}') == '{"a":1,"b":1}'


@pytest.mark.parametrize(
    "raw", ['{"a":1,"a":2}', "{", "", '{"a":NaN}', '{"a":"\\ud800"}', '{"a":1e400}', "[" * 5000, '{"a":Infinity}']
)
def test_what_has_no_canonical_form_stays_its_own_text(raw: str) -> None:
    assert canonical_arguments(raw) == "raw:" + raw


def test_integers_beyond_doubles_stay_apart() -> None:
    assert canonical_arguments("9007199254740993") == '{"$int":"9007199254740993"}'
    assert canonical_arguments("9007199254740993") != canonical_arguments("9007199254740992")
    assert canonical_arguments("-0") == canonical_arguments("0") == "0"


def test_an_object_that_looks_like_a_tagged_integer_is_not_it() -> None:
    assert canonical_arguments('{"n":9007199254740993}') == '{"n":{"$int":"9007199254740993"}}'
    assert canonical_arguments('{"n":{"$int":"9007199254740993"}}') == '{"n":{"$$int":"9007199254740993"}}'
    assert canonical_arguments('{"$int": "1"}') == canonical_arguments('{"\\u0024int":"1"}') == '{"$$int":"1"}'
    assert canonical_arguments('{"$$int":1,"int":2,"a$int":3}') == '{"$$$int":1,"a$int":3,"int":2}'
    assert canonical_value({"$int": "9007199254740993"}) != canonical_value(9007199254740993)
    long = "7" * 5000
    assert canonical_arguments(f'[{long},{{"$int":"{long}"}}]') == f'[{{"$int":"{long}"}},{{"$$int":"{long}"}}]'


def test_a_double_is_not_the_integer_that_it_is_written_as() -> None:
    """RFC 8785 writes 1e16 in digits; as an integer of more than 53 bits these are tagged, so the two stay apart."""
    assert canonical_arguments("1e16") == "10000000000000000"
    assert canonical_arguments("10000000000000000") == '{"$int":"10000000000000000"}'


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=3), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(_json, st.booleans(), st.booleans())
def test_the_quick_way_and_the_careful_way_agree(value: object, spaced: bool, ascii_only: bool) -> None:
    raw = json.dumps(value, separators=None if spaced else (",", ":"), ensure_ascii=ascii_only)
    assert canonical_arguments(raw) == rfc8785.dumps(value).decode()  # type: ignore[arg-type]


@given(_json)
def test_the_canonical_form_is_that_of_rfc_8785(value: object) -> None:
    assert canonical_value(value) == rfc8785.dumps(value).decode()  # type: ignore[arg-type]


@pytest.mark.parametrize("first", [*range(0, 0x10000, 0x1000), 0x1F000, 0x10F000])
def test_every_code_point_is_escaped_and_ordered_as_in_rfc_8785(first: int) -> None:
    points = [chr(point) for point in range(first, first + 0x1000) if not 0xD800 <= point <= 0xDFFF]
    for value in (points, dict.fromkeys(points), {point: point for point in reversed(points)}):
        assert canonical_value(value) == rfc8785.dumps(value).decode()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    [
        {"\ufb33": 1, "\U0001f600": 2, "a": 3},  # by code point the other way round than by UTF-16 units
        {"a": 1.0, "b": 1e21, "c": -0.0, "d": [5e-324]},
        {"b": [{"d": [True, None, 2**53 - 1], "c": "x"}], "a": -(2**53) + 1, "": {}},
        [[[[[]]]]],
        json.loads("[" * 190 + '{"b":1,"a":"é"}' + "]" * 190),
    ],
)
def test_the_canonical_form_of_edges_is_that_of_rfc_8785(value: object) -> None:
    assert canonical_value(value) == rfc8785.dumps(value).decode()  # type: ignore[arg-type]


def test_what_has_no_canonical_value_is_refused_and_a_long_integer_is_tagged() -> None:
    for value in ({"a": "\ud800"}, {"\udfff": 1}, math.inf, [math.nan]):
        with pytest.raises(ValueError):  # noqa: PT011 (the documented type)
            canonical_value(value)
    assert canonical_value({"b": [2**53], "a": -(2**64)}) == (
        '{"a":{"$int":"-18446744073709551616"},"b":[{"$int":"9007199254740992"}]}'
    )


def test_the_same_tmp_file_twice_is_not_two_files() -> None:
    same, other = Masker(), Masker()
    assert [same.mask("/tmp/x1"), same.mask("/tmp/x1")] == ["<TMP:1>", "<TMP:1>"]
    assert [other.mask("/tmp/y1"), other.mask("/tmp/y2")] == ["<TMP:1>", "<TMP:2>"]


_words = st.lists(
    st.sampled_from(["/tmp/a", "/tmp/b", "/w", "<TMP:1>", "<TMP:2>", "<\\TMP:1>", "<WS>", "<\\\\WS>"]), max_size=4
)


@given(_words, _words)
def test_only_masked_values_pass_for_masked_values(a: list[str], b: list[str]) -> None:
    """Equal after masking is equal up to the names of temporary files, whatever else the texts say."""

    def renamed(words: list[str]) -> list[object]:
        files = list(dict.fromkeys(word for word in words if word.startswith("/tmp/")))
        return [files.index(word) if word in files else word for word in words]

    masked = [Masker(("/w",)).mask(" ".join(words)) for words in (a, b)]
    assert (masked[0] == masked[1]) == (renamed(a) == renamed(b))


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("id 123e4567-e89b-12d3-a456-426614174000.", "id <UUID:1>."),
        ("at 2026-11-29T14:52:24.897Z", "at <TIME:1>"),
        ("<A at 0xdeadbeef01>", "<A at <ADDR:1>>"),
        ("3 passed in 0.12s", "3 passed in <DURATION:1>"),
        ("Ran 3 tests in 0.012s", "Ran 3 tests in <DURATION:1>"),
        ("Chunk ID: 1f2e3d\nWall time: 0.0502 seconds\nok", "Chunk ID: <CHUNK:1>\nWall time: <DURATION:1>\nok"),
        ("http://localhost:8080/", "http://localhost:<PORT:1>/"),
        ("cat /srv/agent/repo/a.py", "cat <WS>/a.py"),
        ("cat /srv/agent/repository", "cat /srv/agent/repository"),
        ("rm /etc/srv/agent/repo /srv/agent/repo~ ~/srv/agent/repo", None),
        ('rm "$HOME"/srv/agent/repo $(pwd)/srv/agent/repo', None),
        ('{"c":"ls \\"/srv/agent/repo\\"\\n/srv/agent/repo/run"}', '{"c":"ls \\"<WS>\\"\\n<WS>/run"}'),
        ("cc -I/srv/agent/repo/h A=/srv/agent/repo:/x >/srv/agent/repo/o", "cc -I<WS>/h A=<WS>:/x ><WS>/o"),
        ("open(r'/srv/agent/repo/a') file:///srv/agent/repo", "open(r'<WS>/a') file://<WS>"),
        ("\x1b[36m/srv/agent/repo/a\x1b[0m", "\x1b[36m<WS>/a\x1b[0m"),
        ("rm /srv/agent/repo/tmp/a ~/tmp/a /var/tmp/a", "rm <WS>/tmp/a ~/tmp/a /var/tmp/a"),
        ("run 2>/tmp/err", "run 2><TMP:1>"),
        ("0x10 and version 2026-11-29", "0x10 and version 2026-11-29"),
    ],
)
def test_masks(text: str, masked: str | None) -> None:
    """None: nothing is masked."""
    assert Masker(("/srv/agent/repo",)).mask(text) == (text if masked is None else masked)


def test_roots_of_one_run_are_told_apart_and_one_in_another_goes_with_it() -> None:
    masker = Masker(("/w", "/w/sub", "/v/", "relative", "/w"))
    assert masker.mask("/w/x /w/sub/x /v/x relative/x") == "<WS>/x <WS>/sub/x <WS:2>/x relative/x"
    assert masker.mask("<WS:2> <WS>/tmp/x") == "<\\WS:2> <\\WS><TMP:1>"


@given(st.text(st.characters(exclude_characters="<"), max_size=60))
def test_masking_says_how_much_it_hid(text: str) -> None:
    masker = Masker()
    assert (masker.mask(text) == text) == (masker.n_masked_bytes == 0)


@given(st.lists(st.binary(max_size=4), max_size=4), st.lists(st.binary(max_size=4), max_size=4))
def test_no_two_splits_of_bytes_share_a_digest(a: list[bytes], b: list[bytes]) -> None:
    assert (parts_digest(*a) == parts_digest(*b)) == (a == b)


def test_calls_of_one_turn_are_not_those_of_two() -> None:
    a, b = ToolCall("t", '{"a":1}'), ToolCall("t", '{"a":2}')
    one = facets(Event(COMPLETION, calls=(a, b)))["actions"]
    two = facets(Event(COMPLETION, calls=(a,)), Event(COMPLETION, calls=(b,)))["actions"]
    assert one.digest != two.digest


def test_prose_between_the_same_calls_is_no_other_action() -> None:
    call = (ToolCall("t", '{"a":1}'),)
    one = facets(Event(COMPLETION, "x", calls=call))
    two = facets(Event(COMPLETION, "y", calls=call))
    assert one["actions"].digest == two["actions"].digest
    assert one["text"].digest != two["text"].digest


def test_whitespace_in_arguments_is_another_text_and_the_same_action() -> None:
    one = facets(Event(COMPLETION, calls=(ToolCall("t", '{"cmd":"ls"}'),)))
    two = facets(Event(COMPLETION, calls=(ToolCall("t", '{"cmd": "ls"}'),)))
    assert one["actions"].digest == two["actions"].digest
    assert one["refuter"].digest != two["refuter"].digest


def test_absent_reasoning_is_not_empty_reasoning() -> None:
    none, empty = facets(Event(COMPLETION, "x")), facets(Event(COMPLETION, "x", reasoning=""))
    assert none["text"].digest != empty["text"].digest


def test_no_call_at_all_is_vacuous() -> None:
    assert facets(Event(COMPLETION, "x"))["actions"].vacuous
    assert not facets(Event(COMPLETION, calls=(ToolCall("t", "{}"),)))["actions"].vacuous


def test_an_unrecorded_exit_status_is_not_zero() -> None:
    none, zero = facets(Event(OBSERVATION, "x")), facets(Event(OBSERVATION, "x", exit_status=0))
    assert none["observations"].digest != zero["observations"].digest


def test_an_observation_cut_by_the_recorder_has_no_digest() -> None:
    found = facets(Event(OBSERVATION, "x", truncated_by_recorder=True))["observations"]
    assert (found.digest, found.null_reason) == (None, "recorder_truncated")


def test_what_the_recorder_cut_implies_no_prompt() -> None:
    whole = facets(Event(OBSERVATION, "x"), Event(COMPLETION, token_ids=(1,)))["prompt_tokens"]
    cut = facets(Event(OBSERVATION, "x", truncated_by_recorder=True), Event(COMPLETION, token_ids=(1,)))[
        "prompt_tokens"
    ]
    assert whole.digest is not None
    assert cut.digest is None


def test_a_lone_surrogate_has_a_digest_of_its_own() -> None:
    a, b = facets(Event(COMPLETION, "\ud800")), facets(Event(COMPLETION, "\ufffd"))
    assert a["text"].digest != b["text"].digest


def test_equal_chains_are_equal_prefixes() -> None:
    first, second = RunDigester(), RunDigester()
    shared = [Event(USER, "q"), Event(COMPLETION, "a")]
    one = [first.add(event).chain for event in [*shared, Event(OBSERVATION, "x")]]
    two = [second.add(event).chain for event in [*shared, Event(USER, "x")]]
    assert one[:2] == two[:2]
    assert one[2] != two[2]


def test_token_ids_need_a_tokenizer() -> None:
    event = Event(COMPLETION, token_ids=(1, 2), prompt_token_ids=(3,))
    known, unknown = facets(event), facets(event, tokenizer=None)
    assert (known["completion_tokens"].comparable is not None, known["completion_tokens"].grade) == (True, Grade.DIRECT)
    assert (unknown["completion_tokens"].comparable, unknown["completion_tokens"].null_reason) == (None, "tokenizer")


def test_ids_of_some_calls_only_are_no_ids_of_the_run() -> None:
    found = facets(Event(COMPLETION, token_ids=(1,)), Event(COMPLETION))["completion_tokens"]
    assert (found.digest, found.null_reason) == (None, "token_ids_partly_recorded")


def _raw(n_prompt: int | None, prompt: tuple[int, ...] | None) -> Event:
    return Event(COMPLETION, "x", token_ids=(1,), prompt_token_ids=prompt, n_prompt_tokens=n_prompt, is_raw_text=True)


def test_a_later_prompt_vouches_for_an_earlier_one_of_the_same_raw_text() -> None:
    found = facets(_raw(2, None), _raw(4, (1, 2, 3, 4)))["prompt_tokens"]
    assert (found.null_reason, found.grade) == (None, Grade.IMPLIED)
    assert found.comparable is not None


@pytest.mark.parametrize(
    "events",
    [
        (_raw(None, None), _raw(4, (1, 2, 3, 4))),
        (_raw(2, None),),
        (_raw(2, None), Event(EventKind.CONTEXT_EDIT, "cut"), _raw(4, (1, 2, 3, 4))),
        (Event(COMPLETION, "x", token_ids=(1,), n_prompt_tokens=2), _raw(4, (1, 2, 3, 4))),
    ],
    ids=["length unrecorded", "nothing later", "context edited", "chat, not raw text"],
)
def test_a_later_prompt_does_not_vouch_for_what_it_may_not_hold(events: tuple[Event, ...]) -> None:
    assert facets(*events)["prompt_tokens"].comparable is None


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, None), (3, 0)),
        ((3, None), (None, 3)),
        ((None, None), (3, None)),
    ],
)
def test_counts_refute_only_what_counts_the_same_of_each_call(
    a: tuple[int | None, int | None], b: tuple[int | None, int | None]
) -> None:
    one, two = (
        facets(Event(COMPLETION, "x", usage=Usage(completion_tokens=n, reasoning_tokens=of)), _COUNTED)["counts"]
        for n, of in (a, b)
    )
    assert one.comparable != two.comparable


_COUNTED = Event(COMPLETION, "y", usage=Usage(completion_tokens=2))


def test_a_run_without_counts_has_none() -> None:
    assert "counts" not in facets(Event(COMPLETION, "x"))


def test_other_reasoning_of_one_recorder_refutes_unless_some_was_kept_back() -> None:
    shown = [facets(Event(COMPLETION, "x", reasoning=word))["refuter"] for word in ("a", "b")]
    kept = [
        facets(Event(COMPLETION, "x", reasoning=word), Event(COMPLETION, "y", reasoning_hidden=True))["refuter"]
        for word in ("a", "b")
    ]
    assert shown[0].digest != shown[1].digest
    assert kept[0] == kept[1]
    assert kept[0].comparable != facets(Event(COMPLETION, "x"), Event(COMPLETION, "y"))["refuter"].comparable


def test_which_call_a_result_answers_is_part_of_it_and_of_the_prefix() -> None:
    digesters = [RunDigester(tokenizer="tok"), RunDigester(tokenizer="tok"), RunDigester(tokenizer="tok")]
    result = Event(OBSERVATION, "x")
    made = [each.add(result, answers) for each, answers in zip(digesters, ((0, 0), (0, 1), None), strict=True)]
    assert len({one.chain for one in made}) == len({one.digest for one in made}) == 3
    assert len({each.facets()[-1].digest for each in digesters}) == 3


def test_times_and_ids_of_records_are_no_content() -> None:
    one = facets(Event(COMPLETION, "x", calls=(ToolCall("t", "{}", "call_1"),), time="1"))
    two = facets(Event(COMPLETION, "x", calls=(ToolCall("t", "{}", "call_2"),), time="2"))
    assert {name: facet.digest for name, facet in one.items()} == {name: facet.digest for name, facet in two.items()}


def test_numbers_keep_their_value() -> None:
    assert json.loads(canonical_arguments(f'{{"a":{math.pi}}}')) == {"a": math.pi}


def test_a_producers_prompt_digest_does_not_lower_the_grade_of_recorded_ids() -> None:
    digester = RunDigester(tokenizer="t")
    digester.add(Event(EventKind.COMPLETION, "a", token_ids=(1, 2), prompt_ids_sha256="ab"))
    grades = {facet.facet: facet.grade for facet in digester.facets()}
    assert (grades["completion_tokens"], grades["prompt_tokens"]) == (Grade.DIRECT, Grade.DIGEST)
