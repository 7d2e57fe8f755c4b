"""What must be recorded, and equal, for the claims about replay: one requirement a line, by group of the manifest.

A requirement may be met under several names; the first is the one that a blocked claim asks for.
"""

from __future__ import annotations

import msgspec

from samework.equivalence.manifest_diff import REUSED_NAMES


class Requirement(msgspec.Struct, frozen=True):
    """A field that must be recorded on both sides. compared: False where it must be known but may differ."""

    names: tuple[str, ...]
    compared: bool = True


def _all(*names: str) -> tuple[Requirement, ...]:
    return tuple(Requirement(tuple(name.split("|"))) for name in names)


WEIGHTS = Requirement(("model.sha256", "weights.sha256", "model.sha256_prefix", "model.revision"))
WEIGHTS_DIGEST = Requirement(("model.sha256", "weights.sha256", "model.sha256_prefix"))
TEMPERATURE = Requirement(("sampling.temperature",))
SEED = Requirement(("sampling.seed",))
MODEL_KNOWN = Requirement(("model.id", "model_id"), compared=False)
SAMPLING_KNOWN = Requirement(("sampling.temperature", "sampling.temperature_requested"), compared=False)
CACHE_POLICY = Requirement(("cache.attention_reuse.enabled", "cache.prefix_policy", "prefix_cache_policy"))
RESET_SCOPE = Requirement(("reset.scope", "reset_scope"))
REUSED = Requirement(REUSED_NAMES)

REQUIRED: dict[str, tuple[Requirement, ...]] = {
    "M": (
        Requirement(("model.id", "model_id")),
        WEIGHTS,
        *_all(
            "weights.quant|weights.dtype",
            "adapter.sha256|adapter.id|adapter",
            "tokenizer.sha256|tokenizer_sha256",
            "template.sha256|tokenizer.chat_template",
        ),
    ),
    "Q": (TEMPERATURE,),
    "E": _all(
        "engine.name|engine_name",
        "engine.version|engine_version",
        "engine.binary_sha256|engine.build_sha|engine_build",
        "attention.backend|attention.flash_attn|attention_backend",
        "kv.dtype|kv_dtype",
        "batch.n_ubatch|batch.n_batch|batch.max_tokens|batch",
        "parallel.tensor|parallel.slots|parallel",
        "spec.draft|spec.mode|spec",
        "deterministic.mode|deterministic_mode",
    ),
    "C": (
        CACHE_POLICY,
        *_all("cache.host_memory.mib|cache.secondary"),
        RESET_SCOPE,
        Requirement(("server.instance_id", "server_instance_id"), compared=False),
        *_all("traffic.position|traffic_position"),
        REUSED,
    ),
    "L": _all("concurrency.at_request|concurrency"),
    "H": _all("hw.device|hw_device", "hw.driver|hw_driver"),
    "W": _all(
        "base.commit|base.tree|repo.base_commit",
        "env.image|env_image",
        "network.policy|env.network|network",
        "clock.policy|env.clock|clock",
        "harness.name|harness",
        "harness.version|harness_version",
    ),
}

EVERYTHING = "MQECLHW"
"""Groups of all that goes into the tokens of a run."""

COLD_SCOPES = frozenset({"process", "fresh_container"})
"""Resets after which no cache of the engine, first or secondary, can hold anything of an earlier request."""

NEVER_COMPARED = frozenset({"server.instance_id", "server_instance_id", "server.started_at", "reset.at"})
