"""The entry point: finds the command, runs it, turns errors into sentences and exit codes.

Refuses to import a command before it is asked for, so that `samework --help` stays quick.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer
import typer.core

from samework.errors import EvidenceError, InputError, SameworkError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

COMMANDS: dict[str, dict[str, str]] = {
    "Store": {
        "init": "Make a store.",
        "ingest": "Read runs, patches and test reports into the store.",
        "attach": "Add a tree, test reports, a manifest or invariants to a run.",
        "verify": "Hash everything again and hold it against the ledger.",
        "backup": "Write a checked copy of the store to one file.",
        "restore": "Make a store from a backup.",
        "repair": "Make the database again from the bytes that were ingested.",
    },
    "Runs": {
        "runs": "List the runs of the store.",
        "show": "Show one run, what it can prove and what it cannot.",
        "formats": "List the formats that can be read and what each can prove.",
        "snapshot": "Name a working tree by its content, touching nothing in it.",
    },
    "Judge": {
        "compare": "Compare two runs of a task.",
        "classes": "Sort the runs of each task into classes of the same work.",
        "pairs": "List pairs of runs with their class.",
        "forks": "List the places where runs of a task went different ways.",
        "causes": "Set what is recorded of the runs against the ways that they took.",
        "claims": "Say which sentences about replay and cause two runs allow.",
        "experiment": "Compare arms beside what each differs from itself, with tests that need this control.",
        "review": "Record what a reviewer says of a pair, or show what reviewers said.",
        "gate": "Let CI pass, fail or stay undecided: does one arm do the work of another?",
    },
    "Tell": {
        "report": "Write a report of a pair, an experiment, a task or the store.",
        "query": "Ask the store in SQL, read only.",
        "scan": "List the places of what looks like a secret, never the secret itself.",
        "demo": "Take the fixtures through everything, and end with a report.",
    },
}

# docs/commands/README.md says what each means.
SAME, DIFFERENT, TROUBLE, UNDECIDED, FAULT, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 3, 70, 130, 141

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]  # Typer does not export the parent's name


def command_names() -> list[str]:
    """Every command, in the order of `samework --help`."""
    return [name for group in COMMANDS.values() for name in group]


class CommandGroup(typer.core.TyperGroup):
    """The commands, each imported when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of `COMMANDS`."""
        del ctx
        return command_names()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import `samework.cli.<name>` and wrap its function `command`; None where there is no such command."""
        del ctx
        if cmd_name not in command_names():
            return None
        module = import_module(f"samework.cli.{cmd_name}")
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        epilog = f"\b\nExample:\n  {module.EXAMPLE}"
        single.command(cmd_name, epilog=epilog, no_args_is_help=False)(module.command)
        built: Any = typer.main.get_command(single)
        for parameter in built.params:
            if parameter.param_type_name == "argument":
                parameter.display_type_rich = _no_type
        return built

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The table of commands, without importing any."""
        del ctx
        for title, group in COMMANDS.items():
            with formatter.section(title):
                formatter.write_dl(list(group.items()))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; an unknown one is answered with the known ones."""
        if args and not args[0].startswith("-") and args[0] not in command_names():
            raise _unknown_command(args[0])
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command and answer with its exit code."""
        return guarded(lambda: super(CommandGroup, self).invoke(ctx), as_json=bool(ctx.obj))


def guarded(call: Callable[[], Any], *, as_json: bool) -> int:
    """Run `call`, turn errors that samework raises on purpose into a sentence and an exit code.

    Returns: what `call` returned (None is 0), 2 for trouble and where there is no room for the answer, 3 where the
        evidence does not decide, 130 after Ctrl-C, 141 where the reader of our output went away. Other exceptions pass:
        they are faults of the program, and `main` answers for them.
    """
    try:
        code = call()
        sys.stdout.flush()
    except EvidenceError as error:
        show_error(error, as_json=as_json)
        return UNDECIDED
    except SameworkError as error:
        show_error(error, as_json=as_json)
        return TROUBLE
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped. What was not committed is not in the store; the same command takes it up again.\n")
        return INTERRUPTED
    except BrokenPipeError:
        return _pipe_closed()
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        _pipe_closed()
        reason = f"the answer could not be written: {error.strerror}"
        show_error(InputError(reason, hint="Make room, then ask again.", code="output-failed"), as_json=as_json)
        return TROUBLE
    return int(code or 0)


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _pipe_closed() -> int:
    """Let what is still buffered go nowhere, so that the interpreter ends without a word."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED


def show_error(error: SameworkError, *, as_json: bool) -> None:
    """Write an error to stderr: three lines for people, one object under `--json`."""
    from samework.text import visible

    if as_json:
        import json

        sys.stderr.write(json.dumps(error.as_dict()) + "\n")
        return
    sys.stderr.write(visible(str(error)) + "\n")


def _show_fault(error: Exception) -> None:
    """Write what a fault of the program is to stderr: where it happened, and a word to whom it met."""
    import traceback

    from samework.text import visible

    sys.stderr.write(visible("".join(traceback.format_exception(error))))
    sys.stderr.write("This is a fault of samework, no answer: please report it with the lines above.  [fault]\n")


def _no_type(ctx: Any) -> None:
    """An argument's name says what goes there; its Python type would not help anyone."""
    del ctx


def _unknown_command(name: str) -> UsageError:
    from difflib import get_close_matches

    from samework.text import shortened

    near = get_close_matches(name, command_names(), n=1)
    return UsageError(
        f"there is no command {shortened(name, 40)!r}; the commands are {', '.join(command_names())}",
        hint=f"samework {near[0]} --help" if near else "samework --help",
    )


def _as_usage_error(error: Any) -> UsageError:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "samework"
    message = error.format_message().rstrip(".")
    return UsageError(message[:1].lower() + message[1:], hint=f"{path} --help")


def _print_version(wanted: bool) -> None:
    if wanted:
        from samework import __version__

        sys.stdout.write(f"samework {__version__}\n")
        raise typer.Exit


def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Did the work change? A database of agent runs that says which of them did the same work, and how it knows."""
    del context, version


def build() -> Any:
    """The command tree."""
    app = typer.Typer(cls=CommandGroup, add_completion=False, rich_markup_mode=None, no_args_is_help=False)
    app.callback(invoke_without_command=False)(_root)
    return typer.main.get_command(app)


def run(args: Sequence[str]) -> int:
    """Run `samework ARGS` and return its exit code."""
    words = list(args) or ["--help"]
    as_json = "--json" in words
    try:
        return int(build().main(words, prog_name="samework", standalone_mode=False, obj=as_json) or 0)
    except _USAGE_ERROR as error:
        show_error(_as_usage_error(error), as_json=as_json)
    except SameworkError as error:
        show_error(error, as_json=as_json)
    except SystemExit:  # Typer leaves so where the pipe was closed while help was written
        return _pipe_closed()
    return TROUBLE


def main() -> None:
    """The console script. What the terminal's encoding lacks is written as an escape instead of failing.

    A stream that whoever called us closed is one to nowhere.
    """
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = run(sys.argv[1:])
    except Exception as error:  # noqa: BLE001 (left to the interpreter it would exit with 1, which means different)
        _show_fault(error)
        code = FAULT
    sys.exit(code)
