"""A gap in the evidence is told with what it prevents; groups of the manifest lose no field."""

from __future__ import annotations

import pytest

from samework.api.details import ManifestField
from samework.api.inventory import FACETS, not_applicable, prevents
from samework.api.manifest_groups import grouped
from samework.model.words import Facet


def test_every_facet_of_the_model_is_in_the_inventory() -> None:
    assert set(FACETS) == {facet.value for facet in Facet}


@pytest.mark.parametrize("facet", ["tokens", "text", "actions", "observations", "tree", "tests"])
def test_every_gap_has_a_sentence_even_for_an_unforeseen_reason(facet: str) -> None:
    assert prevents(facet, None)
    assert prevents(facet, "something new") == prevents(facet, None)


def test_missing_token_ids_name_the_class_that_can_never_be_established() -> None:
    assert "token-identical can never be established" in prevents("tokens", "token_ids_unrecorded")


def test_only_coding_runs_leave_trees() -> None:
    assert not_applicable("text", "tree")
    assert not not_applicable("coding", "tests")
    assert not not_applicable("tool-use", "actions")


def test_grouping_loses_no_field_and_names_what_claims_ask_for() -> None:
    fields = [ManifestField(name, 1, "measured") for name in ("kv.dtype", "model.id", "zebra.stripes")]
    groups = grouped(fields)
    assert sorted(field.field for group in groups for field in group.fields) == [
        "kv.dtype",
        "model.id",
        "zebra.stripes",
    ]
    assert groups[-1].title == "other"
    engine = next(group for group in groups if group.group == "E")
    assert engine.missing == ("engine.name", "engine.version")


def test_a_fact_recorded_under_another_of_its_names_is_not_missing() -> None:
    state = next(
        group for group in grouped([ManifestField("prefix_cache_policy", True, "measured")]) if group.group == "C"
    )
    assert state.missing == ("reset.scope",)
