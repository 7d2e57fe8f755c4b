"""What a report is made of: frozen records, already visible and redacted text, that any presenter renders.

HTML, Markdown and JSON show one `ReportData`; what JSON keeps is enough to make the same HTML again. Refuses to hold
anything that a presenter would have to compute from the store.
"""

from __future__ import annotations

import msgspec

from samework.model.experiment import ExperimentResult
from samework.model.results import ClassesResult, ForkNode, PairResult, TaskClasses


class Party(msgspec.Struct, frozen=True):
    """One run, as a report introduces it. evidence: facet -> grade. Counts are None where unrecorded."""

    run_id: str
    task: str
    arm: str
    repeat: str
    format: str = ""
    complete: bool = True
    kind: str = ""
    end_reason: str = ""
    n_steps: int | None = None
    n_calls: int | None = None
    agent: str | None = None
    model: str | None = None
    evidence: dict[str, str] = {}


class Strip(msgspec.Struct, frozen=True):
    """Margins of one completion around the fork, one per token. start: offset of the first in the completion.

    ids: token ids, () where unrecorded. n_tokens: length of the whole completion.
    """

    margins: tuple[float, ...]
    ids: tuple[int, ...] = ()
    start: int = 0
    n_tokens: int = 0


class ForkSide(msgspec.Struct, frozen=True):
    """One side of a fork: the text of the differing event, and its tool calls as `name arguments` lines."""

    text: str
    calls: tuple[str, ...] = ()
    strip: Strip | None = None


class ForkView(msgspec.Struct, frozen=True):
    """The fork of a pair. before: tail of the last shared event. n_common: leading characters that both texts share."""

    a: ForkSide
    b: ForkSide
    before: str = ""
    n_common: int = 0
    margin_unit: str | None = None


class DiffLine(msgspec.Struct, frozen=True):
    """One line of a difference. kind: hunk, context, added, deleted, note."""

    kind: str
    text: str


class FileChange(msgspec.Struct, frozen=True):
    """One path that two trees hold differently.

    change: added, deleted, modified, mode. what: text, binary, symlink, submodule. Ids and modes are None on the side
    where the path is absent. cut: lines left out.
    """

    path: str
    change: str
    what: str = "text"
    mode_a: str | None = None
    mode_b: str | None = None
    oid_a: str | None = None
    oid_b: str | None = None
    lines: tuple[DiffLine, ...] = ()
    n_added: int = 0
    n_deleted: int = 0
    cut: int = 0


class TreeView(msgspec.Struct, frozen=True):
    """How two trees differ. note: why files cannot be shown. cut: files left out."""

    oid_a: str | None
    oid_b: str | None
    files: tuple[FileChange, ...] = ()
    note: str | None = None
    cut: int = 0


class TestDifference(msgspec.Struct, frozen=True):
    """One test node on which two cells disagree: outcome sets of each.

    quarantined: flaky, and set aside. open: absent from a side that has no complete report, which says nothing.
    """

    node: str
    a: tuple[str, ...]
    b: tuple[str, ...]
    quarantined: bool = False
    open: bool = False


class TestsView(msgspec.Struct, frozen=True):
    """Tests of a pair in the suites that both runs have; quarantined: flaky ones, in no number but their own.

    differing: nodes with unequal outcomes, whatever comes of it; cut: those left out. n_equal, n_differing, n_open:
    nodes with equal outcomes, nodes that make the tests differ, nodes of which one side says nothing.
    """

    differing: tuple[TestDifference, ...] = ()
    n_equal: int = 0
    n_differing: int = 0
    n_open: int = 0
    quarantined: tuple[str, ...] = ()
    suite: str | None = None
    env: str | None = None
    note: str | None = None
    cut: int = 0


class RulesetNote(msgspec.Struct, frozen=True):
    """Rules under which digests were made. ruleset: hex id. rules: canonical JSON."""

    ruleset: str
    facet: str
    name: str
    rules: str = ""


class PairPage(msgspec.Struct, frozen=True):
    """A pair, whole."""

    result: PairResult
    a: Party
    b: Party
    fork: ForkView | None = None
    tree: TreeView | None = None
    tests: TestsView | None = None


class TaskPage(msgspec.Struct, frozen=True):
    """A task: its classes, its forks, its runs. facets: facet -> verdict -> pairs, {} where not counted."""

    classes: TaskClasses
    forks: tuple[ForkNode, ...]
    runs: tuple[Party, ...]
    facets: dict[str, dict[str, int]] = {}


class StorePage(msgspec.Struct, frozen=True):
    """A whole store. forks: those that changed work. n_forks: all of them. formats: reader -> runs."""

    classes: ClassesResult
    forks: tuple[ForkNode, ...]
    n_forks: int
    arms: dict[str, int] = {}
    formats: dict[str, int] = {}


class Redaction(msgspec.Struct, frozen=True):
    """One value that was taken out. digest: first 12 hex of the sha256 of what stood there. n: places."""

    reason: str
    digest: str
    n: int


UNTRUSTED = (
    *("title", "pair.a", "pair.b", "pair.fork", "pair.tree", "pair.tests", "task.classes", "task.runs"),
    *("store.classes", "store.arms", "experiment", "rulesets", "redactions[].reason"),
)
"""Where a report holds words of the record; what `pair.result` and each fork hold of them, they say themselves."""


class ReportData(msgspec.Struct, frozen=True):
    """One report. kind: pair, task, store or experiment; the page of that kind is present, the others are None.

    untrusted: where words of the record stand here. They are data, and no order to whoever reads the report.
    """

    kind: str
    title: str
    version: str
    pair: PairPage | None = None
    task: TaskPage | None = None
    store: StorePage | None = None
    rulesets: tuple[RulesetNote, ...] = ()
    redactions: tuple[Redaction, ...] = ()
    is_redacted: bool = False
    experiment: ExperimentResult | None = None
    untrusted: tuple[str, ...] = UNTRUSTED
