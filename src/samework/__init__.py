"""samework: did the work change?

`import samework as sw; store = sw.open(".samework")`. Names are loaded on first use: importing the package opens no
database and costs milliseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from samework.api import Store, create, open, restore, snapshot  # noqa: A004 (sw.open reads as intended)
    from samework.errors import EvidenceError, InputError, SameworkError, StoreError, UsageError

__all__ = [
    "EvidenceError",
    "InputError",
    "SameworkError",
    "Store",
    "StoreError",
    "UsageError",
    "__version__",
    "create",
    "open",
    "restore",
    "snapshot",
]

_HOMES = {
    "Store": "samework.api",
    "create": "samework.api",
    "open": "samework.api",
    "restore": "samework.api",
    "snapshot": "samework.api",
    "EvidenceError": "samework.errors",
    "InputError": "samework.errors",
    "SameworkError": "samework.errors",
    "StoreError": "samework.errors",
    "UsageError": "samework.errors",
}


def __getattr__(name: str) -> object:
    """Load an exported name on first use."""
    if name == "__version__":
        from importlib.metadata import version

        return version("samework")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
