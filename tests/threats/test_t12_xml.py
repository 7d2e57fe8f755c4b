"""T12: a report in XML with a DTD, an entity or raw control characters is one named error, not a lost folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.command import answer, new_store

if TYPE_CHECKING:
    from pathlib import Path

LOL = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "lol"}">' for n in range(6))
CASE = '<testcase classname="c" name="n"/>'
OUTSIDE = '<!DOCTYPE t [<!ENTITY x SYSTEM "file:///etc/hostname">]>'
REPORTS = {
    "laughs": (f"<!DOCTYPE t [{LOL}]><testsuite name='s' tests='1'>&l5;{CASE}</testsuite>", "DTD or an entity"),
    "outside": (
        f'{OUTSIDE}<testsuite name="s" tests="1"><system-out>&x;</system-out>{CASE}</testsuite>',
        "DTD or an entity",
    ),
    "escape": ('<testsuite name="s" tests="1"><testcase name="a\x1b[2J"/></testsuite>', "not well-formed"),
    "deep": ("<testsuite>" * 5000, "deeper than|not well-formed"),
    "encoding": ('<?xml version="1.0" encoding="nonsense"?><testsuite/>', "encoding"),
}


def test_each_is_named_and_the_good_report_beside_it_is_attached(tmp_path: Path) -> None:
    run = tmp_path / "in"
    run.mkdir()
    (run / "events.jsonl").write_text('{"kind":"user","text":"go"}\n{"kind":"end"}\n')
    (run / "good.xml").write_text(f'<testsuite name="s" tests="1">{CASE}</testsuite>')
    for name, (text, _) in REPORTS.items():
        (run / f"{name}.xml").write_text(text)
    listed = ", ".join(f'{{"report": "{name}.xml", "suite": "{name}"}}' for name in ("good", *REPORTS))
    (run / "run.json").write_text(f'{{"task": "t", "arm": "a", "transcript": "events.jsonl", "tests": [{listed}]}}')
    store = new_store(tmp_path)
    (source,) = answer("ingest", run, store=store)["sources"]
    assert source["status"] == "new"
    reasons = {defect["path"]: defect["reason"] for defect in answer("show", "t:a:1", store=store)["defects"]}
    for name, (_, words) in REPORTS.items():
        said = " ".join(reason for path, reason in reasons.items() if path.endswith(f"{name}.xml"))
        assert any(word in said for word in words.split("|")), (name, reasons)
    assert answer("query", "select outcome from test_outcomes", store=store) == [{"outcome": "passed"}]
