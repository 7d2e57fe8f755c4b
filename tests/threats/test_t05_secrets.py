"""T5: secrets leave every export by default, keep their digests, are compared before, and their places are listed."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from tests.command import answer, new_store, samework
from tests.threats.lab import bundle

if TYPE_CHECKING:
    from pathlib import Path

KEYS = {arm: f"tvly-FAKEfake{digit * 16}" for arm, digit in (("a", "0"), ("b", "1"))}
WORD = "hunter2xFAKE"
TEXT = "TAVILY_API_KEY={key}\nAuthorization: Bearer FAKE.FAKE.FAKE\npassword = " + WORD + "\nmail me@FAKE.example"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs that differ only in the value of a key that a tool printed, and in what follows from arms."""
    place = tmp_path_factory.mktemp("t5")
    made = new_store(place)
    for arm, key in KEYS.items():
        run = bundle(place / "in" / arm, "x", arm, observed=TEXT.format(key=key))
        (run / "manifest.json").write_text(json.dumps({"server.api_key": {"value": WORD, "source": "declared"}}))
    answer("ingest", place / "in", store=made)
    return made


def test_two_keys_are_still_two(store: Path) -> None:
    pair = answer("compare", "t x:a x:1", "t x:b x:1", store=store, exits=frozenset({0, 1, 3}))
    assert pair["facets"]["observations"]["verdict"] == "different"


@pytest.mark.parametrize("form", ["table", "csv", "json", "parquet"])
def test_no_answer_of_sql_holds_one(store: Path, form: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for sql in ("from bodies", "select * from manifest_fields", "select {'a': [text]} as x from bodies"):
        done = samework("query", sql, "--format", form, "-o", out, store=store)
        assert done.returncode == 0, done.stderr
        said = str(pq.read_table(out).to_pylist()) if form == "parquet" else out.read_text()
        assert "FAKE" not in said
        assert "[redacted" in said
        assert "--no-redact" in done.stderr


def test_keys_of_a_map_and_members_of_a_union_are_names(store: Path) -> None:
    sql = """select map {'password': 'hunter2xFAKE', 'k': 'v'} as m, union_value(password := 'hunter2xFAKE') as u,
        {'x': [map {1: {'api_key': 'hunter2xFAKE'}}]} as d, [union_value(password := 'hunter2xFAKE')] as l"""
    (row,) = answer("query", sql, store=store)
    assert "FAKE" not in json.dumps(row)
    mark = row["u"]
    assert mark.startswith("[redacted password sha256:")
    assert row["m"] == [["password", mark], ["k", "v"]]
    assert row["d"] == {"x": [[[1, {"api_key": mark.replace("password", "api_key")}]]]}
    assert json.loads(row["l"]) == [mark]


def test_no_redact_leaves_them_exactly(store: Path) -> None:
    asked = ("query", "select text from bodies where text like 'TAV%' order by text", "--format", "csv", "--no-redact")
    done = samework(*asked, store=store)
    assert [row["text"] for row in csv.DictReader(io.StringIO(done.stdout))] == [
        TEXT.format(key=key) for key in KEYS.values()
    ]
    assert done.stderr == ""


A, B = "t x:a x:1", "t x:b x:1"


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize(
    "words",
    [("compare", A, B, "--verbose"), ("forks",), ("show", A), ("claims", A, B), ("causes",), ("review", A, B)],
    ids=lambda words: words[0],
)
def test_no_command_prints_one_unless_asked(store: Path, words: tuple[str, ...], form: list[str]) -> None:
    samework("review", A, B, "--matters", "--by", "ada", "--reason", f"one has password={WORD}", store=store)
    left_out, exact = samework(*words, *form, store=store), samework(*words, *form, "--no-redact", store=store)
    assert left_out.returncode == exact.returncode
    assert "--no-redact" not in exact.stderr
    assert "FAKE" not in left_out.stdout + left_out.stderr
    if "FAKE" in exact.stdout:
        assert "[redacted" in left_out.stdout
        assert "--no-redact" in left_out.stderr
    else:
        assert words[0] in {"compare", "forks", "causes", "claims"}  # of this pair they quote nothing of the output
        assert left_out.stdout == exact.stdout


def test_names_and_numbers_that_are_secrets_go_as_well(tmp_path: Path) -> None:
    """The answer is that of the whole names; a number leaves the digest that `query` leaves."""
    made = new_store(tmp_path)
    for arm in ("a", "b"):
        run = bundle(tmp_path / "in" / arm, f"api_key={WORD}", arm, observed=arm)
        facts = {"env.password": 12345678, "env.secret": [11112222, 3]}
        given = {field: {"value": value, "source": "declared"} for field, value in facts.items()}
        (run / "manifest.json").write_text(json.dumps(given))
    answer("ingest", tmp_path / "in", store=made)
    runs = answer("runs", store=made)
    (first, second), (baseline, candidate) = ([run[name] for run in runs] for name in ("run_id", "arm"))
    gate = ("gate", "--baseline", baseline, "--candidate", candidate)
    asked = samework(
        "query", "select field, value from manifest_fields where field = 'env.password'", "--json", store=made
    )
    mark = json.loads(asked.stdout)[0]["value"]
    for words in (("compare", first, second), ("show", first), gate):
        texts = [samework(*words, *form, store=made) for form in ((), ("--json",))]
        assert len({done.returncode for done in texts}) == 1
        for done in texts:
            assert not any(each in done.stdout + done.stderr for each in ("FAKE", "12345678", "11112222")), words
            assert words[0] != "show" or mark in done.stdout


def facts_of(number: int) -> dict[str, object]:
    """What a manifest holds of secrets: as text, in a list, as a number, below a key, with a common beginning."""
    return {
        "env.DB_PASSWORD": f"FAKE word {number}",
        "engine.password": [f"FAKE{number}", "x"],
        "network.auth_token": 87654320 + number,
        "env.conn": {"password": 87654320 + number},
        "tools.url": f"https://me:FAKE{number}@example.org",
        "sampling.start": "sk-FAKE" + "a1B2c3D4" * 6 + str(number),
        "env.image": f"image{number}",
    }


@pytest.fixture(scope="module")
def made_by_secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tasks, each run once in two arms that are told apart by secrets of their manifests."""
    place = tmp_path_factory.mktemp("t5made")
    made = new_store(place)
    for task in ("x", "y"):
        for number, arm in enumerate("ab", start=1):
            run = bundle(place / "in" / task / arm, task, arm)
            given = {name: {"value": value, "source": "declared"} for name, value in facts_of(number).items()}
            (run / "manifest.json").write_text(json.dumps(given))
            named = json.loads((run / "run.json").read_text()) | {"arm": arm}
            (run / "run.json").write_text(json.dumps(named))
    answer("ingest", place / "in", store=made)
    return made


def holds_one(said: str) -> bool:
    return any(each in said for each in ("FAKE", "8765432", "a1B2c3"))


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("command", ["compare", "claims"])
def test_no_sentence_about_a_field_holds_its_secret(command: str, form: list[str], made_by_secrets: Path) -> None:
    done = samework(command, "t x:a:1", "t x:b:1", *form, store=made_by_secrets)
    assert not holds_one(done.stdout + done.stderr)
    assert "env.image differs (image1, image2)" in done.stdout
    assert "env.DB_PASSWORD differs (one value, another)" in done.stdout


@pytest.mark.parametrize("ending", ["html", "md", "json"])
@pytest.mark.parametrize("words", [("t x:a:1", "t x:b:1"), ("--experiment", "a,b")], ids=["pair", "experiment"])
def test_no_sentence_of_a_report_holds_one(
    words: tuple[str, ...], ending: str, made_by_secrets: Path, tmp_path: Path
) -> None:
    out = tmp_path / f"report.{ending}"
    assert samework("report", *words, "-o", out, store=made_by_secrets).returncode == 0
    assert not holds_one(out.read_text(encoding="utf-8"))


def test_keys_with_one_beginning_leave_two_digests(made_by_secrets: Path) -> None:
    pair = answer("compare", "t x:a:1", "t x:b:1", store=made_by_secrets, exits=frozenset({0, 1, 3}))
    fields = {each["field"]: (each["a"], each["b"]) for each in pair["manifest"]}
    assert all(side.startswith("[redacted provider key sha256:") for side in fields["sampling.start"])
    assert fields["sampling.start"][0] != fields["sampling.start"][1]
    assert fields["env.conn"][0]["password"].startswith("[redacted password sha256:")


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("field", ["env.DB_PASSWORD", "network.auth_token", "engine.password", "tools.url"])
def test_arms_and_strata_made_of_secrets_have_digests_for_names(
    field: str, form: list[str], made_by_secrets: Path
) -> None:
    for words in (("--by", field), ("--arms", "a,b", "--strata", field)):
        left_out = samework("experiment", *words, *form, store=made_by_secrets)
        exact = samework("experiment", *words, *form, "--no-redact", store=made_by_secrets)
        assert left_out.returncode == exact.returncode == 0, left_out.stderr
        assert not holds_one(left_out.stdout + left_out.stderr)
        assert words[0] == "--arms" or holds_one(exact.stdout)
        assert words[0] == "--arms" or ("sha256:" in left_out.stdout and "--no-redact" in left_out.stderr)


def test_an_arm_made_of_a_secret_is_asked_for_by_its_digest_or_value(made_by_secrets: Path) -> None:
    by = ("experiment", "--by", "env.DB_PASSWORD")
    names = [arm["arm"] for arm in answer(*by, store=made_by_secrets)["arms"]]
    assert [name.startswith("env.DB_PASSWORD=[redacted env.DB_PASSWORD sha256:") for name in names] == [True, True]
    for asked in (",".join(names), "FAKE word 1,FAKE word 2"):
        assert [arm["arm"] for arm in answer(*by, "--arms", asked, store=made_by_secrets)["arms"]] == names
    refused = samework(*by, "--arms", "FAKE word 1,FAKE word 3", store=made_by_secrets)
    assert refused.returncode == 2
    assert not holds_one(refused.stdout + refused.stderr)


@pytest.mark.parametrize("ending", ["html", "md", "json"])
def test_no_report_holds_one(store: Path, ending: str, tmp_path: Path) -> None:
    for number, words in enumerate((("t x:a x:1", "t x:b x:1"), ("--task", "t x"), ())):
        out = tmp_path / f"{number}.{ending}"
        assert samework("report", *words, "-o", out, store=store).returncode == 0
        assert "FAKE" not in out.read_text(encoding="utf-8")


def test_the_places_are_listed_and_lead_to_the_bytes(store: Path) -> None:
    done = samework("scan", store=store)
    assert "FAKE" not in done.stdout
    places = answer("scan", store=store)
    assert "FAKE" not in json.dumps(places)
    runs = {run["run_id"]: run["arm"][0] for run in answer("runs", store=store)}
    found = {(runs[place["run"]], place["kind"]): place for place in places}
    for arm, key in KEYS.items():
        place = found[arm, "provider key"]
        text = TEXT.format(key=key).encode()
        assert text[place["offset"] : place["offset"] + place["n_bytes"]].decode() == key
        assert (place["part"], place["seq"]) == ("observation", 2)
    assert found["a", "provider key"]["digest"] != found["b", "provider key"]["digest"]
    assert found["a", "bearer"]["digest"] == found["b", "bearer"]["digest"]
    assert found["a", "password"]["digest"] == found["a", "server.api_key"]["digest"]


def test_secrets_of_manifests_and_reviews_are_listed_with_the_digests_of_their_marks(
    made_by_secrets: Path, tmp_path: Path
) -> None:
    """Whatever the JSON of a value is: a text, a number, a list, or something below a key."""
    reason = f"one has password={WORD}"
    samework("review", "t x:a:1", "t x:b:1", "--matters", "--by", "ada", "--reason", reason, store=made_by_secrets)
    places = answer("scan", store=made_by_secrets)
    found = {(place["part"], place["name"], place["kind"]): place for place in places}
    names = {name for part, name, _ in found if part == "manifest"}
    assert names == facts_of(1).keys() - {"env.image"}
    (reviewed,) = (place for place in places if place["part"] == "review")
    assert reason.encode()[reviewed["offset"] : reviewed["offset"] + reviewed["n_bytes"]].decode() == WORD
    out = tmp_path / "pair.json"
    assert samework("report", "t x:a:1", "t x:b:1", "-o", out, store=made_by_secrets).returncode == 0
    marks = {(each["reason"], each["digest"]) for each in json.loads(out.read_text())["redactions"]}
    listed = {(place["kind"], place["digest"]) for place in places}
    assert marks <= listed
    assert len(marks) == 12


def test_a_store_without_secrets_says_so(tmp_path: Path) -> None:
    done = samework("scan", store=new_store(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "None was found.\n")


def test_marks_of_a_report_are_found_by_scan(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "pair.json"
    assert samework("report", "t x:a x:1", "t x:b x:1", "-o", out, store=store).returncode == 0
    digests = {place["digest"] for place in answer("scan", store=store)}
    marks = {found["digest"] for found in json.loads(out.read_text())["redactions"]}
    assert marks & digests
