"""Run a command and learn the peak of its memory, apart from that of the process that tests."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# A child's peak counts the pages of its parent until it executes, so a small process stands between.
_BETWEEN = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print(json.dumps([done.returncode, done.stdout, peak]))
"""


class Measured(NamedTuple):
    """Exit code, what it wrote to both streams, and its peak, MiB."""

    returncode: int
    said: str
    peak_mib: float


def measured(words: Sequence[str], env: Mapping[str, str] | None = None) -> Measured:
    """Run a command to its end."""
    between = [sys.executable, "-I", "-c", _BETWEEN, *words]
    done = subprocess.run(between, stdout=subprocess.PIPE, env=env, check=True)
    return Measured(*json.loads(done.stdout))
