"""What `samework causes` answers: which recorded fields go with the ways that runs took. Frozen records."""

from __future__ import annotations

import msgspec

UNTESTABLE, NOT_DETECTED, CO_VARIES, TOGGLED = "untestable", "not_detected", "co_varies", "toggled"
"""Rungs of the ladder of wording that a group of runs can reach, lowest first. The next one needs an intervention."""


class CauseRow(msgspec.Struct, frozen=True):
    """Fields that split the runs alike, so that nothing here can tell them apart, and how they go with the ways taken.

    rung: untestable, not_detected, co_varies or toggled. effect: uncertainty coefficient, 0 to 1, None where
    the runs that record the field took one way. p: exact within tasks
    (method exact) or from sampled permutations. p_holm: adjusted over the rows that can be tested; None for others.
    smallest_p: below which p could not fall with these values and ways. n_tasks: in which field and way both vary.
    n_runs: with a value. n_missing: without. arm: `same` where the split is that of the arms, `within` where each arm
    has one value, else None. order: interleaved, blocked (aliased with the order of starting) or unrecorded.
    """

    fields: tuple[str, ...]
    rung: str
    effect: float | None
    p: float
    p_holm: float | None
    smallest_p: float
    method: str
    n_tasks: int
    n_runs: int
    n_missing: int
    arm: str | None
    order: str
    sentence: str


class FieldGap(msgspec.Struct, frozen=True):
    """A field that some runs, or all, do not record. absences: why, `unrecorded` where nothing is said."""

    field: str
    n_recorded: int
    n_missing: int
    absences: tuple[str, ...] = ()


class CausesResult(msgspec.Struct, frozen=True):
    """Candidate causes of the forks of a group of runs.

    task, node, tool_calls: what was asked for. n_tasks: with a fork. n_nodes: forks. n_runs: runs whose way is known.
    n_left_out: runs at a fork whose way is not known to its end, for the record is cut or incomplete. level: of the
    family of rows. constant: fields with one value in all runs of each task. partly: recorded on some runs only.
    unrecorded: recorded on none, though claims ask for them or runs say so.
    """

    n_tasks: int
    n_nodes: int
    n_runs: int
    n_left_out: int
    level: float
    rows: tuple[CauseRow, ...]
    task: str | None = None
    node: str | None = None
    tool_calls: bool = False
    constant: tuple[str, ...] = ()
    partly: tuple[FieldGap, ...] = ()
    unrecorded: tuple[FieldGap, ...] = ()
    notes: tuple[str, ...] = ()
