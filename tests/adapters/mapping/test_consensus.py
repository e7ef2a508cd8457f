"""What several annotators say, as one: the last word of each, the majority, and nothing claimed of a tie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corrigible.adapters.mapping.annotation import Annotation, consensus, judged_mappings, read_annotations
from corrigible.adapters.mapping.mapping import OperationMapping
from corrigible.rules.errors import AuthoringError
from tests._support.rows import rows


def mapping(target: str = "/t", equivalence: str = "same", **members: Any) -> OperationMapping:
    names = {
        "source": {"api": "a", "method": "GET", "path": "/s"},
        "target": {"api": "b", "method": "GET", "path": target},
    }
    return OperationMapping.model_validate(names | {"equivalence": equivalence, "score": 0.4} | members)


def said(annotator: str, verdict: str, right: OperationMapping | None = None, utterance: str = "") -> Annotation:
    head = {"annotator": annotator, "at": "2026-01-01T00:00:00+00:00", "verdict": verdict, "utterance": utterance}
    kept = None if verdict == "reject" else right or mapping()
    return Annotation.model_validate(head | {"proposed": mapping(), "mapping": kept})


WEAKER = mapping(equivalence="weaker")


@rows(
    ("words", "verdict", "agreeing"),
    [
        ([said("ann", "accept")], True, 1),
        ([said("ann", "reject")], False, 1),
        ([said("ann", "accept"), said("ann", "reject")], False, 1),
        ([said("ann", "accept", utterance="one"), said("ann", "reject", utterance="another")], False, 1),
        ([said("ann", "reject"), said("bob", "accept")], None, 1),
        ([said("ann", "reject"), said("bob", "accept"), said("cid", "correct", WEAKER)], True, 2),
        ([said("ann", "accept"), said("bob", "reject"), said("cid", "reject")], False, 2),
    ],
)
def test_the_majority_of_last_words(words: list[Annotation], verdict: bool | None, agreeing: int) -> None:
    (only,) = consensus(words).values()
    assert (only.verdict, only.agreeing) == (verdict, agreeing)


@pytest.mark.parametrize(
    ("words", "equivalence"),
    [
        (["same", "weaker", "weaker"], "weaker"),
        (["same", "same", "weaker"], "same"),
        (["same", "weaker"], "weaker"),  # as many say this as that: what promises less
        (["weaker", "same"], "weaker"),
        (["related", "same with conversion"], "related"),
    ],
)
def test_the_class_that_most_say(words: list[str], equivalence: str) -> None:
    annotations = [said(str(at), "correct", mapping(equivalence=one)) for at, one in enumerate(words)]
    (only,) = consensus(annotations).values()
    assert only.mapping.equivalence == equivalence


@rows("members", [{"lost_arguments": ["/query/q"]}, {"lost_results": ["/result/id"]}])
@rows("equivalence", ["same", "same with conversion", "stronger"])
def test_what_loses_something_is_not_the_same_whatever_people_say(equivalence: str, members: Any) -> None:
    (only,) = consensus([said("ann", "correct", mapping(equivalence=equivalence, **members))]).values()
    assert only.mapping.equivalence == "weaker"


def test_what_only_people_found_is_added_and_what_nobody_judged_stays() -> None:
    other = mapping("/other", "weaker")
    found = list(judged_mappings([other], consensus([said("ann", "accept")])))
    assert [(one.target.path, one.equivalence, one.score) for one in found] == [
        ("/other", "weaker", 0.4),
        ("/t", "same", 1),
    ]
    assert [one.kind for one in found[1].evidence] == ["annotation"]


def test_to_judge_a_judged_map_again_does_not_add_up() -> None:
    first = list(judged_mappings([mapping()], consensus([said("ann", "accept")])))
    again = list(judged_mappings(first, consensus([said("ann", "accept"), said("bob", "accept")])))
    assert [one.note for one in again[0].evidence] == ["2 of 2 annotators"]


@pytest.mark.parametrize(
    ("right", "told"),
    [
        (mapping("/other"), "other operations than proposed"),
        (
            mapping(arguments=[{"source": "/query/a", "target": "/query/b", "conversion": "to tex"}]),
            'no conversion is called "to tex"',
        ),
    ],
)
def test_what_no_map_could_have_is_told_with_its_line(tmp_path: Path, right: OperationMapping, told: str) -> None:
    line = said("ann", "accept").model_copy(update={"mapping": right}).model_dump_json()
    file = tmp_path / "said.jsonl"
    file.write_text(f"{said('ann', 'accept').model_dump_json()}\n{line}\n")
    with pytest.raises(AuthoringError, match=told) as caught:
        read_annotations(file)
    assert str(caught.value).startswith(f"{file}:2: ")
