"""Fields of the manifest by the concern they speak of, and those that claims about replay ask for. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from samework.api.details import ManifestGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from samework.api.details import ManifestField

_GROUPS: Final[tuple[tuple[str, str, tuple[str, ...], tuple[str, ...]], ...]] = (
    (
        "M",
        "model",
        ("model", "weights", "tokenizer", "adapter", "template"),
        ("model.id", "weights.quant", "tokenizer.sha256"),
    ),
    ("Q", "request", ("prompt", "tools", "sampling"), ("sampling.temperature", "sampling.seed")),
    (
        "E",
        "engine",
        ("engine", "kv", "attention", "batch", "parallel", "deterministic", "spec"),
        ("engine.name", "engine.version", "kv.dtype"),
    ),
    (
        "C",
        "cache",
        ("cache", "reset", "reuse", "state", "server", "traffic"),
        ("cache.attention_reuse.enabled", "reset.scope", "reuse.cached_tokens"),
    ),
    ("L", "load", ("concurrency",), ("concurrency.at_request",)),
    ("H", "hardware", ("hw",), ("hw.device",)),
    ("W", "workspace", ("base", "env", "network", "clock", "harness", "workspace", "agent"), ("env.image",)),
    ("V", "tests", ("suite", "test"), ()),
)


def grouped(fields: Sequence[ManifestField]) -> tuple[ManifestGroup, ...]:
    """Every group that has a field or misses one that a claim asks for; fields of no group come last."""
    groups = []
    taken: set[str] = set()
    for letter, title, prefixes, wanted in _GROUPS:
        mine = tuple(field for field in fields if field.field.split(".", 1)[0] in prefixes)
        taken.update(field.field for field in mine)
        present = {field.field for field in mine}
        missing = tuple(name for name in wanted if name not in present)
        if mine or missing:
            groups.append(ManifestGroup(letter, title, mine, missing))
    rest = tuple(field for field in fields if field.field not in taken)
    return (*groups, ManifestGroup("", "other", rest)) if rest else tuple(groups)
