"""JSON Schemas of the documents that users write: run.json, a line of events.jsonl, manifest.json.

Made from the records of the model where the document says the same; a test holds the keys to those that readers take.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from samework.model.events import Event
from samework.model.records import RunStart
from samework.model.words import Absence, EndReason, FieldSource

_TEXT: Final = {"type": "string"}
_OPTIONAL_TEXT: Final = {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}
_ANYTHING: Final = {"description": "Any JSON value."}
_RUN_ONLY_READERS: Final = frozenset(
    {"type", "layout", "native_id", "parent_native_id", "repo", "content_sha256", "is_partial"}
)


def document_schemas() -> dict[str, dict[str, Any]]:
    """Name -> schema, for "run", "event" and "manifest"."""
    return {"run": _run(), "event": _event(), "manifest": _manifest()}


def anything(_: type) -> dict[str, Any]:
    """Schema of a value whose shape is the source's own."""
    return dict(_ANYTHING)


def _run() -> dict[str, Any]:
    described = msgspec.json.schema(RunStart, schema_hook=anything)
    taken = _properties(described, "RunStart", without=_RUN_ONLY_READERS)
    references = {
        "repeat": {
            "anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}],
            "default": None,
            "description": "Ordinal of the run within its task and arm.",
        },
        "end_reason": {
            **_OPTIONAL_TEXT,
            "description": f"Why the run ended; known: {', '.join(EndReason)}. Another word is kept, as unrecorded.",
        },
        "transcript": {**_OPTIONAL_TEXT, "description": "File of the transcript, in any supported format."},
        "manifest": {**_OPTIONAL_TEXT, "description": "File of the manifest; see manifest.schema.json."},
        "tree": {**_tree(), "description": "Where the resulting tree is: exactly one of the forms."},
        "tests": {
            "type": "array",
            "default": [],
            "items": _object({"report": _TEXT, "suite": _OPTIONAL_TEXT, "env": _OPTIONAL_TEXT}, ["report"]),
            "description": "Test reports, with the names of their suite and environment.",
        },
        "invariants": {
            "anyOf": [
                {"type": "object", "additionalProperties": {"anyOf": [{"type": "boolean"}, {"type": "null"}]}},
                {"type": "string"},
                {"type": "null"},
            ],
            "default": None,
            "description": "Predicate -> true, false or null (unknown), or a file that holds this.",
        },
    }
    schema = _object({**taken, **references}, [])
    return _with_definitions(schema, described)


def _tree() -> dict[str, Any]:
    forms = [("worktree",), ("repo", "commit"), ("repo", "base", "patch"), ("base", "patch"), ("oid",)]
    with_base = {("worktree",), ("repo", "commit"), ("oid",)}
    shapes = []
    for form in forms:
        names = (*form, "base") if form in with_base else form
        shapes.append({**_object(dict.fromkeys(names, _TEXT), list(form)), "additionalProperties": False})
    return {"anyOf": [*shapes, {"type": "null"}], "default": None}


def _event() -> dict[str, Any]:
    described = msgspec.json.schema(Event, schema_hook=anything)
    other = frozenset({"type", "calls", "offset", "margins", "time", "top2", "top2_texts"})
    properties = _properties(described, "Event", without=other)
    token = {"type": "integer", "minimum": 0}
    pair = {"type": "array", "items": token, "minItems": 2, "maxItems": 2}
    numbers = {"type": "array", "items": {"type": "number"}}
    properties |= {
        "text": _OPTIONAL_TEXT,
        "tool_calls": {
            "anyOf": [
                {
                    "type": "array",
                    "items": _object(
                        {"id": _OPTIONAL_TEXT, "name": _TEXT, "arguments": _ANYTHING, "is_json": {"type": "boolean"}},
                        ["name"],
                    ),
                },
                {"type": "null"},
            ],
            "default": None,
            "description": "Calls of a completion, in order. A string of arguments is taken byte for byte.",
        },
        "margins": {
            "anyOf": [numbers, _object({"values": numbers, "unit": _OPTIONAL_TEXT}, ["values"]), {"type": "null"}],
            "default": None,
            "description": "Per completion token, top-1 minus top-2, in nats or logits.",
        },
        "top2": {
            "anyOf": [{"type": "array", "items": {"anyOf": [token, pair, {"type": "null"}]}}, {"type": "null"}],
            "default": None,
            "description": "Per completion token the ids of the two likeliest, likeliest first; or the id of the rival "
            "alone, where the token itself was the likeliest; or null.",
        },
        "time": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "null"}], "default": None},
    }
    return _with_definitions(_object(properties, ["kind"]), described)


def _manifest() -> dict[str, Any]:
    leaf = _object(
        {
            "value": _ANYTHING,
            "source": {"enum": [*map(str, FieldSource)]},
            "where": _TEXT,
            "absence": {"enum": [*map(str, Absence)]},
        },
        [],
    )
    leaf["anyOf"] = [{"required": ["value"]}, {"required": ["absence"]}]
    leaf["additionalProperties"] = False
    return {
        "type": "object",
        "description": "Dotted name (or nested objects) -> a value, or a value with its source, or why it is absent.",
        "additionalProperties": {"anyOf": [{"$ref": "#/$defs/Leaf"}, {"$ref": "#"}, _ANYTHING]},
        "$defs": {"Leaf": leaf},
    }


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


def _properties(schema: dict[str, Any], name: str, *, without: frozenset[str]) -> dict[str, Any]:
    found = schema["$defs"][name]["properties"]
    return {key: value for key, value in found.items() if key not in without}


def _with_definitions(schema: dict[str, Any], described: dict[str, Any]) -> dict[str, Any]:
    """Keep only those definitions of the record that the document still refers to."""
    text = str(schema["properties"])
    named = {name: value for name, value in described["$defs"].items() if f"'#/$defs/{name}'" in text}
    return {**schema, "$defs": named} if named else schema
