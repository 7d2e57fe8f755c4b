"""The README's example on one's own runs, typed as it stands there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"
TRANSCRIPT = [
    {"role": "user", "content": "Write area(w, h)."},
    {
        "role": "assistant",
        "content": "Done.",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "write", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "ok"},
]
JUNIT = '<testsuite name="area" tests="1"><testcase classname="test_area" name="test_area"/></testsuite>'


def _samework(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("samework")), *words]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=120, check=False)


def test_the_worked_example_gives_what_it_says(tmp_path: Path) -> None:
    text = README.read_text()
    run = re.search(r"```json\n(.*?)```", text, re.DOTALL)
    assert run is not None
    for arm, code in (("first", "w * h"), ("second", "h * w")):
        folder = tmp_path / "runs" / arm
        (folder / "tree").mkdir(parents=True)
        (folder / "tree" / "area.py").write_text(f"def area(w, h):\n    return {code}\n")
        (folder / "run.json").write_text(run[1].replace('"first"', f'"{arm}"'))
        (folder / "transcript.json").write_text(json.dumps(TRANSCRIPT))
        (folder / "junit.xml").write_text(JUNIT)
    assert _samework(tmp_path, "init").stdout.startswith("Made a store: .samework")
    assert _samework(tmp_path, "ingest", "runs").returncode == 0
    found = _samework(tmp_path, "compare", "area:first:1", "area:second:1")
    assert found.stdout.startswith("tests-identical (established)")
    assert "tests-identical (established)" in text
    assert found.returncode == 0
    assert _samework(tmp_path, "report", "area:first:1", "area:second:1", "-o", "pair.html").returncode == 0
    assert "cannot tell the two results apart" in (tmp_path / "pair.html").read_text()


def test_what_the_readme_links_to_is_there() -> None:
    for link in re.findall(r"\]\(([^)]+)\)", README.read_text()):
        assert (README.parent / link.partition("#")[0]).exists(), link
