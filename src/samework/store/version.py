"""Whose store it is and of which version: apart from `tables`, so that a reader need not load the typed schema."""

from __future__ import annotations

from typing import Final

SCHEMA_VERSION: Final = 3
APPLICATION_ID: Final = "samework"
