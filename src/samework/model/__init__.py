"""Frozen records and words; no I/O."""
