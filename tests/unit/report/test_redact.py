"""Secrets leave a report; what stood there can still be told apart."""

from __future__ import annotations

import json
import time

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samework.report.build import fork_view, pair_report
from samework.report.data import ForkSide, ForkView, ReportData
from samework.report.diff import file_change, tree_view
from samework.report.html import render_html
from samework.report.json import render_json
from samework.report.markdown import render_markdown
from samework.report.redact import Redactor, cleaned, without_secrets
from tests.pages import pair

SECRETS = [
    ("TAVILY_API_KEY=tvly-FAKEfake0000000000000000", "FAKEfake0000"),
    ("aws_secret_access_key = FAKEfakeFAKEfakeFAKEfakeFAKEfakeFAKEfake", "FAKEfake"),
    ("Authorization: Bearer FAKE.FAKE.FAKE", "FAKE.FAKE"),
    ('{"password": "hunter2x"}', "hunter2x"),
    ('{\\"api_key\\": \\"abcd1234\\"}', "abcd1234"),
    ("postgres://me:s3cr3t@db.example.org/x", "s3cr3t"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "MIIE"),
    ("mail to someone@example.org", "someone@"),
    ("q8Zr2LxV7nB4kT9wYd3HcJ6m", "q8Zr2LxV"),
    ("export GITHUB_TOKEN=ghp_abcdefghijklmnop0123456789", "ghp_abc"),
    ("https://example.org/?q=1&token=abcd1234efgh", "abcd1234"),
    ("url=x:password=hunter2x", "hunter2x"),
    ("PGPASSWORD=hunter2x psql", "hunter2x"),
    ('{"clientSecret": "hunter2x"}', "hunter2x"),
    ('{"command": "cat .env\\npassword=hunter2x"}', "hunter2x"),
    ('password="hun\'ter2x"', "ter2x"),
    ('"password": "correct horse battery A staple"', "staple"),
    (json.dumps({"password": 'hunter"2x\\'}), "2x"),
    (json.dumps(json.dumps(json.dumps({"password": 'hunter"2x'}))), "2x"),
    (json.dumps({"text": 'password="пароль q7w"'}), "q7w"),
    ("DB_PASSWORD=hunter2!x\nSECRET_KEY_BASE=abc tail9\nX=1", "tail9"),
    ('{"text": "X=1\\nSECRET_KEY_BASE=abc tail9\\nY=2"}', "tail9"),
    ("password: |\n  hunter2\n  multi\nuser: me", "multi"),
    ('{"text": "password: |\\n  hunter2\\n  multi\\nuser: me"}', "multi"),
    ("password=\x1b[31mhunter2x\x1b[0m", "hunter2x"),
    ("\\x1b[1mapi_key\\x1b[0m=\\x1b[31mhunter2x\\x1b[0m", "hunter2x"),
    ("login --password hunter2x now", "hunter2x"),
    ('["login", "--password", "two words"]', "words"),
    ("curl -sS -u admin:hunter2x https://example.org", "hunter2x"),
    ("mysql -u root -phunter2x", "hunter2x"),
    ("machine example.org login me password hunter2x", "hunter2x"),
    ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQOY\n-----END PGP PRIVATE KEY BLOCK-----", "lQOY"),
    ("https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX", "XXXX"),
    ("encryption_key: 3f786850e387550fdab836ed7e6dc881de23001b9c1185149363bd45d9ac1b6f", "3f786850"),
    ("https://example.org/x?sv=2020&sig=abc%2Bdef%3D12345678901234567890", "abc%2B"),
    ("export X=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "EXAMPLEKEY"),
    ("AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;x", "KBHB"),
    ("password=hunt;er2x", "er2x"),
    ("password=hunt&er2x", "er2x"),
    ("password: str = 'hunter2x'", "hunter2x"),
]
PLAIN = [
    "max_tokens=4096",
    "author: bob",
    "tokens: different",
    "token = get_token(request)",
    "a5aef7cf13914016ca9ba64a81d755a3c5193c80",
    "test_parser.py::TestParser::test_keeps_the_last_line_of_2_files",
    "token_ids_unrecorded",
    "password: required",
    "key 3f786850e387550fdab836ed7e6dc881de23001b9c1185149363bd45d9ac1b6f",
    "https://github.com/python/cpython/blob/fcf1d003bf4f0100c9d0921ff3d70e1127ca1b71/Lib/platform.py",
    "/var/folders/pk/kq0vw6sj3ssd914z55j1qmzc0000gn/T/ipykernel_7392/1079",
    'password: "${DB_PASSWORD}", token: "$TOKEN", secret: "{{ secret }}", api_key: "<your key>"',
    "if username and password:\n    log_in()",
    '"signature": "def run(path: str) -> int"',
    "--password PASSWORD  the password",
    "docker run -u 1000:1000 -p 8080:8080 curl",
    "url = 'user=me&password=' + quoted + '&x=1'",
    "the option --api-key must be given",
]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_secret_is_taken_out_and_its_digest_kept(text: str, secret: str) -> None:
    redactor = Redactor()
    shown = redactor.text(text)
    assert secret not in shown
    assert "sha256:" in shown
    assert sum(item.n for item in redactor.found) >= 1


@pytest.mark.parametrize("text", PLAIN)
def test_ordinary_text_stays(text: str) -> None:
    assert Redactor().text(text) == text


def test_what_follows_a_secret_stays() -> None:
    """The value ends at its own quote, at the next name of a query or line, and at the end of its block."""
    for before, value, after in (
        ('{"password": "', 'hun\\"ter2x', '", "user": "me"}'),
        ("https://example.org/?password=", "hunter2x", "&user=me"),
        ("Server=x;Password=", "hunter2x", ";User=me"),
        ("password: |\n  ", "hunter2\n  multi", "\nuser: me"),
        ("DB_PASSWORD=", "two words", "\nUSER=me"),
    ):
        shown = Redactor().text(before + value + after)
        assert shown.startswith(before + "[redacted ")
        assert shown.endswith(after)
        assert "ter2" not in shown


def test_values_under_names_of_the_record_go_by_these_names() -> None:
    given = {"outcomes": {"api_key": 12345678, "reward": 1, "n": {"password": [1, 2]}, "is_secret": True}}
    made = without_secrets(given, Redactor())["outcomes"]
    assert made["api_key"].startswith("[redacted api_key sha256:")
    assert made["n"]["password"].startswith("[redacted password sha256:")
    assert (made["reward"], made["is_secret"]) == (1, True)


def test_two_secrets_are_still_told_apart() -> None:
    one, two = (Redactor().text(f"API_KEY=tvly-FAKEfake{digit * 16}") for digit in "01")
    assert one != two


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_no_presenter_shows_a_secret_wherever_it_stands(text: str, secret: str) -> None:
    for render in (render_html, render_markdown, render_json):
        assert secret not in render(pair(text))


HARD = ["key_", "a_", "a.", "a-", "1", "secret=", "://a:", "a@b.", "eyJaaaaaaaa-", "aB1", "\\", "\\x1b[0;", "\x1b[0m"]
HARD += [
    'secret="',
    "secret='a\\\\\\",
    "secret='\\\"",
    'auth="',
    "secret: |\n ",
    "secret=a,",
    "curl -u a:",
    "--secret ",
    "/aB1",
]


@pytest.mark.parametrize("unit", HARD)
def test_time_is_linear_in_the_text_whatever_it_holds(unit: str) -> None:
    """A quadratic look at a million characters would take hours, not seconds."""
    text = unit * (1_000_000 // len(unit))
    began = time.process_time()
    Redactor().text(text)
    assert time.process_time() - began < 20


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=80) | st.sampled_from([text for text, _ in SECRETS]))
@settings(max_examples=150, deadline=None)
def test_redacting_twice_changes_nothing(text: str) -> None:
    once = Redactor().text(text)
    assert Redactor().text(once) == once


def test_a_field_with_a_secret_name_is_taken_out_whole() -> None:
    data = pair("server.api_key")
    assert data.pair is not None
    field = data.pair.result.manifest[0]
    assert str(field.a).startswith("[redacted server.api_key")


def test_a_report_that_was_not_redacted_says_so() -> None:
    whole = msgspec.structs.replace(pair("password=hunter2x"), is_redacted=False, redactions=())
    assert isinstance(whole, ReportData)
    assert cleaned(whole, redact=False).is_redacted is False


@pytest.mark.parametrize("name", ["a", "b"])
def test_the_recorded_case_of_a_leaked_key_is_shown_without_it(shared_path, name: str) -> None:
    folder = shared_path("cases", "secret-in-output")
    for path in folder.glob("*.jsonl"):
        for line in path.read_text().splitlines():
            shown = Redactor().text(json.loads(line)["message"]["content"][0]["content"])
            assert "FAKE" not in shown


def fork_data(view: ForkView) -> str:
    """JSON of a report with this fork."""
    page = pair().pair
    assert page is not None
    return render_json(pair_report(page.result, page.a, page.b, fork=view))


def test_a_secret_is_found_before_its_name_is_cut_away() -> None:
    long = "y" * 980 + " password=" + "hunter2x" * 8 + "\n"
    view = fork_view(ForkSide(long + "a" * 30), ForkSide(long + "b" * 30))
    shown = fork_data(view)
    assert "hunter2x" not in shown


def test_a_key_over_several_lines_of_a_difference_is_taken_out() -> None:
    key = b"-----BEGIN PRIVATE KEY-----\nMIIEabc\nMIIEdef\n-----END PRIVATE KEY-----\n"
    change = file_change("k", None, key, mode_b="100644", oid_b="b")
    data = pair()
    assert data.pair is not None
    page = msgspec.structs.replace(data.pair, tree=tree_view("a", "b", [change]))
    made = cleaned(msgspec.structs.replace(data, pair=page))
    assert "MIIE" not in render_html(made)
    assert made.pair is not None
    assert made.pair.tree is not None
    assert len(made.pair.tree.files[0].lines) == len(change.lines)
