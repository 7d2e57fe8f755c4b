"""`samework forks`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from samework.cli.options import JsonOption, StoreOption, TaskOption, opened

if TYPE_CHECKING:
    from rich.console import Console

    from samework.model.results import ForkNode

EXAMPLE = "samework forks --tool-calls"

_MAX_BRANCHES = 8


def command(
    *,
    store: StoreOption = None,
    tool_calls: Annotated[bool, typer.Option("--tool-calls", help="Only forks that changed a tool call.")] = False,
    changed_work: Annotated[
        bool, typer.Option("--changed-work", help="Only forks after which trees or tests differ (C2 and above).")
    ] = False,
    origin: Annotated[
        str | None,
        typer.Option(
            "--origin",
            metavar="WORD",
            help="Only forks of this origin: input, harness, environment, model, model-or-template, termination, "
            "unknown; model/greedy for a part of one.",
            show_default=False,
        ),
    ] = None,
    task: TaskOption = None,
    as_json: JsonOption = False,
) -> int:
    """List the places where runs of a task went different ways.

    A fork has a place, an origin (what the first difference lies in) and a consequence: C0 only the completion changed,
    C1 the tree did not, C2 the tree did, C3 the tests did, C4 a reviewer says that it matters, CU unknown.
    """
    from samework.cli.output import console, counted, note, print_json

    found = opened(store).forks(task=task, tool_calls=tool_calls, changed_work=changed_work, origin=origin)
    if as_json:
        print_json(found)
        return 0
    out = console()
    for number, fork in enumerate(found):
        if number:
            out.print()
        _print(fork, out)
    changed = sum(fork.consequence in {"C2", "C3", "C4"} for fork in found)
    note(f"{counted(len(found), 'fork')}, {changed} of them changed work." if found else "No such fork.")
    return 0


def _print(fork: ForkNode, out: Console) -> None:
    from rich.text import Text

    from samework.cli.output import STYLES, excerpt, print_wrapped
    from samework.cli.wording import CONSEQUENCE_MEANS
    from samework.text import visible

    code = fork.consequence.value
    head = Text.assemble(
        (visible(fork.task, one_line=True), "bold"),
        f"  step {fork.step}, {fork.event}",
        f", token {fork.token_offset}" if fork.token_offset is not None else "",
        ": ",
        (f"{code} {CONSEQUENCE_MEANS[fork.consequence]}", STYLES.get(code, "")),
    )
    print_wrapped(head, out=out)
    why = f": {visible(fork.evidence, one_line=True)}" if fork.evidence else ""
    print_wrapped(f"{visible(fork.origin, one_line=True)}{why}", out=out, lead=Text("  origin ", style="dim"))
    for branch in fork.branches[:_MAX_BRANCHES]:
        arms = ", ".join(f"{arm} {size}" for arm, size in branch.arms.items()) or f"{len(branch.runs)} runs"
        said = " ".join(branch.action.get(key, "") for key in ("tool", "arguments")).strip() or branch.excerpt
        lead = Text(f"  ├ {visible(arms, one_line=True)}: ", style="dim")
        if lead.cell_len > out.width // 2:
            print_wrapped(lead, out=out)
            lead = Text("    ")
        print_wrapped(excerpt(said, 160) or "(nothing)", out=out, lead=lead)
    left = len(fork.branches) - _MAX_BRANCHES
    if left > 0:
        print_wrapped(f"├ and {left} more branches", out=out, lead="  ")
