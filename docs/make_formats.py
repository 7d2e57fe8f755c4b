"""Write `docs/formats.md` from what the readers say of themselves. `python docs/make_formats.py [--check]`.

`tests/contracts/test_formats_table.py` holds each reader to what it says, on samples of its format.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from samework.ingest import registry
from samework.model.reader import Evidence

if TYPE_CHECKING:
    from samework.model.reader import Reader

PAGE = Path(__file__).resolve().parent / "formats.md"
COLUMNS = (*(name for name in Evidence.__struct_fields__ if name != "tests"), "tests")
INTRO = """\
# Formats

What each format can prove, as its reader says; a test holds each reader to it. A format proves what it records: one
without token ids never shows that two runs are token-identical, one without a patch or tree leaves the work itself
unknown. The format of a file is told by its content, never by its name, and `samework ingest FILE --format NAME` reads
it as the format that you name. `samework formats` prints the same.

A number is a condition, given below the table; **unproven** means that the reader was written from the public
definition of the format, and has read no file of a real tool yet.
"""
FACETS = """\
| facet | what it holds |
|---|---|
| tokens | ids of the tokens that the model said, or a digest of them |
| text | what the model said |
| actions | tool calls, by name and arguments |
| raw arguments | the arguments of a call byte for byte as the model wrote them |
| observations | what a tool answered, as the model saw it |
| reuse | how many tokens of a prompt came from a cache |
| base commit | the commit from which the run began |
| patch | the change that the run submitted |
| outcome | a grader's verdict or score |
| tests | the outcome of each test by name |
"""


def page() -> str:
    """The whole page."""
    readers = registry.readers()
    ours = [readers[name] for name in registry.BUILT_IN]
    reports = [reader for reader in ours if _is_report(reader)]
    agents = [reader for reader in ours if not _is_report(reader)]
    conditions: list[str] = []
    parts = [INTRO, "## Trajectories, patches and results\n", _table(agents, COLUMNS, conditions)]
    parts += ["## Test reports\n", _table(reports, ("tests", "outcome"), conditions)]
    numbered = "\n".join(f"{number}. {text}." for number, text in enumerate(map(_sentence, conditions), 1))
    parts += ["## Conditions\n", numbered + "\n", "## Facets\n", FACETS, "## How a format is recognised\n"]
    parts += ["\n".join(f"- `{reader.name}`: {reader.detects}." for reader in ours) + "\n"]
    return "\n".join(parts)


def _is_report(reader: Reader) -> bool:
    return reader.name in registry.REPORTS


def _table(readers: list[Reader], columns: tuple[str, ...], conditions: list[str]) -> str:
    lines = ["| format | " + " | ".join(name.replace("_", " ") for name in columns) + " |"]
    lines.append("|---|" + "---|" * len(columns))
    for reader in readers:
        unproven = "" if reader.proven else " **unproven**"
        cells = [_cell(getattr(reader.evidence, name), conditions) for name in columns]
        lines.append(f"| {reader.title} (`{reader.name}`){unproven} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(said: str, conditions: list[str]) -> str:
    """`yes`, a dash for no, or the number of a condition."""
    if said == "no":
        return "-"
    word, _, condition = said.partition(", ") if said.startswith("yes, ") else ("", "", said)
    if said == "yes":
        return "yes"
    if condition not in conditions:
        conditions.append(condition)
    number = conditions.index(condition) + 1
    return f"{word or 'partly'} ({number})"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".")


def main() -> int:
    """Write the page, or with --check say whether it is stale. Returns the exit code."""
    text = page()
    is_stale = not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text
    if "--check" in sys.argv[1:]:
        if is_stale:
            print(f"stale: {PAGE.name}; python docs/make_formats.py writes it anew")
        return int(is_stale)
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
