"""How far pairs of runs go from other tokens to work that matters: frozen records that print as JSON."""

from __future__ import annotations

import msgspec


class FunnelStage(msgspec.Struct, frozen=True):
    """One stage over all pairs: yes + no + unknown + not_applicable pairs.

    reached: pairs that are yes here and at every stage before that applies. may_reach: those of which that is unknown.
    Nothing applies where it has no object: calls of two runs that made none, the tree of runs that leave none.
    """

    stage: str
    yes: int
    no: int
    unknown: int
    not_applicable: int
    reached: int
    may_reach: int


class Funnel(msgspec.Struct, frozen=True):
    """`samework classes --funnel`. pairs: all of the selection. disputed: of the reviewed pairs."""

    pairs: int
    stages: tuple[FunnelStage, ...]
    disputed: int = 0
