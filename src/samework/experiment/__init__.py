"""Arms, controls and tests."""
