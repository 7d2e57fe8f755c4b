"""Where trajectories of one task part, and what came of it. The graph for drawing is in `graph`."""

from samework.forks.first import first_divergence
from samework.forks.nodes import forks

__all__ = ["first_divergence", "forks"]
