"""Reading what somebody else wrote."""

from __future__ import annotations

import math
from typing import Any

import pytest

from corrigible.schema import (
    MAX_DEPTH,
    Applicability,
    Confidence,
    ConfidenceBasis,
    Feedback,
    FeedbackType,
    PatchOperation,
    ReaderError,
    parse,
)
from tests._support.rows import rows


def feedback(**members: Any) -> dict[str, Any]:
    return {"type": "recovery_guidance", "message": "No.", "suggestions": [], **members}


def suggesting(**members: Any) -> dict[str, Any]:
    return feedback(suggestions=[{"action": "MODIFY_PARAMS", "parameters": {}, **members}])


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


@rows(
    ("garbage", "complaint"),
    [
        (None, "feedback: not an object"),
        ([], "feedback: not an object"),
        ("x", "feedback: not an object"),
        (feedback(suggestions="x"), "/suggestions: not an array"),
        (feedback(suggestions={"action": "X"}), "/suggestions: not an array"),
        (feedback(suggestions=["x"]), "/suggestions/0: not an object"),
        (feedback(suggestions=[{}]), "/suggestions/0/action: Field required"),
        (feedback(suggestions=[{"action": 7}]), "/suggestions/0/action: Input should be a valid string"),
        (feedback(type="guess"), "/type: "),
        (feedback(recovery="maybe"), "/recovery: "),
        (feedback(retry={"after_seconds": -1}), "/retry/after_seconds"),
        (feedback(retry={"after_seconds": math.inf}), "/retry/after_seconds"),
        (suggesting(parameters=[]), "/suggestions/0/parameters: "),
        (suggesting(parameters={"a": math.nan}), "not a finite number"),
        (suggesting(parameters={"a": "\ud800"}), "lone surrogate"),
        (suggesting(parameters={"a": nested(MAX_DEPTH)}), f"nested deeper than {MAX_DEPTH} levels"),
        (suggesting(parameters={"a": [[nested(MAX_DEPTH - 2)]]}), f"nested deeper than {MAX_DEPTH} levels"),
        (suggesting(action=""), "/suggestions/0/action: "),
        (suggesting(parameters={"a": object()}), "object is not JSON"),
        (suggesting(parameters={"a": {1: 2}}), "a member name is not text"),
        (suggesting(patch={"op": "add"}), "/suggestions/0/patch: "),
        (suggesting(patch=[{"op": "increment", "path": "/body/a"}]), "/suggestions/0/patch/0/op: "),
        (suggesting(patch=[{"op": "add"}]), "/suggestions/0/patch/0/path: Field required"),
        (suggesting(steps=[{"method": "GET"}]), "/suggestions/0/steps/0/path: Field required"),
        (suggesting(applicability="SURELY"), "/suggestions/0/applicability: "),
        (suggesting(safety={"requires_confirmation": "perhaps"}), "/suggestions/0/safety/requires_confirmation: "),
        (suggesting(group={"id": "g"}), "/suggestions/0/group/relation: Field required"),
        (suggesting(placeholders=[{"ask": "user"}]), "/suggestions/0/placeholders/0/pointer: Field required"),
        (suggesting(message="\ud800"), "/suggestions/0/message: "),
    ],
)
def test_what_decides_and_cannot_be_read_is_an_error(garbage: Any, complaint: str) -> None:
    with pytest.raises(ReaderError) as caught:
        parse(garbage)
    assert complaint in str(caught.value)


def test_what_is_just_within_the_limits_is_read() -> None:
    parsed = parse(feedback(suggestions=[{"action": "x", "parameters": {"a": nested(MAX_DEPTH - 1)}}]))
    assert parsed.suggestions[0].action == "X"
    assert parsed.suggestions[0].parameters == {"a": nested(MAX_DEPTH - 1)}


def test_the_error_names_every_place_and_repeats_no_value() -> None:
    with pytest.raises(ReaderError) as caught:
        parse(suggesting(applicability="sk_live_secret", patch=[{"op": "sk_live_secret", "path": ""}]))
    assert "/suggestions/0/applicability" in str(caught.value)
    assert "/suggestions/0/patch/0/op" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_what_describes_and_cannot_be_read_is_dropped() -> None:
    read = parse(
        {
            **suggesting(confidence="high", verification={"status": "blessed"}, evidence=[1], message=5),
            "loop": {"attempt": "many"},
            "schema": 0.1,
            "message": ["x"],
        }
    )
    assert read.document() == {
        "type": "recovery_guidance",
        "message": "",
        "suggestions": [{"action": "MODIFY_PARAMS", "parameters": {}}],
    }


def test_missing_and_null_members_are_absent() -> None:
    read = parse({"type": None, "recovery": None, "suggestions": [{"action": "x_y", "patch": None, "group": None}]})
    assert read.type is FeedbackType.RECOVERY_GUIDANCE
    assert read.message == ""
    assert read.document()["suggestions"] == [{"action": "X_Y", "parameters": {}}]
    assert parse({}).suggestions == ()


def test_only_where_parameters_is_missing_do_unknown_members_become_parameters() -> None:
    short = {"action": "MODIFY_PARAMS", "message": "Do.", "amount": 3, "nothing": None, "safety": {}}
    with_parameters = {**short, "parameters": {"currency": "eur"}}
    with_null = {**short, "parameters": None}
    read = parse(feedback(suggestions=[short, with_parameters, with_null])).suggestions
    assert [s.parameters for s in read] == [{"amount": 3}, {"currency": "eur"}, {"amount": 3}]
    assert [s.message for s in read] == ["Do."] * 3


def test_absent_and_null_value_of_an_operation_differ() -> None:
    assert PatchOperation.model_validate({"op": "add", "path": "/body/a", "value": None}).document() == {
        "op": "add",
        "path": "/body/a",
        "value": None,
    }
    assert PatchOperation.model_validate({"op": "remove", "path": "/body/a"}).document() == {
        "op": "remove",
        "path": "/body/a",
    }


def test_whole_seconds_are_integers() -> None:
    waits = [parse(feedback(retry={"after_seconds": value})).document()["retry"] for value in (7, 7.0, "7", 0.5)]
    assert [repr(wait["after_seconds"]) for wait in waits] == ["7", "7", "7", "0.5"]


@rows(
    ("successes", "trials", "low"),
    [(44, 44, 0.9197), (35, 35, 0.9011), (34, 34, 0.8985), (41, 44, 0.8177), (0, 20, 0.0), (50, 100, 0.4038)],
)
def test_the_lower_bound_is_wilsons(successes: int, trials: int, low: float) -> None:
    seen = Confidence(basis=ConfidenceBasis.OBSERVED, successes=successes, trials=trials)
    assert seen.lower_bound == pytest.approx(low, abs=5e-5)


def test_there_is_no_lower_bound_without_observations() -> None:
    assert Confidence(basis=ConfidenceBasis.AUTHOR, successes=44, trials=44).lower_bound is None
    assert Confidence(basis=ConfidenceBasis.OBSERVED, value=1).lower_bound is None
    assert Confidence(basis=ConfidenceBasis.OBSERVED, trials=44).lower_bound is None
    assert Confidence(basis=ConfidenceBasis.OBSERVED, successes=0, trials=0).lower_bound is None
    assert Confidence(basis=ConfidenceBasis.OBSERVED, successes=3, trials=2).lower_bound is None


def test_models_are_frozen() -> None:
    read = parse(suggesting())
    with pytest.raises(ValueError, match="frozen"):
        read.message = "Yes."  # type: ignore[misc]  # read-only, as the test proves


def test_words_read_back_canonical() -> None:
    (suggestion,) = parse(suggesting(applicability="machine_Applicable")).suggestions
    assert suggestion.applicability is Applicability.MACHINE_APPLICABLE
    assert Feedback.model_validate(parse(suggesting()).document()) == parse(suggesting())
