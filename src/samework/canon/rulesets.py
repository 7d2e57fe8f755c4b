"""Declared rules under which a digest is made. A ruleset is data with an id; it is stored beside what it decided."""

from __future__ import annotations

import hashlib
from functools import cached_property

import msgspec
import rfc8785

MASK_ORDER = ("workspace", "tmp", "uuid", "time", "addr", "duration", "chunk", "port")


class Ruleset(msgspec.Struct, frozen=True, dict=True):
    """Rules for one facet. `id` is the sha256 of the canonical JSON of facet and rules (not of the name)."""

    name: str
    facet: str
    rules: dict[str, object]

    @cached_property
    def text(self) -> str:
        """The rules as canonical JSON."""
        return rfc8785.dumps({"facet": self.facet, "rules": self.rules}).decode()  # type: ignore[dict-item]

    @cached_property
    def id(self) -> bytes:
        """32 bytes."""
        return hashlib.sha256(self.text.encode()).digest()


_TESTS: dict[str, object] = {
    "min_tests": 1,
    "executed": "tests, no collectors, files, suites or packages",
    "subtests": "passed",
    "durations": "ignored",
    "ids": "as recorded, addresses masked; lone surrogates escaped, the backslashes of such text doubled",
    "collection": "passed where a test below is listed",
}
_MASKS: dict[str, object] = {
    "masks": list(MASK_ORDER),
    "replacement": "<KIND:n>, n by first occurrence in the run",
    "workspace": "absolute roots where a path begins; one inside another goes with it; the first <WS>, others <WS:n>",
    "literal": "what has that form already: a backslash after its <",
}

DEFAULT_RULESETS: dict[str, Ruleset] = {
    ruleset.facet: ruleset
    for ruleset in (
        Ruleset(
            "engine-ids",
            "tokens",
            {
                "call": "sha256(tokenizer, ids as int32 LE)",
                "run": "sha256 over calls",
                "strip_terminal_stop": False,
                "comparable": "tokenizer, and what each call is known by: ids, a producer's hash, or one with a size",
                "unrecorded": [
                    "no ids beside content",
                    "fewer ids than were counted",
                    "a hash that is not hexadecimal",
                ],
                "implied_prompts": [
                    "texts in order, with which call a result answers",
                    "completions in their places, as written",
                ],
            },
        ),
        Ruleset("raw-text", "text", {"normalisation": "none", "parts": ["text", "reasoning"]}),
        Ruleset(
            "messages",
            "refuter",
            {
                "refutes": "tokens",
                "parts": ["message text", "calls as written", "reasoning where none was hidden"],
                "comparable": "recorder with its version, completions, raw or parsed, some reasoning hidden or none",
            },
        ),
        Ruleset(
            "prose", "prose", {"normalisation": "none", "parts": ["text"], "comparable": "where reasoning is hidden"}
        ),
        Ruleset(
            "counts",
            "counts",
            {
                "refutes": "tokens",
                "parts": ["completion tokens", "reasoning tokens"],
                "comparable": "recorder, and which of the counts each completion has",
            },
        ),
        Ruleset(
            "raw-completions",
            "raw_text",
            {
                "contradicts": "equal token ids",
                "parts": ["raw text"],
                "comparable": "tokenizer; every completion is raw",
            },
        ),
        Ruleset(
            "jcs-masked",
            "actions",
            {
                "canonical": "rfc8785",
                "numbers": "value",
                "big_integers": "tagged $int, a key of that form with $ more",
                "parallel": "ordered",
                **_MASKS,
            },
        ),
        Ruleset(
            "as-seen-masked",
            "observations",
            {
                "parts": ["text", "exit_status", "the call it answers: completions since, ordinal"],
                "answers": "the call with its id; without one, the oldest open call of the last completion",
                **_MASKS,
            },
        ),
        Ruleset("post-images", "patch", {"bytes": "after declared repairs", "paths": "(path, mode, blob id)"}),
        Ruleset(
            "git-tree",
            "tree",
            {
                "forms": ["oid", "tcd", "post-images", "asserted oid", "post-images on an assumed base"],
                "ids": "cut to the shortest of the task, at least 7 digits",
                "contested": "only runs that state the same id before and the same change of a contested path",
                "scope": [],
            },
        ),
        Ruleset(
            "quarantine",
            "tests",
            {"quarantine": "group", "strict": False, **_TESTS},
        ),
        Ruleset("as-recorded", "outcome", {"values": "canonical JSON"}),
        Ruleset("kleene", "invariants", {"empty": "unknown"}),
    )
}
STRICT_TESTS = Ruleset(
    "strict",
    "tests",
    {"quarantine": "none", "strict": True, **_TESTS},
)
