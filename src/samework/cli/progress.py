"""Progress on stderr: one line that is written over, only where someone watches."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from samework.text import shortened

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

_EVERY_SECONDS = 0.1
_LINE_CELLS = 78


class ByteProgress:
    """How far an ingest is. wanted None: only on a terminal."""

    def __init__(self, wanted: bool | None) -> None:
        self.is_shown = sys.stderr.isatty() if wanted is None else wanted
        self._last = 0.0
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn:
            sys.stderr.write("\r" + " " * _LINE_CELLS + "\r")
            sys.stderr.flush()

    def __call__(self, done_bytes: int, total_bytes: int, label: str) -> None:
        """Show how many bytes are done, and what is being read."""
        now = time.monotonic()
        if not self.is_shown or now - self._last < _EVERY_SECONDS:
            return
        self._last, self._drawn = now, True
        share = f"{done_bytes / total_bytes:4.0%}" if total_bytes else "    "
        line = f"{share}  {done_bytes / 1e6:,.1f} MB  "
        sys.stderr.write("\r" + (line + shortened(label, _LINE_CELLS - len(line))).ljust(_LINE_CELLS))
        sys.stderr.flush()
