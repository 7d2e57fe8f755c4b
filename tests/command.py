"""The installed command in a subprocess, as a user runs it: what it answers, writes to stderr and exits with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

COMMAND = str(Path(sys.executable).with_name("samework"))
_OURS = frozenset({"SAMEWORK_STORE", "COLUMNS", "FORCE_COLOR", "NO_COLOR"})


def samework(
    *words: object,
    store: Path | None = None,
    cwd: Path | None = None,
    before: Callable[[], None] | None = None,
    **env: str,
) -> subprocess.CompletedProcess[str]:
    """Run the command outside a terminal; no answer may be a traceback.

    before: called in the child before the command starts.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in _OURS}
    at = ["--store", str(store)] if store is not None else []
    done = subprocess.run(
        [COMMAND, *map(str, words), *at],
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="surrogateescape",
        env=inherited | {"COLUMNS": "400"} | env,
        cwd=cwd,
        check=False,
        timeout=300,
        preexec_fn=before,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def answer(*words: object, store: Path, exits: frozenset[int] = frozenset({0})) -> Any:
    """What the command answers in JSON."""
    done = samework(*words, "--json", store=store)
    assert done.returncode in exits, done.stderr
    return json.loads(done.stdout)


def new_store(place: Path) -> Path:
    """An empty store below a directory."""
    store = place / ".samework"
    assert samework("init", store=store).returncode == 0
    return store
