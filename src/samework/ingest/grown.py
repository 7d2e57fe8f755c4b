"""A record that grew: a session that was ingested while it was written, and again when it went on, is one run.

Two records are of one run where task, arm and the tool's own id, or without such an id the repeat that is named, are
the same and one trajectory is a beginning of the other. Where the task is but the name of a file, or the arm of one
lacks the model, since the model had not yet replied, they are so too if the tool's id is the same and both began at the
same time. The longer one stands, whichever came first. What was recorded beside the shorter one (tree, patch, tests,
outcomes, invariants) is of an earlier moment, and is the longer one's only where nothing but the end was added. Refuses
to guess where the trajectories part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.model.records import Damage
from samework.store.sql import load
from samework.text import storable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from samework.ingest.assembly import RunAssembly
    from samework.ingest.identity import RunIdentity, SourceIdentity
    from samework.ingest.index import Index, KnownRun
    from samework.model.records import RunStart
    from samework.store.write import BatchWriter

OWN_TABLES = ("event", "call", "call_usage", "token", "token_rank", "facet_digest", "manifest_field", "defect", "run")
"""Tables whose rows a shorter record takes with it when it goes."""
ATTACHED_TABLES = ("test_report", "run_outcome", "run_invariant", "run_tree", "patch", "patch_path", "patch_edit")
_WORDS = {
    "run_tree": "a tree", "patch": "a patch", "test_report": "test reports", "run_outcome": "outcomes",
    "run_invariant": "invariants",
}  # fmt: skip


def held(index: Index, start: RunStart, facts: RunIdentity, source: SourceIdentity) -> list[KnownRun]:
    """Held runs that a record may be a beginning of, or go on from."""
    native_id = None if start.native_id is None else storable(start.native_id)
    started = None if start.started is None else storable(start.started)
    exact = index.same_session(facts.task, facts.arm, facts.repeat, start.layout, native_id)
    begun = index.begun_with(start.layout, native_id, started)
    others = [run for run in begun if run not in exact and _is_named_otherwise(run, start, facts, source)]
    return [run for run in (*exact, *others) if facts.repeat in {None, run.repeat}]


def _is_named_otherwise(run: KnownRun, start: RunStart, facts: RunIdentity, source: SourceIdentity) -> bool:
    """Whether nobody named a run's task and arm other than this record's."""
    if run.source is None or run.source[1] != source.given.sha256:
        return False
    is_named = start.task is not None or source.given.task is not None
    if run.task != facts.task and (is_named or not run.is_named_by_file):
        return False
    short, long = sorted((run.arm, facts.arm), key=len)
    lacks_model = not facts.is_arm_given and start.arm is None and start.agent is not None
    return short == long or (lacks_model and short == storable(start.agent or "") and long.startswith(f"{short}/"))


def longer(writer: BatchWriter, held: list[KnownRun], assembly: RunAssembly) -> KnownRun | None:
    """The run among `held` that goes on from where this trajectory ends, or ends there too."""
    last = assembly.finish().last_chain
    if last is None or not held:
        return None
    query = load("samework.ingest", "queries/runs_with_chain")
    found = writer.read(query, {"keys": [run.key for run in held], "chain": last})
    return next((run for run in held if found and run.key == found[0][0]), None)


def shorter(writer: BatchWriter, held: list[KnownRun], assembly: RunAssembly) -> KnownRun | None:
    """The run among `held` from whose end this trajectory goes on."""
    if not held:
        return None
    ends = writer.read(load("samework.ingest", "queries/last_chains"), {"keys": [run.key for run in held]})
    passed = assembly.rows.chains()
    for key, last in ends:
        if last in passed or _was_flushed(writer, assembly, last):
            return next(run for run in held if run.key == key)
    return None


def went_on(writer: BatchWriter, key: int, n_events: int) -> bool:
    """Whether anything but its end stands in a run after its first events."""
    query = load("samework.ingest", "queries/events_after")
    return bool(writer.read(query, {"key": key, "n_events": n_events})[0][0])


def n_events(writer: BatchWriter, key: int) -> int:
    """Events of a run in the store or the open batch."""
    ((count,),) = writer.read(load("samework.ingest", "queries/length_of"), {"key": key})
    return int(str(count))


def brought(assembly: RunAssembly, *, has_tree: bool) -> list[str]:
    """The tables of the artifacts that a record brings."""
    has = {
        "run_tree": has_tree,
        "patch": assembly.patch is not None and assembly.patch.patch is not None,
        "test_report": bool(assembly.reports),
        "run_outcome": bool(assembly.outcomes),
        "run_invariant": bool(assembly.invariants),
    }
    return [table for table, is_there in has.items() if is_there]


def early(tables: Iterable[str]) -> Damage:
    """What to say of artifacts of an earlier moment. tables: those that they would be in."""
    named = set(tables)
    told = ", ".join(word for table, word in _WORDS.items() if table in named)
    reason = f"recorded before the run went on, and not taken over: {told}"
    return Damage(0, 0, reason, code="recorded-early", taints_run=False)


def drop_attached(writer: BatchWriter, key: int) -> list[str]:
    """Take the artifacts of a run out of the open batch and the store; returns the tables that held any."""
    held = [str(table) for (table,) in writer.read(load("samework.ingest", "queries/attached_to"), {"key": key})]
    reports = [each for (each,) in writer.read(load("samework.ingest", "queries/reports_of"), {"key": key})]
    if reports:
        writer.delete("test_outcome", "report_key", reports)
    for table in ATTACHED_TABLES:
        writer.delete(table, "run_key", [key])
    return held


def _was_flushed(writer: BatchWriter, assembly: RunAssembly, chain: object) -> bool:
    if assembly.key is None:
        return False
    query = load("samework.ingest", "queries/runs_with_chain")
    return bool(writer.read(query, {"keys": [assembly.key], "chain": chain}))


def forget(writer: BatchWriter, key: int) -> None:
    """Take a run's own rows out of the open batch and the store; bodies of text stay, others may share them."""
    for table in OWN_TABLES:
        writer.delete(table, "run_key", [key])
