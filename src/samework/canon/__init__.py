"""Canonical forms and digests; pure."""
