"""`python -m samework`: the command line without an installed script."""

from __future__ import annotations

from samework.cli.app import main

if __name__ == "__main__":
    main()
