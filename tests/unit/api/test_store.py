"""The Python surface on a small real store: what a notebook would do."""

from __future__ import annotations

from pathlib import Path

import pytest

import samework as sw
from samework.errors import InputError, NotFound, UsageError

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> sw.Store:
    made = sw.create(tmp_path_factory.mktemp("api") / ".samework")
    made.ingest(FIXTURES / "small" / "tests-identical", FIXTURES / "small" / "hosted-api")
    return made


def test_runs_come_in_order_and_can_be_filtered(store: sw.Store) -> None:
    assert [run.task for run in store.runs()] == ["hosted-api"] * 3 + ["tests-identical"] * 3
    assert {run.arm for run in store.runs(task="hosted-api", arm="one")} == {"one"}


def test_an_unknown_task_lists_the_known_ones(store: sw.Store) -> None:
    with pytest.raises(NotFound, match="known: hosted-api, tests-identical"):
        store.runs(task="nonsense")


def test_an_empty_name_names_no_run(store: sw.Store) -> None:
    with pytest.raises(UsageError):
        store.show("")


def test_a_run_is_not_compared_with_itself_nor_across_tasks(store: sw.Store) -> None:
    one = store.runs()[0].run_id
    with pytest.raises(UsageError, match="one run"):
        store.compare(one, one[:8])
    with pytest.raises(UsageError, match="within one task"):
        store.compare("hosted-api:one:1", "tests-identical:one:1")


def test_across_takes_two_different_arms(store: sw.Store) -> None:
    for arms in (["one"], ["one", "one"], ["one", "two", "three"]):
        with pytest.raises(UsageError):
            store.classes(across=arms)
    assert store.classes(task="hosted-api", across=["one", "two"]).pairs["total"] == 1


def test_an_unknown_class_or_status_lists_the_known_ones(store: sw.Store) -> None:
    with pytest.raises(UsageError, match="token-identical"):
        store.pairs(run_class="equal")
    with pytest.raises(UsageError, match="established"):
        store.pairs(status="sure")


def test_pairs_stop_at_the_limit(store: sw.Store) -> None:
    assert len(store.pairs(limit=2)) == 2
    assert len(store.pairs()) == 6


def test_sql_is_a_relation_and_a_later_write_closes_it(store: sw.Store) -> None:
    relation = store.sql("select count(*) from runs")
    assert relation.fetchall() == [(6,)]
    assert store.ingest(FIXTURES / "small" / "hosted-api").n_known == 3


def test_sql_takes_values_as_parameters(store: sw.Store) -> None:
    relation = store.sql("select count(*) from runs where task = $task", {"task": "x' or 1=1 --"})
    assert relation.fetchall() == [(0,)]


def test_classes_in_sql_are_those_of_the_engine(store: sw.Store) -> None:
    answer = store.query("select task, count(*) as n_runs from classes group by task order by task")
    assert answer.rows == (("hosted-api", 3), ("tests-identical", 3))


@pytest.mark.parametrize("view", ["classes", "forks", "fork_branches"])
def test_sql_and_query_read_the_same_engine(engine: sw.Store, view: str) -> None:
    text = f"select * from {view} order by all"
    asked = engine.query(text).rows
    assert engine.sql(text).fetchall() == list(asked)
    assert engine.sql(text).fetchall() == list(asked)
    assert asked


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> sw.Store:
    """What the engine sees beyond equality of digests: flaky tests, reports that are cut, forks of unknown end."""
    made = sw.create(tmp_path_factory.mktemp("engine") / ".samework")
    made.ingest(FIXTURES / "small")
    return made


def test_a_report_ends_in_a_known_form(store: sw.Store, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.html"):
        store.report(tmp_path / "report.pdf")
    with pytest.raises(UsageError):
        store.report(tmp_path / "report.html", a="hosted-api:one:1")


def test_nothing_to_attach_is_bad_usage(store: sw.Store) -> None:
    with pytest.raises(UsageError, match="nothing to attach"):
        store.attach("hosted-api:one:1")
    with pytest.raises(UsageError, match="--match"):
        store.attach("hosted-api:one:1", match="{task}.json")


def test_a_backup_never_replaces_a_file(store: sw.Store, tmp_path: Path) -> None:
    (tmp_path / "backup.tar").write_text("mine")
    with pytest.raises(InputError, match="already"):
        store.backup(tmp_path / "backup.tar")
    assert (tmp_path / "backup.tar").read_text() == "mine"


def test_a_store_is_found_by_itself_or_by_the_directory_that_holds_it(store: sw.Store) -> None:
    assert sw.open(store.path).path == sw.open(store.path.parent).path == store.path
    assert repr(store).startswith("Store(")


def test_a_database_of_another_program_hides_no_store_beside_it(tmp_path: Path) -> None:
    (tmp_path / "store.duckdb").touch()
    made = sw.create(tmp_path / ".samework")
    assert sw.open(tmp_path).path == made.path


def test_no_store_is_said_with_what_helps(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no store here"):
        sw.open(tmp_path)


def test_what_is_held_of_a_run_has_a_grade_and_gaps_a_reason(store: sw.Store) -> None:
    detail = store.show("hosted-api:one:1")
    by_facet = {facet.facet: facet for facet in detail.facets}
    assert by_facet["tree"].grade == "direct"
    assert by_facet["tokens"].grade == "none"
    assert by_facet["tokens"].prevents is not None
    assert all(facet.reason for facet in detail.facets if facet.grade == "none")
    assert detail.grades == detail.run.evidence
