"""Does a run with transplanted state follow the donor of the state, or the arm it was put into?

The intervention at the top of the ladder of wording (docs/equivalence.md, claims): where donor and recipient take
different paths, one of them at most is followed.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final

import msgspec

from samework.errors import UsageError
from samework.experiment.evidence import LEVELS, NO_PAIRS, Evidence, Pairs, evidence
from samework.model.experiment import DonorFollowing
from samework.stats.exact import binomial
from samework.stats.intervals import clopper_pearson
from samework.store.sql import load
from samework.text import shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from samework.experiment.arms import Design
    from samework.experiment.evidence import ByTask, Room

_HOW_MADE: Final = re.compile(r"transplant from (?P<donor>.+)", re.DOTALL)
_WRITTEN: Final = re.compile(r"(?P<arm>[^=,]+)=(?P<donor>[^=,]+),(?P<recipient>[^=,]+)")
_DONOR, _RECIPIENT, _MADE, _PATH = "state.donor", "state.recipient", "reuse.how_made", "cache.path"


class Transplant(msgspec.Struct, frozen=True):
    """An arm of transplanted state. source: the fields, or the option, that say so."""

    arm: str
    donor: str
    recipient: str | None
    source: str


def transplants(room: Room, found: Design, written: Sequence[str]) -> list[Transplant]:
    """Arms of transplanted state that concern this experiment: as written, else as manifests record them.

    Args:
        room: the store.
        found: the experiment; recorded transplants count where their arm, or donor and recipient, are among its arms.
        written: ARM=DONOR,RECIPIENT.

    Raises:
        UsageError: what is written is of another form, or names an arm that no run has.
    """
    known = {run.own_arm for run in found.everyone}
    if written:
        return [_read(word, known) for word in written]
    rows = room.handle.db.execute(load("samework.experiment", "sql/experiment_donors"), {"task": room.task}).fetchall()
    fields: dict[str, dict[str, set[object]]] = defaultdict(lambda: defaultdict(set))
    for arm, field, value, _ in rows:
        fields[arm][field].add(json.loads(value))
    recorded = [_recorded(arm, values, known) for arm, values in fields.items()]
    wanted = set(found.arms)
    return [
        each
        for each in recorded
        if each is not None and (each.arm in wanted or {each.donor, each.recipient or each.donor} <= wanted)
    ]


def _read(word: str, known: set[str]) -> Transplant:
    form = _WRITTEN.fullmatch(word)
    if form is None:
        raise UsageError(f"a transplant is written ARM=DONOR,RECIPIENT, not {shortened(word, 80)!r}")
    names = form["arm"].strip(), form["donor"].strip(), form["recipient"].strip()
    for name in names:
        if name not in known:
            raise UsageError(f"no run has arm {shortened(name, 60)!r}", hint="samework runs", code="no-arm")
    return Transplant(*names, source="--donor")


def _recorded(arm: str, values: dict[str, set[object]], known: set[str]) -> Transplant | None:
    """What the manifests of one arm say, where they say one thing and name arms that are in the store."""
    donor, source = _one(values, _DONOR), _DONOR
    if donor is None:
        made = _one(values, _MADE)
        form = _HOW_MADE.fullmatch(made) if made is not None else None
        donor, source = (form["donor"], _MADE) if form is not None else (None, _MADE)
    if donor is None or donor not in known or donor == arm:
        return None
    recipient, recipient_source = _one(values, _RECIPIENT), _RECIPIENT
    if recipient is None:
        path = _one(values, _PATH) or ""
        recipient, recipient_source = path.removeprefix(f"{donor}-into-"), _PATH
        recipient = recipient if recipient != path else None
    if recipient is None or recipient not in known:
        return Transplant(arm, donor, None, source)
    return Transplant(arm, donor, recipient, f"{source}, {recipient_source}")


def _one(values: dict[str, set[object]], field: str) -> str | None:
    """The one text that a field has in all runs of an arm."""
    found = values.get(field, set())
    only = next(iter(found)) if len(found) == 1 else None
    return only if isinstance(only, str) else None


def donor_following(room: Room, found: Design, each: Transplant) -> DonorFollowing:
    """Count, over the items of one transplant, whose path its runs take, at the strongest level that is recorded.

    Fills the temp tables signature and placed_run anew, with the arms that are concerned.
    """
    arms = [each.arm, each.donor, *([each.recipient] if each.recipient else [])]
    runs = [msgspec.structs.replace(run, arm=run.own_arm) for run in found.everyone if run.own_arm in arms]
    pairs = [(each.arm, arm) for arm in arms[1:]] + ([(each.donor, each.recipient)] if each.recipient else [])
    read = evidence(room, runs, LEVELS, pairs)
    level = next((level for level in LEVELS if _is_known(read.pairs(level, each.arm, each.donor))), LEVELS[0])
    return _counted(each, level, read)


def _is_known(by_task: ByTask) -> bool:
    return any(pairs.same or pairs.different for pairs in by_task.values())


def _counted(each: Transplant, level: str, read: Evidence) -> DonorFollowing:
    to_donor = read.pairs(level, each.arm, each.donor)
    to_recipient = read.pairs(level, each.arm, each.recipient) if each.recipient else {}
    between = read.pairs(level, each.donor, each.recipient) if each.recipient else {}
    all_items: dict[str, int] = defaultdict(int)
    apart: dict[str, int] = defaultdict(int)
    n_apart, n_inseparable = 0, 0
    for task, with_donor in to_donor.items():
        with_recipient = to_recipient.get(task)
        whose = _whose(with_donor, with_recipient)
        all_items[whose] += 1
        all_items["donor"] += whose == "both"
        all_items["recipient"] += whose == "both"
        paths = between.get(task, NO_PAIRS)
        if paths.different and not paths.same and not paths.unknown:
            n_apart += 1
            apart[whose] += 1
        elif paths.different or paths.unknown:
            n_inseparable += 1
    made = DonorFollowing(
        each.arm,
        each.donor,
        each.recipient,
        level,
        each.source,
        n_items=len(to_donor),
        follows_donor=all_items["donor"],
        follows_recipient=all_items["recipient"],
        follows_neither=all_items["neither"],
        n_unknown=all_items["unknown"],
        n_apart=n_apart,
        apart_donor=apart["donor"],
        apart_recipient=apart["recipient"],
        apart_neither=apart["neither"],
        apart_unknown=apart["unknown"],
        n_inseparable=n_inseparable,
    )
    return _tested(made)


def _whose(donor: Pairs, recipient: Pairs | None) -> str:
    """Whose path all runs of an item take: donor, recipient, both, neither, or unknown."""
    known = [pairs for pairs in (donor, recipient) if pairs is not None]
    is_donor = not donor.different and not donor.unknown
    is_recipient = recipient is not None and not recipient.different and not recipient.unknown
    if is_donor and is_recipient:
        return "both"
    if is_donor:
        return "donor"
    if is_recipient:
        return "recipient"
    return "neither" if all(pairs.different for pairs in known) else "unknown"


def _tested(made: DonorFollowing) -> DonorFollowing:
    n_known = made.n_apart - made.apart_unknown
    if made.recipient is None:
        return msgspec.structs.replace(made, reason="the arm that the state was put into is not recorded")
    if not n_known:
        return msgspec.structs.replace(made, reason="donor and recipient take different paths, all known, in no item")
    limits = clopper_pearson(made.apart_donor, n_known)
    return msgspec.structs.replace(made, p=binomial(made.apart_donor, n_known), exact=(limits.low, limits.high))
