"""Name a working tree by its content, without a store and without a trace in the tree or its repository."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from samework.model.results import SnapshotResult


def snapshot(worktree: str | Path, *, scope: Sequence[str] = ()) -> SnapshotResult:
    """Tree oid and content digest of a working tree, untracked files included, ignored ones left out.

    Args:
        worktree: a directory, a Git checkout or not.
        scope: globs of paths to leave out (litter of a harness).

    Returns: `oid` None where Git could not make a tree; `null_reason` has its words.

    Raises: InputError: there is no such directory.
    """
    from samework.trees.object_store import ObjectStore
    from samework.trees.snapshot import snapshot_worktree

    with tempfile.TemporaryDirectory(prefix="samework-snapshot-") as aside:
        return snapshot_worktree(Path(worktree), ObjectStore.create(Path(aside) / "objects.git"), scope=tuple(scope))
