"""Read from a store what a claim may rest on beyond one pair. Each fact is one query, linear in runs.

A fact that is not recorded is left at its default, which claims nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.claims.assignment import read_assigned_factor
from samework.claims.check import by_name, groups_check
from samework.claims.facts import Facts
from samework.claims.repeats import n_disagreements, read_repeats
from samework.claims.requirements import EVERYTHING, NEVER_COMPARED
from samework.equivalence.manifest_diff import EQUAL, NOT_COMPARABLE, REQUESTED, first_words, group_of
from samework.model.results import FieldDifference
from samework.model.words import Verdict
from samework.store.sql import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from samework.model.results import PairResult
    from samework.store.connection import StoreHandle

PACKAGE = "samework.claims"
_MAKERS, _ASKED = "MEH", "QL"
_N_CERTIFYING = 2
"""Tasks at least, for one may repeat itself by chance."""

_ARM_OF = "select arm from run where run_key = $run_key"


def read_facts(
    handle: StoreHandle, a_key: int, b_key: int, pair: PairResult, manifest: Sequence[FieldDifference]
) -> Facts:
    """Everything that the store knows beyond one pair.

    Args:
        handle: an open store.
        a_key: run_key of one run.
        b_key: run_key of the other, of the same task.
        pair: verdicts and fork.
        manifest: how the two runs were made.
    """
    arms = [str(handle.db.execute(_ARM_OF, {"run_key": key}).fetchall()[0][0]) for key in (a_key, b_key)]
    n_same, n_differing = _replays(handle, a_key, pair, manifest)
    certified, n_certified = determinism(handle, a_key, b_key, manifest) if pair.fork is not None else (False, 0)
    repeats = read_repeats(handle, arms=sorted(set(arms)))
    here = [one for one in repeats if one.task == pair.task]
    followed, n_followed = donor_followed(handle, pair.task, arms[0], arms[1])
    return Facts(
        n_replays=max(n_same - 1, 1),
        n_replays_differing=n_differing,
        discriminating=discriminating(handle, a_key, b_key),
        determinism_certificate=certified,
        n_certified=n_certified,
        self_repeat_disagreements=n_disagreements(here, arms),
        self_repeat_disagreements_elsewhere=sum(one.n_disagreeing for one in repeats if one.task != pair.task),
        n_self_repeats=sum(one.n_pairs for one in repeats),
        assigned_factor=read_assigned_factor(handle, arms[0], arms[1]),
        donor_followed=followed,
        n_followed=n_followed,
        cut_off=_cut_off(handle, a_key, b_key, pair),
    )


def _replays(handle: StoreHandle, a_key: int, pair: PairResult, manifest: Sequence[FieldDifference]) -> tuple[int, int]:
    """Runs with the pair's tokens (both of it included) and runs with other ones, all made as the pair was."""
    check = groups_check(by_name(manifest), EVERYTHING)
    if check.differing or check.missing or pair.facets["tokens"].verdict is Verdict.UNKNOWN:
        return 0, 0
    return replays(handle, a_key)


def replays(handle: StoreHandle, run_key: int) -> tuple[int, int]:
    """Runs of one task that were made as this one was: with the same tokens, held as ids, and with other ones."""
    given = _making(handle, run_key, EVERYTHING) | {"run_key": run_key}
    row = handle.db.execute(load(PACKAGE, "sql/replays"), given).fetchone()
    return (0, 0) if row is None else (int(row[0]), int(row[1]))


def _making(handle: StoreHandle, run_key: int, groups: str) -> dict[str, object]:
    """The judged fields of some groups of one run, as parameters of a query that looks for runs made alike."""
    mine = {
        field: value
        for field, value in handle.db.execute(load(PACKAGE, "sql/own_fields"), {"run_key": run_key}).fetchall()
        if (group_of(field) or "-") in groups and not field.endswith(REQUESTED) and field not in NEVER_COMPARED
    }
    return {
        "fields": list(mine),
        "values": list(mine.values()),
        "words": first_words(groups),
        "never": sorted(NEVER_COMPARED),
    }


def determinism(handle: StoreHandle, a_key: int, b_key: int, manifest: Sequence[FieldDifference]) -> tuple[bool, int]:
    """Whether tokens are certified not to depend on what caches hold, for the engine, hardware and model of both runs.

    Returns: the certificate, and the tasks on which requests with cold and with warm caches gave the same tokens. No
        request of such a run may have differed from its repeat, whatever state it met.
    """
    sides = [own_fields(manifest, side) for side in "ab"]
    if any(groups_check(by_name(side), _MAKERS).missing for side in sides):
        return False, 0
    found = []
    for key in (a_key, b_key):
        given = _making(handle, key, _MAKERS) | {"asked": first_words(_ASKED)}
        row = handle.db.execute(load(PACKAGE, "sql/determinism"), given).fetchone()
        found.append((0, 0) if row is None else (int(row[0]), int(row[1])))
    n_items = min(n for n, _ in found)
    return n_items >= _N_CERTIFYING and not any(differing for _, differing in found), n_items


def own_fields(manifest: Sequence[FieldDifference], side: str) -> tuple[FieldDifference, ...]:
    """The manifest of one run of a pair, set beside itself: what it lacks for a claim with any other run.

    >>> own_fields([FieldDifference("kv.dtype", "differs", "f16", "q8_0", "measured", "measured")], "b")[0].a
    'q8_0'
    """
    found = []
    for field in manifest:
        value, source = (field.a, field.a_source) if side == "a" else (field.b, field.b_source)
        is_missing = field.missing in (side, "both")
        state, missing = (NOT_COMPARABLE, "both") if is_missing else (EQUAL, None)
        found.append(FieldDifference(field.field, state, value, value, source, source, missing))
    return tuple(found)


def discriminating(handle: StoreHandle, a_key: int, b_key: int) -> bool | None:
    """Whether a test of the runs' suite tells them from the base tree; None where no report of the base decides."""
    row = handle.db.execute(load(PACKAGE, "sql/base_outcomes"), {"a": a_key, "b": b_key}).fetchone()
    n_telling, n_common, is_whole = row or (0, 0, None)
    if n_telling:
        return True
    return False if n_common and is_whole else None


def donor_followed(handle: StoreHandle, task: str, arm_a: str, arm_b: str) -> tuple[bool, int]:
    """Whether moved state made the continuation follow its donor wherever the paths of two arms differ.

    Returns: True where it did on `task` and nowhere did otherwise; and how many transplants, by task, did.
    """
    given: dict[str, object] = {"a": arm_a, "b": arm_b}
    seen: list[tuple[str, bool]] = []
    for arm, donor, recipient in handle.db.execute(load(PACKAGE, "sql/transplants"), given).fetchall():
        names = {"arm": arm, "donor": donor, "recipient": recipient}
        seen += handle.db.execute(load(PACKAGE, "sql/followed"), names).fetchall()
    n_followed = sum(follows for _, follows in seen)
    return any(at == task for at, _ in seen) and n_followed == len(seen), n_followed


def _cut_off(handle: StoreHandle, a_key: int, b_key: int, pair: PairResult) -> tuple[tuple[str, str], ...]:
    if pair.fork is None:
        return ()
    given = {"a": a_key, "b": b_key, "seq": pair.fork.seq}
    rows = handle.db.execute(load(PACKAGE, "sql/cut_off"), given).fetchall()
    return tuple(("a" if key == a_key else "b", reason) for key, reason in rows)
