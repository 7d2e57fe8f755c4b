"""Read sources in other processes while this one lands what they read before.

Only whole files of a middling size are worth the way between processes; all others are read where they land. Whatever
goes wrong with a worker, the file is read again here, so that the answer is the same with any number of jobs.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, NamedTuple, Self, cast

import msgspec

from samework.errors import InputError
from samework.ingest import registry
from samework.ingest.pace import bulk_pace
from samework.ingest.reading import Reading
from samework.ingest.sources import identified, refuse_changed, state_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future
    from multiprocessing.context import BaseContext
    from types import TracebackType

    from samework.ingest.assembly import Findings, RunAssembly
    from samework.ingest.identity import RunIdentity, SourceIdentity
    from samework.ingest.landing import Landing
    from samework.ingest.layouts import Unit
    from samework.ingest.settings import IngestSettings
    from samework.ingest.sources import Parts
    from samework.model.records import OutcomeRecord, SuiteReport

_LARGEST_BYTES = 16 << 20
_AHEAD_BYTES = 48 << 20
_AHEAD_UNITS = 64


class Read(NamedTuple):
    """What a worker read of one source: its identity, its runs with theirs, what stood outside of runs.

    state: of the file before it was read, as `state_of` gives it. parts: to keep, with their digests.
    """

    state: object
    identity: SourceIdentity
    parts: Parts
    runs: list[tuple[RunAssembly, RunIdentity]]
    loose: list[SuiteReport | OutcomeRecord]
    findings: Findings


class _NothingKnown:
    """In the place of a landing: a worker cannot know what the store holds, so it reads everything."""

    def __init__(self, identity: SourceIdentity) -> None:
        self.identity = identity

    def known_run(self, facts: RunIdentity, run_id: str | None) -> None:
        """Nothing is known."""


class Ahead:
    """Gives units in order, each with what a worker read of it, or None where it is to be read here.

    Args:
        units: in the order in which they are to land.
        settings: jobs says how many processes read.
    """

    def __init__(self, units: list[Unit], settings: IngestSettings) -> None:
        self._units = deque(units)
        self._settings = settings
        self._waiting: deque[tuple[Unit, int, Future[Read] | None]] = deque()
        self._ahead_bytes = 0
        n_fit = sum(_fits(unit) for unit in units) if settings.jobs > 1 else 0
        n_workers = min(settings.jobs, n_fit)
        self._pool = ProcessPoolExecutor(n_workers, _context(units), _started) if n_workers > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def __iter__(self) -> Iterator[tuple[Unit, Read | None]]:
        """Yield all units. An error of reading is found again by whoever reads the unit."""
        while self._units or self._waiting:
            self._fill()
            unit, n_bytes, future = self._waiting.popleft()
            self._ahead_bytes -= n_bytes
            yield unit, None if future is None else self._result(future)

    def _fill(self) -> None:
        while self._units and len(self._waiting) < _AHEAD_UNITS:
            unit = self._units[0]
            n_bytes = unit.stored.size() if self._pool is not None and _fits(unit) else 0
            if self._waiting and self._ahead_bytes + n_bytes > _AHEAD_BYTES:
                return
            self._units.popleft()
            self._ahead_bytes += n_bytes
            self._waiting.append((unit, n_bytes, self._submitted(unit) if n_bytes else None))

    def _submitted(self, unit: Unit) -> Future[Read] | None:
        if self._pool is None or unit.reader is None:
            return None
        # A reader of another package may not travel; its name does.
        bare = msgspec.structs.replace(unit, reader=None)
        try:
            return self._pool.submit(_read, bare, unit.reader.name, self._settings)
        except BrokenProcessPool:
            return None

    @staticmethod
    def _result(future: Future[Read]) -> Read | None:
        try:
            return future.result()
        except Exception:  # noqa: BLE001 (whatever it was, reading here says it, or does not meet it)
            return None


def _fits(unit: Unit) -> bool:
    if unit.reader is None or unit.error is not None or unit.stored.is_dir or unit.reader.name == "bundle":
        return False
    try:
        return 0 < unit.stored.size() <= _LARGEST_BYTES
    except InputError:
        return False


def _context(units: list[Unit]) -> BaseContext:
    """Workers are forked from a small process that has imported what they need once."""
    context = multiprocessing.get_context("forkserver")
    used = {unit.reader.name for unit in units if unit.reader is not None}
    context.set_forkserver_preload(
        [__name__, *(registry.MODULE.format(name) for name in registry.BUILT_IN if name in used)]
    )
    return context


def _started() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that lands; it ends the others


def _read(unit: Unit, name: str, settings: IngestSettings) -> Read:
    """In a worker: read one source whole."""
    reader = registry.reader(name)
    before = state_of(unit)
    identity, parts = identified(unit, reader, settings, worktree_oid=lambda _: None)
    reading = Reading(
        unit,
        reader,
        cast("Landing", _NothingKnown(identity)),
        is_streaming=False,
        tick=lambda _: None,
        check=lambda: refuse_changed(unit, before),
    )
    with bulk_pace():
        runs = reading.gathered()
    for run, _ in runs:
        if run.fold is not None:  # one without events may yet join another run, and has no digests then
            run.finish()
        run.rows.pack()
    return Read(before, identity, parts, runs, reading.loose, reading.findings)
