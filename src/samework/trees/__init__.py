"""Git trees of ours and theirs, without running anything of theirs."""
