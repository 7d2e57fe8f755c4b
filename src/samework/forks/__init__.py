"""Where trajectories of one task part, and what came of it."""
