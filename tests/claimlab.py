"""Made pairs for claims: whole manifests, gaps in them, a fork, and the claims that follow. No store."""

from __future__ import annotations

from samework.claims import Facts, claims
from samework.claims.requirements import REQUIRED
from samework.equivalence.manifest_diff import Side, difference
from samework.model.results import FacetVerdict, ForkPlace, PairResult
from samework.model.words import Consequence, Grade, RunClass, Status, Verdict

SAME, DIFFERENT, UNKNOWN = Verdict.SAME, Verdict.DIFFERENT, Verdict.UNKNOWN
FORK = ForkPlace(
    step=2,
    seq=3,
    event="completion",
    origin="model/greedy",
    consequence=Consequence.ABSORBED,
    n_shared_events=3,
    prompt_grade="direct",
)


def full() -> dict[str, Side]:
    """A manifest in which every requirement is recorded, measured."""
    made = {need.names[0]: Side("x", "measured") for group in REQUIRED.values() for need in group}
    made["sampling.temperature"] = Side(0, "measured")
    made["reuse.cached_tokens"] = Side([0, 0], "measured")
    made["reset.scope"] = Side("process", "measured")
    return made


def diff(a: dict[str, Side], b: dict[str, Side]):
    none = Side(absence="unrecorded")
    return tuple(difference(name, a.get(name, none), b.get(name, none)) for name in sorted(a.keys() | b.keys()))


def pair(*, fork: ForkPlace | None = None, **facets: FacetVerdict) -> PairResult:
    given = {
        "tokens": FacetVerdict(DIFFERENT if fork else SAME, "made", Grade.DIRECT),
        "tree": FacetVerdict(SAME, "made", Grade.DIRECT),
        "tests": FacetVerdict(SAME, "equal_outcomes", Grade.DIRECT),
        **facets,
    }
    return PairResult("a", "b", "t", RunClass.TOKEN, Status.ESTABLISHED, (), (), given, fork)


def judged(a, b, *, facts: Facts | None = None, **rest):
    return {claim.claim: claim for claim in claims(pair(**rest), diff(a, b), facts)}


def hosted() -> dict[str, Side]:
    hidden = {need.names[0] for group in "ECLH" for need in REQUIRED[group]}
    return {name: Side(absence="unobservable") if name in hidden else side for name, side in full().items()}


def sampled(temperature: float, seed: int | None) -> dict[str, Side]:
    found = full() | {"sampling.temperature": Side(temperature, "measured")}
    return found if seed is None else found | {"sampling.seed": Side(seed, "measured")}


def without(*names: str) -> dict[str, Side]:
    return {name: side for name, side in full().items() if name not in names}
