"""Count, task by task, how the pairs of a selection stand to a requirement; linear in runs.

The counts come from the same groupings as those of the classes, and are corrected for the explicit pairs likewise.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from samework.equivalence.counts import facet_counts, state_counts
from samework.equivalence.signatures import corrections
from samework.experiment.gate_requirement import standing_of_pair, standing_of_state, standing_of_states
from samework.model.gate import PairStanding
from samework.model.words import Facet
from samework.store.sql import load

if TYPE_CHECKING:
    from samework.equivalence.counts import Selection
    from samework.equivalence.signatures import Signatures
    from samework.experiment.gate_requirement import Requirement
    from samework.store.connection import StoreHandle

_CAN_BE_VACUOUS = (Facet.ACTIONS, Facet.OBSERVATIONS)
Standings = dict[str, Counter[PairStanding]]


def standings(handle: StoreHandle, wanted: Requirement, selection: Selection, signatures: Signatures) -> Standings:
    """Task -> standing -> pairs of the selection; a task without such a pair is left out.

    Reads the temp tables that `prepare` filled; `signatures` are of the same runs.
    """
    found: Standings = defaultdict(Counter)
    if wanted.plain_facet is None:
        for task, states, n_pairs in state_counts(handle, selection):
            standing = standing_of_states(wanted, states, applies=task not in signatures.treeless)
            found[task][standing] += n_pairs
    else:
        for task, state, n_pairs in facet_counts(handle, wanted.plain_facet.value, selection):
            found[task][standing_of_state(state)] += n_pairs
        _take_out_vacuous(handle, wanted.plain_facet, selection, found)
    for a, b, judged_by, sign in corrections(signatures):
        if selection.holds(a.arm, b.arm):
            found[a.task][standing_of_pair(wanted, a, b, judged_by)] += sign
    return {task: +counts for task, counts in found.items()}


def _take_out_vacuous(handle: StoreHandle, facet: Facet, selection: Selection, found: Standings) -> None:
    """Agreement about nothing, such as of two runs without a call, is moved from met to unknown."""
    if facet not in _CAN_BE_VACUOUS:
        return
    for sign, arms in selection.terms():
        given = {"arms": arms, "facet": facet.value}
        for task, n_runs in handle.db.execute(load("samework.experiment", "sql/gate_vacuous_runs"), given).fetchall():
            n_pairs = sign * (n_runs * (n_runs - 1) // 2)
            found[task][PairStanding.MET] -= n_pairs
            found[task][PairStanding.UNKNOWN] += n_pairs
