"""Errors become sentences and exit codes; help imports nothing heavy."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from samework.cli.app import COMMANDS, FAULT, INTERRUPTED, TROUBLE, UNDECIDED, command_names, guarded, run
from samework.errors import EvidenceError, NotFound


def in_child(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


def test_help_imports_no_database_table_or_engine() -> None:
    code = "import sys\nfrom samework.cli.app import run\nrun(['--help'])\nprint(*sorted(sys.modules), sep='\\n')"
    loaded = set(in_child(code).stdout.splitlines())
    assert loaded.isdisjoint({"duckdb", "pyarrow", "numpy", "scipy", "rich", "sqlmodel", "git", "pygit2", "networkx"})
    assert not [name for name in loaded if name.startswith("samework.") and name.split(".")[1] not in {"cli", "errors"}]


def test_importing_the_package_imports_no_database() -> None:
    code = "import sys, samework\nassert samework.SameworkError\nprint('duckdb' in sys.modules, samework.__version__)"
    assert in_child(code).stdout.split()[0] == "False"


@pytest.mark.parametrize("name", command_names())
def test_summary_of_a_command_is_the_first_sentence_of_its_help(name: str) -> None:
    module = import_module(f"samework.cli.{name}")
    summary = next(group[name] for group in COMMANDS.values() if name in group)
    assert module.command.__doc__.strip().splitlines()[0] == summary


@pytest.mark.parametrize("name", command_names())
def test_help_of_a_command_ends_with_its_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    example = import_module(f"samework.cli.{name}").EXAMPLE
    assert example.startswith(f"samework {name}")
    assert capsys.readouterr().out.rstrip().splitlines()[-1].strip() == example


@pytest.mark.parametrize("name", command_names())
def test_every_command_takes_store(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    run([name, "--help"])
    assert "--store" in capsys.readouterr().out


def test_unknown_command_lists_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compre"]) == TROUBLE
    said = capsys.readouterr().err
    assert "compare" in said
    assert "samework compare --help" in said
    assert "[usage]" in said


def test_bad_option_is_trouble_and_names_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["runs", "--nonsense"]) == TROUBLE
    assert "samework runs --help" in capsys.readouterr().err


def test_under_json_an_error_is_an_object_of_the_same_fields(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["runs", "--json", "--store", str(tmp_path)]) == TROUBLE
    out, err = capsys.readouterr()
    assert out == ""
    assert set(json.loads(err)) == {"error", "message", "place", "effect", "hint"}
    assert json.loads(err)["error"] == "no-store"


def raising(error: BaseException) -> int:
    raise error


def test_what_the_evidence_does_not_decide_is_exit_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(lambda: raising(EvidenceError("no way to tell")), as_json=False) == UNDECIDED
    assert capsys.readouterr().err == "no way to tell  [undecided]\n"


def test_an_error_shows_hostile_text_as_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    guarded(lambda: raising(NotFound("no run \x1b[2J", place="\x9b31m", hint="h")), as_json=False)
    assert capsys.readouterr().err == "\\x9b31m: no run \\x1b[2J\n  h  [not-found]\n"


def test_ctrl_c_says_so_and_is_130(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(lambda: raising(KeyboardInterrupt()), as_json=False) == INTERRUPTED
    assert "Stopped" in capsys.readouterr().err


def test_faults_of_the_program_keep_their_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        guarded(lambda: raising(ZeroDivisionError()), as_json=False)


FAULTY = r"""
import samework.cli.runs as runs
from samework.cli.app import main
def command() -> int:
    raise ZeroDivisionError("\x1b[2J of a run")
runs.command = command
main()
"""


def test_a_fault_of_the_program_is_exit_70_and_never_that_the_work_differs() -> None:
    done = subprocess.run([sys.executable, "-c", FAULTY, "runs"], capture_output=True, text=True, check=False)
    assert done.returncode == FAULT == 70
    assert "Traceback (most recent call last)" in done.stderr
    assert done.stderr.splitlines()[-2] == "ZeroDivisionError: \\x1b[2J of a run"
    assert done.stderr.endswith("please report it with the lines above.  [fault]\n")


def test_a_reader_that_goes_away_is_quiet() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "samework", "--help"], stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert done.returncode == 141
    assert done.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_answer_that_finds_no_room_is_trouble_and_no_difference() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "samework", "formats"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr.startswith("the answer could not be written: No space left on device")
    assert done.stderr.rstrip().endswith("[output-failed]")


def test_a_closed_output_is_one_to_nowhere() -> None:
    done = subprocess.run(
        f"{shlex.quote(sys.executable)} -m samework formats >&- 2>&-", shell=True, check=False, env=os.environ
    )
    assert done.returncode == 0
