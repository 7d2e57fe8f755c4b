"""What test runners print, family by family: pytest, unittest and Django, SymPy, go, Jest, cargo.

Each takes lines and knows nothing of files. A status is read only beside the id of a test; a bare `PASSED` is output.
"""

from __future__ import annotations

from typing import Final

from samework.readers.parts.test_logs.cargo_log import Cargo
from samework.readers.parts.test_logs.family import Family
from samework.readers.parts.test_logs.go_log import Go
from samework.readers.parts.test_logs.jest_log import Jest
from samework.readers.parts.test_logs.pytest_log import Pytest
from samework.readers.parts.test_logs.sympy_log import Sympy
from samework.readers.parts.test_logs.unittest_log import Unittest

__all__ = ["FAMILIES", "Family"]

FAMILIES: Final[tuple[type[Pytest | Unittest | Sympy | Go | Jest | Cargo], ...]] = (
    Pytest,
    Unittest,
    Sympy,
    Go,
    Jest,
    Cargo,
)
