"""Write the published copy of the schema: `schema/` and `docs/schema.md`. `make schema` runs `python -m` this module.

Everything is made from the package; nothing here is read at run time.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from samework.model.causes import CausesResult
from samework.model.experiment import ExperimentResult
from samework.model.funnel import Funnel
from samework.model.gate import GateResult
from samework.model.results import ClassesResult, ForkNode, PairResult, PairRow, RunSummary
from samework.model.review import PairReviews
from samework.store import ddl, documents, migrate, sql
from samework.store.tables import TABLES
from samework.store.version import SCHEMA_VERSION

if TYPE_CHECKING:
    from sqlmodel import SQLModel

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_MODELS: Final[dict[str, tuple[Any, str]]] = {
    "compare": (PairResult, "The answer of `samework compare --json`."),
    "classes": (ClassesResult, "The answer of `samework classes --json`."),
    "causes": (CausesResult, "The answer of `samework causes --json`."),
    "experiment": (ExperimentResult, "The answer of `samework experiment --json`."),
    "forks": (list[ForkNode], "The answer of `samework forks --json`."),
    "funnel": (Funnel, "The answer of `samework classes --funnel --json`."),
    "gate": (GateResult, "The answer of `samework gate --json`."),
    "pairs": (list[PairRow], "The answer of `samework pairs --json`."),
    "review": (PairReviews, "The answer of `samework review --json`."),
    "runs": (list[RunSummary], "The answer of `samework runs --json`."),
}
_DOCUMENTS: Final = {
    "run": "run.json of a run bundle: whose run it is, and where its parts lie. Every key may be left out.",
    "event": "One event of a trajectory: a line of events.jsonl.",
    "manifest": "manifest.json: what produced the run, field by field.",
}


def published() -> dict[str, str]:
    """Every published file: path from the root of the project -> text."""
    files = {"schema/store.sql": _store_sql(), "docs/schema.md": _page()}
    for name, (model, title) in _MODELS.items():
        schema = msgspec.json.schema(model, schema_hook=documents.anything)
        files[f"schema/{name}.schema.json"] = _json_schema(name, schema, title)
    for name, schema in documents.document_schemas().items():
        files[f"schema/{name}.schema.json"] = _json_schema(name, schema, _DOCUMENTS[name])
    return files


def write(root: Path) -> list[str]:
    """Write what differs below `root`; returns the paths written."""
    written = []
    for name, text in published().items():
        path = root / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            written.append(name)
    return written


def _json_schema(name: str, schema: dict[str, Any], title: str) -> str:
    head = {"$schema": _DIALECT, "$id": f"samework:{name}", "title": f"samework {name}", "description": title}
    return json.dumps({**head, **schema}, indent=2, ensure_ascii=False) + "\n"


def _store_sql() -> str:
    head = f"-- Schema of store.duckdb, version {SCHEMA_VERSION}. Written by `make schema`; never read at run time.\n\n"
    views = "\n".join(text.rstrip() + ";\n" for _, text in sql.scripts("samework.store", "views"))
    return head + ddl.store_ddl() + "\n" + views


def _page() -> str:
    parts = [
        "# The store, table by table",
        (
            "Written by `make schema` from `src/samework/store`; a test holds it to the code. "
            "Ask over the views with `samework query`; the tables below them are the same facts with digests as bytes."
        ),
        "## Views",
        *[_view(name[3:], text) for name, text in sql.scripts("samework.store", "views")],
        "### ingest_ledger\n\nThe table of that name, below.",
        "## Named queries",
        "`samework query --named NAME`",
        "\n".join(f"- `{name}`: {_first_sentence(text)}" for name, text in sql.scripts("samework.store", "named")),
        "## Tables",
        f"Schema version {SCHEMA_VERSION}; migrations so far: {', '.join(f'{n:04}' for n, _ in migrate.migrations())}.",
        *[_table(table) for table in TABLES],
    ]
    return "\n\n".join(parts) + "\n"


def _view(name: str, text: str) -> str:
    about, _, example = " ".join(sql.header(text).split("\n")).partition(" Example: ")
    shown = {
        "pairs": "pairs(task)",
        "manifest_diff": "manifest_diff(a, b)",
        "digest_verdict": "digest_verdict(one, other)",
    }.get(name, name)
    return f"### {shown}\n\n{_capital(about.partition(': ')[2])}\n\n```sql\n{example}\n```"


def _first_sentence(text: str) -> str:
    lines = sql.header(text).partition("\nParameters:")[0].split("\n")
    return " ".join(lines).partition(": ")[2]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _table(table: type[SQLModel]) -> str:
    key = ddl.primary_key(table)
    lines = [f"### `{ddl.table_name(table)}`", "", (table.__doc__ or "").strip(), ""]
    lines += ["| column | type | meaning |", "|---|---|---|"]
    for column, (sql_type, nullable) in ddl.column_types(table).items():
        kind = f"{sql_type}{', key' if column in key else ''}{', may be NULL' if nullable else ''}"
        about = (table.model_fields[column].description or "").replace("|", "\\|")
        lines.append(f"| `{column}` | {kind} | {about} |")
    return "\n".join(lines)


if __name__ == "__main__":
    for changed in write(Path.cwd()):
        sys.stdout.write(f"{changed}\n")
