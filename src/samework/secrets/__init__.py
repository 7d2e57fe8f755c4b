"""What looks like a secret in a text, and what stands in its place. Knows nothing of runs, stores or reports."""
