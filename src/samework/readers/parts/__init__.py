"""Parts of readers: what several formats of one family share, and what would make one reader too long to read."""
