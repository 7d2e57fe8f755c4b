"""Fields of the manifest by the concern they speak of, and those that claims about replay ask for first. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from samework.api.details import ManifestGroup
from samework.claims.requirements import REQUIRED
from samework.equivalence.manifest_diff import GROUP_TITLES, group_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from samework.api.details import ManifestField

_WANTED: Final[dict[str, tuple[str, ...]]] = {
    "M": ("model.id", "weights.quant", "tokenizer.sha256"),
    "Q": ("sampling.temperature", "sampling.seed"),
    "E": ("engine.name", "engine.version", "kv.dtype"),
    "C": ("cache.attention_reuse.enabled", "reset.scope"),
    "L": ("concurrency.at_request",),
    "H": ("hw.device",),
    "W": ("env.image",),
}


def grouped(fields: Sequence[ManifestField]) -> tuple[ManifestGroup, ...]:
    """Every group that has a field or misses one that a claim asks for; fields of no group come last."""
    of_group: dict[str, list[ManifestField]] = {letter: [] for letter in (*GROUP_TITLES, "")}
    for field in fields:
        of_group[group_of(field.field) or ""].append(field)
    groups = []
    for letter, mine in of_group.items():
        present = {field.field for field in mine}
        missing = tuple(name for name in _WANTED.get(letter, ()) if present.isdisjoint(_ways_to_say(letter, name)))
        if mine or missing:
            groups.append(ManifestGroup(letter, GROUP_TITLES.get(letter, "other"), tuple(mine), missing))
    return tuple(groups)


def _ways_to_say(letter: str, name: str) -> tuple[str, ...]:
    """A name with those under which claims take the same fact."""
    return next((need.names for need in REQUIRED.get(letter, ()) if name in need.names), (name,))
