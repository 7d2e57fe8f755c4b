"""Move what is recorded of one run to another that stands for it, and find out whose a prediction is.

A prediction is a patch without its trajectory. It is that of the trajectory with the same patch, or of the only one of
its task and arm that has none. Refuses to guess between several: it stays a run of its own, and a finding says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from samework.ingest.rows import row_columns
from samework.model.records import Damage
from samework.text import storable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from samework.ingest.index import Index, KnownRun
    from samework.store.write import BatchWriter

MOVED: Final = (
    "test_report", "run_outcome", "run_invariant", "run_tree", "patch", "patch_path", "patch_edit",
    "manifest_field", "defect",
)  # fmt: skip
"""What a prediction brings to its run."""
SEVERAL: Final = Damage(
    0, 0, "it fits several runs of its task and arm, and is joined to none", code="fits-several-runs", taints_run=False
)
_NAMED_BY: Final = {"run_outcome": "name", "run_invariant": "name", "manifest_field": "field"}
_ONE_OF_A_RUN: Final = frozenset({"patch", "patch_path", "patch_edit", "run_tree"})


def absorb(writer: BatchWriter, index: Index, old: KnownRun, new: KnownRun, tables: Iterable[str]) -> None:
    """Move artifacts to the run that stands for them now; what that one says itself stands above them."""
    if old.run_id in index.by_id:
        index.remove(old)
    has = {"patch": new.patch_sha256 is not None, "run_tree": has_tree(writer, new.key)}
    has["patch_path"] = has["patch_edit"] = has["patch"]
    for table in tables:
        rows = _rows(writer, table, old.key)
        if not rows:
            continue
        writer.delete(table, "run_key", [old.key])
        if table in _ONE_OF_A_RUN:
            if has[table]:
                continue
            writer.delete(table, "run_key", [new.key])  # a row that says why there is none
        elif table in _NAMED_BY:
            name = _NAMED_BY[table]
            own = {row[name] for row in _rows(writer, table, new.key)}
            rows = [row for row in rows if row[name] not in own]
        if rows:
            moved: dict[str, list[object]] = {name: [row[name] for row in rows] for name in rows[0]}
            writer.append(table, {**moved, "run_key": [new.key] * len(rows)})
        for row in rows:
            _remember(index, table, new, row)


def has_tree(writer: BatchWriter, key: int) -> bool:
    """Whether a tree is recorded for a run."""
    return any(row["oid"] is not None or row["tcd"] is not None for row in _rows(writer, "run_tree", key))


def _rows(writer: BatchWriter, table: str, key: int) -> list[dict[str, object]]:
    names = ("run_key", *row_columns(table))
    listed = ", ".join(f'"{name}"' for name in names)
    query = f'SELECT {listed} FROM main."{table}" WHERE run_key = $key'  # noqa: S608 (own names)
    return [dict(zip(names, row, strict=True)) for row in writer.read(query, {"key": key})]


def _remember(index: Index, table: str, run: KnownRun, row: dict[str, object]) -> None:
    if table == "test_report":
        index.reports.setdefault(run.key, set()).add((row["report_sha256"], row["suite"], row["env"]))  # type: ignore[arg-type]
    elif table == "run_outcome":
        index.outcomes.setdefault(run.key, {})[str(row["name"])] = str(row["value"])
    elif table == "patch":
        run.patch_sha256 = row["patch_sha256"]  # type: ignore[assignment]


# Predictions


def whose(index: Index, task: str, arm: str, patch: bytes | None, repeat: str | None) -> KnownRun | None:
    """The stored prediction that surely belongs to a trajectory: that of its patch, or of the repeat that it names."""
    held = index.partial.get((task, arm), [])
    equal = [run for run in held if patch is not None and run.patch_sha256 == patch]
    if equal:
        return equal[0]
    if repeat is None or patch is not None:
        return None
    return next((run for run in held if run.repeat == repeat), None)


def expected(index: Index, task: str, arm: str, patch: bytes | None) -> KnownRun | None:
    """The one stored prediction that may turn out to be of a trajectory that has no patch; its repeat is taken then."""
    held = index.partial.get((task, arm), [])
    if patch is not None or len(held) != 1:
        return None
    is_first = not any(run.has_trajectory and run.repeat == held[0].repeat for run in index.by_arm[task, arm])
    return held[0] if is_first else None


def settle(writer: BatchWriter, index: Index) -> list[tuple[KnownRun, KnownRun | None]]:
    """At the end of an ingest: join each waiting prediction to the only run that it fits, or leave it apart.

    Returns:
        Predictions with the run that each was joined to, None where it fits several.
    """
    settled: list[tuple[KnownRun, KnownRun | None]] = []
    for task, arm in sorted(index.unsettled):
        runs = index.by_arm.get((task, arm), [])
        held = list(index.partial.get((task, arm), []))
        fitting = [run for run in runs if run.has_trajectory and run.patch_sha256 is None]
        if len(held) == len(fitting) == 1:
            absorb(writer, index, held[0], fitting[0], MOVED)
            forget(writer, held[0].key)
            settled.append((held[0], fitting[0]))
            continue
        taken = {run.repeat for run in fitting}
        for run in held:
            if run.repeat in taken:
                _move_aside(writer, index, run)
                settled.append((run, None))
    index.unsettled.clear()
    return settled


def forget(writer: BatchWriter, key: int) -> None:
    """Take the rows of a prediction out whose artifacts were moved."""
    for table in ("facet_digest", "run"):
        writer.delete(table, "run_key", [key])


def _move_aside(writer: BatchWriter, index: Index, run: KnownRun) -> None:
    """Give a prediction a repeat that no trajectory has, and say why it stays apart."""
    (row,) = _rows(writer, "run", run.key)
    index.rename(run, index.free_repeat(run.task, run.arm))
    row |= {"repeat": run.repeat, "run_id": run.run_id}
    writer.replace("run", {name: [value] for name, value in row.items()})
    defect: dict[str, object] = {
        "defect_key": writer.next_key("defect"),
        "source_sha256": row["source_sha256"],
        "settings_sha256": row["settings_sha256"],
        "run_key": run.key,
        "path": storable(run.path),
        "source_offset": SEVERAL.offset,
        "n_bytes": SEVERAL.n_bytes,
        "code": SEVERAL.code,
        "reason": SEVERAL.reason,
    }
    writer.append("defect", {name: [value] for name, value in defect.items()})
