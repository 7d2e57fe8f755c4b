"""Made reports of each kind; `text` replaces every string that a run could have written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samework.experiment.evidence import Pairs
from samework.experiment.rates import disagreement, item_rate
from samework.model.experiment import (
    ArmSummary,
    Attempts,
    Caution,
    CrossArm,
    Disagreement,
    DonorFollowing,
    ExperimentResult,
    Family,
    FlakyVerifier,
    Flips,
    LevelResult,
    MarginResult,
    Mean,
    PathResult,
    ScreenedItem,
    SelfRepeat,
    Success,
    SuccessRate,
    Unplaced,
)
from samework.model.results import (
    AlignedSpan,
    Anomaly,
    Claim,
    ClassBlock,
    ClassesResult,
    FacetVerdict,
    FieldDifference,
    ForkBranch,
    ForkNode,
    ForkPlace,
    PairResult,
    Reconvergence,
    TaskClasses,
)
from samework.model.words import Consequence, Grade, RunClass, Status, Verdict
from samework.report.build import experiment_report, fork_view, pair_report, store_report, task_report
from samework.report.data import ForkSide, Party, RulesetNote, Strip, TestDifference, TestsView
from samework.report.diff import file_change, tree_view

if TYPE_CHECKING:
    from samework.report.data import ReportData

RULES = (RulesetNote("ab" * 32, "actions", "jcs", '{"numbers":"value"}'),)


def parties(text: str | None = None) -> list[Party]:
    """Five runs in three arms."""
    arms = ["kept", "kept", "recomputed", "recomputed", "moved"]
    return [
        Party(
            f"run{n}", text or "fix-add", text or arm, str(n), text or "events_jsonl", n_steps=2, n_calls=1, agent=text
        )
        for n, arm in enumerate(arms)
    ]


def fork(text: str | None = None, consequence: Consequence = Consequence.TESTS) -> ForkNode:
    """A fork of five runs into three ways."""
    ways = (("run0", "run1"), ("run2", "run3"), ("run4",))
    branches = tuple(
        ForkBranch(
            runs,
            {"tool": text or "edit", "arguments": text or f'{{"way":{n}}}'},
            text or f"way {n}",
            1,
            1,
            arms={text or f"arm{n}": len(runs)},
        )
        for n, runs in enumerate(ways)
    )
    return ForkNode(
        text or "fix-add",
        "00" * 32,
        2,
        3,
        "completion",
        text or "model/greedy",
        consequence,
        True,
        branches,
        evidence=text or "prompt ids equal",
        consequence_reason=text or "trees_and_tests_differ",
        token_offset=2,
        margins=(0.04, 0.3),
        margin_unit="logits",
        margin_finding=text or "near_tie_flip",
        effect="consequential",
        differs=("tree", "tests"),
        differs_later=(text or "actions",),
        near_tie_nats=0.5,
        margin_evidence=text or "0.04, 0.3 logits, each at most the declared 0.5",
    )


def pair(text: str | None = None) -> ReportData:
    """A divergent pair with everything that a page can show."""
    words = {
        "tokens": Verdict.DIFFERENT,
        "text": Verdict.DIFFERENT,
        "actions": Verdict.SAME,
        "observations": Verdict.UNKNOWN,
        "tree": Verdict.DIFFERENT,
        "tests": Verdict.DIFFERENT,
        "patch": Verdict.NOT_APPLICABLE,
    }
    facets = {
        name: FacetVerdict(verdict, text or "digests_differ", Grade.DIRECT, "cd" * 32, detail=text)
        for name, verdict in words.items()
    }
    place = ForkPlace(
        2,
        3,
        "completion",
        text or "model/greedy",
        Consequence.TESTS,
        text or "prompt ids equal",
        2,
        text or "prose",
        0.04,
        0.3,
        "logits",
        text or "near_tie_flip",
        n_shared_events=3,
        consequence_reason=text or "trees and tests differ",
        effect="consequential",
        differs=("tree", "tests"),
        near_tie_nats=0.5,
        margin_evidence=text or "0.04, 0.3 logits, each at most the declared 0.5",
    )
    result = PairResult(
        "run0",
        "run2",
        text or "fix-add",
        RunClass.DIVERGENT,
        Status.ESTABLISHED,
        (RunClass.DIVERGENT,),
        (Anomaly("A1", text or "same tokens, different tree"),),
        facets,
        place,
        (Claim(text or "tree_replay", "refuted", (text or "tree",), text or "the trees differ"),),
        (
            FieldDifference(text or "kv.dtype", "differs", text or "f16", text or "q8_0", "measured", "declared"),
            FieldDifference("hw.threads", "equal", 1, 1, "measured", "measured"),
            FieldDifference("cache.path", "not_comparable", text or "kept", None, "measured", None, "b"),
        ),
        (text or "a note",),
        Reconvergence(4, 3, "workspace"),
        (AlignedSpan("equal", 1, 1, 1, 1), AlignedSpan("changed", 2, 3, 2, 2), AlignedSpan("equal", 5, 9, 4, 9)),
    )
    a, _, b, *_ = parties(text)
    margins = tuple(0.04 if n == 2 else 1.0 + n for n in range(8))
    view = fork_view(
        ForkSide(text or "return a + b", (text or "edit {}",), Strip(margins, tuple(range(8)), 0, 8)),
        ForkSide((text or "return ") + "sum((a, b))", (), Strip(margins[::-1], tuple(range(8)), 0, 8)),
        before=text or "def add(a, b):",
        token_offset=2,
        margin_unit="logits",
    )
    old, new = f"def add(a, b):\n    return a - b\n{text or ''}", f"def add(a, b):\n    return a + b\n{text or 'x'}\n"
    change = file_change(
        text or "calc.py",
        old.encode("utf-8", "replace"),
        new.encode("utf-8", "replace"),
        mode_a="100644",
        mode_b="100755",
        oid_a="12ee743" + "0" * 33,
        oid_b="4693ad3" + "0" * 33,
    )
    tests = TestsView(
        (
            TestDifference(text or "test_calc.py::test_add", ("passed",), (text or "failed",)),
            TestDifference(text or "test_clock", ("passed",), ("failed", "passed"), quarantined=True),
        ),
        n_equal=3,
        n_differing=1,
        quarantined=(text or "test_clock",),
        suite=text or "calc",
        env=text,
        note=text,
    )
    tree = tree_view("aa" * 20, "bb" * 20, [change], note=None)
    return pair_report(result, a, b, fork=view, tree=tree, tests=tests, rulesets=RULES)


def blocks(text: str | None = None) -> TaskClasses:
    """Three classes and a run that is not placed."""
    return TaskClasses(
        text or "fix-add",
        6,
        {"token-identical": 2, "tests-identical": 4, "divergent": 4, "unresolved": 5},
        (
            ClassBlock(1, 1, 1, 2, {text or "kept": 2}, "run0", ("run0", "run1")),
            ClassBlock(1, 2, 1, 2, {"recomputed": 2}, "run2", ("run2", "run3")),
            ClassBlock(2, 1, 1, 1, {"moved": 1}, "run4", ("run4",)),
            ClassBlock(None, None, None, 1, {"lost": 1}, "run5", ("run5",), placed=False, not_refuted_from=(1, 2)),
        ),
        (text or "test_clock",),
    )


FACETS = {
    "tokens": {"same": 2, "different": 8, "unknown": 5},
    "actions": {"same": 6, "different": 4, "unknown": 5},
    "tree": {"same": 2, "different": 8, "unknown": 5},
    "tests": {"same": 6, "different": 4, "unknown": 5},
}


def task(text: str | None = None) -> ReportData:
    """A task of six runs."""
    return task_report(blocks(text), [fork(text)], parties(text), facets=FACETS, rulesets=RULES)


def store(text: str | None = None) -> ReportData:
    """A store of one task."""
    counts = {"total": 15, **blocks().counts}
    anomaly = Anomaly("A2", text or "same tree, different tests")
    found = ClassesResult(6, 1, counts, FACETS, {}, (blocks(text),), anomalies=(anomaly,))
    forks = [fork(text, Consequence.TREE), fork(text), fork(text, Consequence.COMPLETION_ONLY)]
    return store_report(found, forks, parties(text), rulesets=RULES)


def experiment(text: str | None = None) -> ReportData:
    """Two arms of twelve items: one differs from itself, both from each other, and a transplant follows its donor."""
    a, b, moved = text or "kept", text or "recomputed", text or "moved"

    def differ(k: int, n: int, n_unknown: int = 0) -> Disagreement:
        pairs = {f"t{place}": Pairs(0, 1, 0) if place < k else Pairs(1, 0, 0) for place in range(n)}
        return disagreement(pairs | {f"u{place}": Pairs(0, 0, 1) for place in range(n_unknown)})

    tested = PathResult(
        12, 0, 0, (0.9, 1.0), 0.5, 0.45, p=0.0004, p_holm=0.0012, smallest_p=1e-6, method="exact", sentence="detected"
    )
    tokens = LevelResult(
        "tokens",
        (SelfRepeat(a, differ(1, 12)), SelfRepeat(b, differ(0, 12))),
        (CrossArm(a, b, differ(6, 12), tested, (ScreenedItem(text or "fix-add", 0.03, 0.2),)),),
    )
    tree = LevelResult(
        "tree",
        (SelfRepeat(a, differ(0, 8, 4)), SelfRepeat(b, differ(0, 8, 4))),
        (
            CrossArm(
                a, b, differ(1, 8, 4), PathResult(0, 0, 4, reason=text or "none", sentence=text or "no test: none")
            ),
        ),
    )
    flips = Flips(
        a, b, 12, 3, 5, 0, 4, 0, is_means=False, difference=5 / 12, interval=(0.1, 0.7), interval_method="Tango",
        test="McNemar, exact", p=0.0625, p_mid=0.03125, p_holm=0.125, sentence=text or "not detected",
        margin=MarginResult(0.02, "exact", non_inferior=True, equivalent=False, sentence=text or "shown"),
    )  # fmt: skip
    mean = Mean(0.5, (0.2, 0.8), 12, "bootstrap")
    success = Success(
        text or "resolved", "asserted", (SuccessRate(a, 16, 8, 0), SuccessRate(b, 6, 16, 2)), (flips,),
        (Attempts(a, 1, 12, mean, mean), Attempts(a, 2, 12, mean, mean), Attempts(b, 1, 12, None, None)),
    )  # fmt: skip
    donors = (
        DonorFollowing(
            moved, a, b, "tokens", "state.donor", 12, 12, 6, 0, 0, 6, 6, 0, 0, 0, p=0.03125, p_holm=0.09,
            exact=(0.54, 1.0), sentence=text or "not detected",
        ),
        DonorFollowing(moved, a, None, "tokens", "state.donor", 2, 1, 0, 1, 0, 0, 0, 0, 0, 0, sentence=text or "none"),
    )  # fmt: skip
    found = ExperimentResult(
        (ArmSummary(a, 24, 12, 12, (2, 2)), ArmSummary(b, 24, 12, 12, (2, 2))),
        None,
        12,
        0,
        (Caution("order-unrecorded", text or "When runs started is not recorded."),),
        (tokens, tree),
        Family(3, 0.05, (text or "tokens",)),
        success,
        donors,
        FlakyVerifier(3, 1, item_rate(1, 2), {text or "fix-add": (text or "test_add",)}, (3, 1), (4, 2)),
        (Unplaced("run9", text or "fix-add", "unrecorded"),),
        limits=(text or "The item is the unit.",),
    )
    return experiment_report(found, rulesets=RULES)


KINDS = {"pair": pair, "task": task, "store": store, "experiment": experiment}
