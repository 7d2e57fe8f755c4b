"""What a claim may rest on beyond one pair: repeats, how the factor was assigned, interventions, certificates."""

from __future__ import annotations

import msgspec


class Facts(msgspec.Struct, frozen=True):
    """Facts from outside of the pair; the defaults claim nothing.

    n_replays: replays with the same tokens, this pair being one. discriminating: the suite's outcomes differ from those
    of the base tree; None where nobody tested the base. determinism_certificate: repeats showed that this engine, on
    this hardware, with these weights, gives the same tokens whatever its caches hold. self_repeat_disagreements: of
    repeats within both arms; None without repeats in both. assigned_factor: the field that was toggled by design.
    donor_followed: state moved from one run to another made the continuation follow its donor.
    """

    n_replays: int = 1
    discriminating: bool | None = None
    determinism_certificate: bool = False
    self_repeat_disagreements: int | None = None
    assigned_factor: str | None = None
    donor_followed: bool = False
