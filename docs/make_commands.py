"""Write `docs/commands/<name>.md` from each command's own `--help`. `python docs/make_commands.py [--check]`.

Text after the help block is written by people and kept.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from pathlib import Path

from samework.cli.app import COMMANDS, command_names, run

PAGES = Path(__file__).resolve().parent / "commands"
_EXIT_STATUS = """\
| status | means |
|---|---|
| 0 | success; of `compare` the same work (token-, tree- or tests-identical), of `gate` that it passes |
| 1 | of `compare` divergent; of `gate` that it fails; of `ingest` and `attach` that a part was refused |
| 2 | trouble: bad input, bad usage, a damaged store; of `verify` and `repair` that something differs or is lost |
| 3 | the evidence does not decide; of `snapshot` that Git could make no tree |
| 70 | a fault of samework itself: a traceback, and no answer |
| 130 | stopped by Ctrl-C; what was not committed is not in the store |
| 141 | what read the output went away, as `head` does |

`classes`, `experiment`, `gate`, a `report`, and a `query` on the view `classes` also end with 3, and without a table,
where runs of one class are known to differ ([anomaly A5](../messages.md#anomaly-a5)). `demo` ends with the highest
status of its commands.
""".rstrip().splitlines()
BEGIN, END = "<!-- help begins -->", "<!-- help ends -->"


def help_text(name: str) -> str:
    """What `samework NAME --help` prints on 80 columns."""
    printed = io.StringIO()
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "80"
    try:
        with contextlib.redirect_stdout(printed):
            run([name, "--help"])
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before
    return printed.getvalue()


def page(name: str, old: str) -> str:
    """The page of a command, with what people wrote below the help."""
    summary = next(group[name] for group in COMMANDS.values() if name in group)
    below = old.split(END, 1)[1] if END in old else "\n"
    return f"# samework {name}\n\n{summary}\n\n{BEGIN}\n```text\n{help_text(name).rstrip()}\n```\n{END}{below}"


def index() -> str:
    """The list of all commands."""
    lines = ["# Commands", "", "Each page holds what `samework COMMAND --help` prints.", ""]
    for title, group in COMMANDS.items():
        lines += [f"## {title}", ""]
        lines += [f"- [`samework {name}`]({name}.md): {summary}" for name, summary in group.items()]
        lines.append("")
    lines += ["## Exit status", "", *_EXIT_STATUS, ""]
    return "\n".join(lines)


def pages() -> dict[Path, str]:
    """Every page as it should be."""
    found = {PAGES / "README.md": index()}
    for name in command_names():
        path = PAGES / f"{name}.md"
        found[path] = page(name, path.read_text(encoding="utf-8") if path.exists() else "")
    return found


def main() -> int:
    """Write the pages, or with --check say which are stale. Returns the exit code."""
    stale = [path for path, text in pages().items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"stale: {path.name}; python docs/make_commands.py writes it anew")
        return 1 if stale else 0
    PAGES.mkdir(parents=True, exist_ok=True)
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
