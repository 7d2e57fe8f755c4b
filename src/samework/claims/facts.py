"""What a claim may rest on beyond one pair: repeats, how the factor was assigned, interventions, certificates."""

from __future__ import annotations

import msgspec


class Facts(msgspec.Struct, frozen=True):
    """Facts from outside of the pair; the defaults claim nothing. `evidence.read_facts` reads them from a store.

    n_replays: replays with the same tokens, this pair being one. n_replays_differing: made in the same way, with other
    tokens. discriminating: the suite's outcomes differ from those of the base tree; None where nobody tested the base.
    determinism_certificate: repeats showed that this engine, on this hardware, with these weights, gives the same
    tokens whatever its caches hold; n_certified: tasks on which they did. self_repeat_disagreements: of repeats within
    both arms, on the task of the pair; None without repeats in both. self_repeat_disagreements_elsewhere: on other
    tasks. n_self_repeats: pairs of repeats of both arms, on all tasks. assigned_factor: the field that was toggled by
    design. donor_followed: state moved from one run to another made the continuation follow its donor, on this task and
    on each other where the paths differ; n_followed: transplants, by task, that did. cut_off: side (`a`, `b`) and end
    reason of each run that was cut off in the completion at the fork.
    """

    n_replays: int = 1
    n_replays_differing: int = 0
    discriminating: bool | None = None
    determinism_certificate: bool = False
    n_certified: int = 0
    self_repeat_disagreements: int | None = None
    self_repeat_disagreements_elsewhere: int = 0
    n_self_repeats: int = 0
    assigned_factor: str | None = None
    donor_followed: bool = False
    n_followed: int = 0
    cut_off: tuple[tuple[str, str], ...] = ()
