"""What a reader of logs asks of each runner's way to print results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from samework.canon.report_nodes import NodeList


class Family(Protocol):
    """One runner's way to print results. runner: its name. n_nodes: results seen so far."""

    runner: str

    @property
    def n_nodes(self) -> int:
        """Results seen so far."""
        ...

    def line(self, line: str) -> None:
        """One line of output."""
        ...

    def fill(self, nodes: NodeList) -> str | None:
        """Put the results in; returns the slug of what makes the log incomplete, None where it is whole."""
        ...
