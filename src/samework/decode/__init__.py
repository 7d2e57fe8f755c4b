"""Hostile bytes to values."""
