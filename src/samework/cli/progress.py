"""Progress on stderr: one line that is written over, only where someone watches."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from samework.text import shortened

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from samework.model.results import SourceOutcome

_EVERY_SECONDS = 0.1
_LINE_CELLS = 78


class SourceProgress:
    """Counts sources as they land. wanted None: only on a terminal."""

    def __init__(self, wanted: bool | None) -> None:
        self.is_shown = sys.stderr.isatty() if wanted is None else wanted
        self.n_sources = 0
        self._last = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.is_shown and self.n_sources:
            sys.stderr.write("\r" + " " * _LINE_CELLS + "\r")
            sys.stderr.flush()

    def __call__(self, outcome: SourceOutcome) -> None:
        """Show that one more source is done."""
        self.n_sources += 1
        now = time.monotonic()
        if not self.is_shown or now - self._last < _EVERY_SECONDS:
            return
        self._last = now
        line = shortened(f"{self.n_sources:,} read: {outcome.path}", _LINE_CELLS)
        sys.stderr.write("\r" + line.ljust(_LINE_CELLS))
        sys.stderr.flush()
