"""`samework runs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.cli.options import ArmOption, JsonOption, StoreOption, TaskOption, opened

if TYPE_CHECKING:
    from samework.model.results import RunSummary

EXAMPLE = "samework runs --task code-016"

_MARKS = {
    "direct": "●",
    "digest": "●",
    "derived": "◐",
    "implied": "◐",
    "asserted": "○",
    "not_applicable": " ",
    "none": "·",
}
_SHOWN = ("tokens", "actions", "observations", "tree", "tests", "outcome")


def command(
    *,
    store: StoreOption = None,
    task: TaskOption = None,
    arm: ArmOption = None,
    as_json: JsonOption = False,
) -> int:
    """List the runs of the store.

    The last columns show the evidence of each facet: ● held and digested here, ◐ derived or implied, ○ asserted by the
    source, · none. samework show RUN says what a gap prevents.
    """
    from samework.cli.output import note, print_json

    found = opened(store).runs(task=task, arm=arm)
    if as_json:
        print_json(found)
    elif not found:
        note("The store holds no runs; samework ingest PATH brings some in.")
    else:
        _print(found)
    return 0


def _print(found: list[RunSummary]) -> None:
    from rich.text import Text

    from samework.cli.output import STYLES, Column, natural, note, print_table
    from samework.text import counted

    columns = [Column("run"), Column("task", flex=True), Column("arm", flex=True), Column("repeat", right=True)]
    columns += [
        Column("format", flex=True, extra=True),
        Column("steps", right=True, extra=True),
        Column("end", extra=True),
        Column("evidence"),
    ]
    rows = []
    for run in sorted(found, key=lambda run: (natural(run.task), run.arm, natural(run.repeat))):
        marks = Text()
        for facet in _SHOWN:
            grade = run.evidence.get(facet, "none")
            marks.append(_MARKS.get(grade, "·"), style=STYLES.get(grade, ""))
        end: object = run.end_reason if run.complete else Text("incomplete", style=STYLES["incomplete"])
        rows.append([run.run_id, run.task, run.arm, run.repeat, run.format, run.n_steps, end, marks])
    print_table(columns, rows)
    tasks = len({run.task for run in found})
    note(f"{counted(len(found), 'run')} of {counted(tasks, 'task')}. Evidence, in order: {', '.join(_SHOWN)}.")
