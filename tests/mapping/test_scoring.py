"""Scores of mappings: each figure by an example that can be counted by hand."""

from __future__ import annotations

from corrigible.adapters.mapping.mapping import Equivalence, FieldMapping, OperationMapping, OperationName
from tests.mapping.judged import TruthFile, split_of
from tests.mapping.scoring import Score, score, total_of

TRUTH = TruthFile.model_validate(
    {
        "format": "corrigible mapping truth 1",
        "source_api": "old",
        "target_api": "new",
        "split": "tune",
        "operations": [
            {
                "source": {"method": "GET", "path": "/things"},
                "mappings": [
                    {
                        "target": {"method": "GET", "path": "/items"},
                        "equivalence": "weaker",
                        "arguments": [{"source": "/query/per_page", "target": "/query/limit"}],
                        "results": [
                            {"source": "/result/*/id", "target": "/result/*/id"},
                            {"source": "/result/*/count", "target": "/result/*/total", "conversion": "to text"},
                            {"source": "/result/*/price", "target": "/result/*/cost", "conversion": "euros to cents"},
                        ],
                        "lost_results": ["/result/*/licence"],
                        "doubtful_results": ["/result/*/size"],
                        "judged_arguments": ["/query"],
                        "judged_results": ["/result/*"],
                    },
                    {"target": {"method": "GET", "path": "/all-items"}, "equivalence": "same"},
                    {"target": {"method": "GET", "path": "/parts"}, "equivalence": "related"},
                ],
                "traps": [{"target": {"method": "GET", "path": "/items/{id}"}, "why": "one"}],
            },
            {"source": {"method": "POST", "path": "/things/{id}/lock"}, "mappings": []},
        ],
    }
)


def mapping(
    target: str,
    equivalence: Equivalence = Equivalence.SAME,
    results: tuple[tuple[str, str], ...] = (),
    source: str = "GET /things",
    api: str = "new",
    conversion: str = "",
) -> OperationMapping:
    method, path = source.split(" ")
    to_method, to_path = target.split(" ")
    return OperationMapping(
        source=OperationName(api="old", method=method, path=path),
        target=OperationName(api=api, method=to_method, path=to_path),
        equivalence=equivalence,
        score=1.0,
        results=tuple(FieldMapping(source=one, target=other, conversion=conversion) for one, other in results),
    )


def scored(*proposed: OperationMapping) -> Score:
    return score(proposed, [TRUTH])["old", "new"]


def test_nothing_proposed_has_no_precision_and_misses_all() -> None:
    result = scored()
    assert (result.sources, result.without) == (2, 1)
    assert result.operations.precision is None
    assert result.operations.recall == 0
    assert result.operations.missed == 2


def test_right_wrong_and_missed_targets() -> None:
    result = scored(mapping("GET /items", Equivalence.WEAKER), mapping("GET /items/{id}"), mapping("GET /elsewhere"))
    assert (result.operations.right, result.operations.wrong, result.operations.missed) == (1, 2, 1)
    assert result.operations.precision == 1 / 3
    assert result.operations.recall == 1 / 2
    assert result.operations.f1 == 2 / 5
    assert result.caught == 1


def test_the_class_counts_by_itself() -> None:
    result = scored(mapping("GET /items", Equivalence.SAME), mapping("GET /all-items", Equivalence.SAME))
    assert result.operations.precision == 1
    assert result.classes.precision == 1 / 2
    assert result.classes.recall == 1 / 2


def test_what_is_only_related_is_no_substitute() -> None:
    assert scored(mapping("GET /parts", Equivalence.RELATED)).operations.wrong == 0
    assert scored(mapping("GET /parts", Equivalence.WEAKER)).operations.wrong == 1
    assert scored(mapping("GET /items", Equivalence.RELATED)).operations.missed == 2


def test_a_substitute_for_what_has_none_is_wrong() -> None:
    result = scored(mapping("PUT /items/{id}/lock", source="POST /things/{id}/lock"))
    assert (result.operations.right, result.operations.wrong) == (0, 1)


def test_one_target_proposed_twice_counts_once() -> None:
    assert scored(mapping("GET /items"), mapping("GET /items")).operations.right == 1


def test_other_apis_and_unjudged_sources_do_not_count() -> None:
    result = scored(mapping("GET /items", api="newer"), mapping("GET /items", source="GET /unjudged"))
    assert (result.operations.right, result.operations.wrong) == (0, 0)


def test_fields_are_right_wrong_or_unjudged() -> None:
    result = scored(
        mapping(
            "GET /items",
            results=(
                ("/result/*/id", "/result/*/id"),
                ("/result/*/count", "/result/*/count"),  # listed with another target
                ("/result/*/licence/name", "/result/*/name"),  # in what is lost
                ("/result/*/other", "/result/*/other"),  # a child of what was judged wholly
                ("/result/*/size/unit", "/result/*/unit"),  # in what is doubtful
                ("/result/*/id/part", "/result/*/id/part"),  # below what was judged
            ),
        )
    )
    assert (result.results.right, result.results.wrong, result.results.unjudged, result.results.missed) == (1, 3, 2, 2)
    assert result.fields.precision == 1 / 4
    assert result.arguments.missed == 1


def test_fields_of_a_wrong_operation_do_not_count() -> None:
    result = scored(mapping("GET /elsewhere", results=(("/result/*/id", "/result/*/id"),)))
    assert result.fields.precision is None


def test_moved_fields_count_without_those_that_stay() -> None:
    result = scored(
        mapping("GET /items", results=(("/result/*/id", "/result/*/id"), ("/result/*/count", "/result/*/total")))
    )
    assert (result.moved.right, result.moved.wrong, result.moved.missed) == (1, 0, 2)


def test_a_value_that_needs_a_conversion_is_not_right_as_it_is() -> None:
    pairs = (("/result/*/count", "/result/*/total"), ("/result/*/price", "/result/*/cost"))
    assert scored(mapping("GET /items", results=pairs, conversion="to text")).conversions.precision == 1 / 2
    assert scored(mapping("GET /items", results=pairs)).conversions.precision == 0
    assert scored(mapping("GET /items", results=(("/result/*/id", "/result/*/id"),))).conversions.precision == 1


def test_words_that_no_conversion_does_are_not_met_by_repeating_them() -> None:
    pairs = (("/result/*/price", "/result/*/cost"),)
    assert scored(mapping("GET /items", results=pairs, conversion="euros to cents")).conversions.precision == 0


def test_a_total_adds_the_counts_and_not_the_shares() -> None:
    one, other = scored(mapping("GET /items")), scored(mapping("GET /elsewhere"), mapping("GET /elsewhere/too"))
    assert total_of([one, other]).operations.precision == 1 / 3
    assert one.operations.right == 1, "adding changes no part"


def test_the_split_is_by_hash_and_about_a_third() -> None:
    keys = [f"GET /things/{number}" for number in range(3_000)]
    kept_out = sum(split_of("old", key, "new") == "kept_out" for key in keys)
    assert 900 < kept_out < 1_100
    assert {split_of("old", key, "new") for key in keys[:50]} == {"tune", "kept_out"}
    assert [split_of("old", key, "new") for key in keys] != [split_of("old", key, "newer") for key in keys]
