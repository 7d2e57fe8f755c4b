"""Verdicts, classes and counts over digests."""
