"""What may be said."""

from samework.claims.facts import Facts
from samework.claims.licence import claims

__all__ = ["Facts", "claims"]
