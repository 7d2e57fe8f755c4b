"""A report as one self-contained HTML page: no script, no remote asset, every text escaped.

The page carries a policy that forbids everything but its own inline style, so that even a mistake here would not run.
Refuses a template name that is not there (`StrictUndefined`) rather than showing a gap.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined

from samework.report import drawing, sentences
from samework.report.experiment_drawing import rate_chart
from samework.report.trie import TrieDrawing, trie_drawing

if TYPE_CHECKING:
    from samework.report.data import ReportData, TaskPage

CLASS_NAMES = {
    "token-identical": "token",
    "tree-identical": "tree",
    "tests-identical": "tests",
    "divergent": "divergent",
    "unresolved": "unresolved",
}
_SHORT = 12


def render_html(data: ReportData) -> str:
    """The page, as text; the same record always gives the same page."""
    return _environment().get_template(f"{data.kind}.html.j2").render(report=data)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("samework.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {
        "css": lambda run_class: CLASS_NAMES.get(str(run_class), "unresolved"),
        "plain": lambda slug: sentences.plain(str(slug)),
        "short": lambda digest: str(digest)[:_SHORT],
        "grouped": lambda n: f"{n:,}",
        "value": _value,
        "share": lambda rate: "–" if rate is None else f"{rate:.1%}",  # noqa: RUF001
        "span": lambda limits: "–" if limits is None else f"{limits[0]:.1%} to {limits[1]:.1%}",  # noqa: RUF001
        "p": lambda p: "–" if p is None else f"{p:.3g}",  # noqa: RUF001
        "signed": lambda rate: "–" if rate is None else f"{rate:+.4f}",  # noqa: RUF001
        "percent": lambda part, whole: f"{100 * part / whole:.1f} %" if whole else "–",  # noqa: RUF001
    }
    made.globals |= {
        "said": sentences,
        "LATTICE": drawing.LATTICE,
        "lattice_edges": lambda facets: drawing.lattice_edges({k: str(v.verdict) for k, v in facets.items()}),
        "strips": drawing.strips,
        "stacked": drawing.stacked,
        "block_matrix": drawing.block_matrix,
        "trie": _trie,
        "rate_chart": rate_chart,
    }
    return made


def _trie(page: TaskPage) -> TrieDrawing:
    arms = {run.run_id: run.arm for run in page.runs}
    return trie_drawing(page.forks, [run.run_id for run in page.runs if run.n_steps], arms)


def _value(value: object) -> str:
    """A manifest value as text; None is said, never blank."""
    if value is None:
        return "not recorded"
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)
