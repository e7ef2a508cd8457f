"""The published algorithm: which suggestions are applied, and what is handed back."""

from __future__ import annotations

import copy
import itertools
import json
from dataclasses import replace
from importlib.resources import files
from typing import Any

import orjson
import pytest

from corrigible.schema import (
    Applicability,
    ContractError,
    NeedsInput,
    Next,
    ReaderError,
    Request,
    Suggestion,
    Terminal,
    apply,
    find,
    parse,
)
from tests._support.rows import rows

POST = Request("POST", "/things", body={"a": 1, "b": 2})


def setting(**parameters: Any) -> dict[str, Any]:
    return {"action": "MODIFY_PARAMS", "parameters": parameters}


def failing() -> dict[str, Any]:
    return {**setting(never=1), "patch": [{"op": "test", "path": "/body/a", "value": "another"}]}


def asking(**parameters: Any) -> dict[str, Any]:
    return {**setting(**parameters), "placeholders": [{"pointer": "/body/c", "ask": "user"}]}


def grouped(relation: str, *suggestions: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**suggestion, "group": {"id": relation, "relation": relation}} for suggestion in suggestions]


def feedback(*suggestions: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"type": "recovery_guidance", "message": "No.", "suggestions": list(suggestions), **members}


def example(name: str) -> Any:
    return json.loads(files("corrigible.schema").joinpath("examples", f"{name}.json").read_text("utf-8"))


def body_after(result: Next | Terminal | NeedsInput) -> Any:
    assert isinstance(result, Next), result
    return result.request.body


# which suggestions are applied, and to what body they lead

OUTCOMES: list[tuple[str, list[dict[str, Any]], tuple[int, ...], Any]] = [
    (
        "independent ones add up, in order",
        [setting(a=3), setting(c=4), setting(a=5)],
        (0, 1, 2),
        {"a": 5, "b": 2, "c": 4},
    ),
    ("one that fails does not stop the next", [failing(), setting(c=3)], (1,), {"a": 1, "b": 2, "c": 3}),
    ("one that asks does not stop the next", [asking(a=9), setting(c=3)], (1,), {"a": 1, "b": 2, "c": 3}),
    ("of one_of the first", grouped("one_of", setting(a=3), setting(a=4)), (0,), {"a": 3, "b": 2}),
    (
        "of one_of the first that applies",
        grouped("one_of", failing(), setting(a=4), setting(a=5)),
        (1,),
        {"a": 4, "b": 2},
    ),
    ("of one_of the first that may", grouped("one_of", asking(a=3), setting(a=4)), (1,), {"a": 4, "b": 2}),
    ("all of all", grouped("all", setting(a=3), setting(c=4)), (0, 1), {"a": 3, "b": 2, "c": 4}),
    (
        "none of all if one fails",
        [setting(d=1), *grouped("all", setting(a=3), failing())],
        (0,),
        {"a": 1, "b": 2, "d": 1},
    ),
    (
        "none of all if one asks",
        [setting(d=1), *grouped("all", setting(a=3), asking())],
        (0,),
        {"a": 1, "b": 2, "d": 1},
    ),
    ("a sequence in order", grouped("sequence", setting(a=3), setting(a=4)), (0, 1), {"a": 4, "b": 2}),
    ("a sequence until one fails", grouped("sequence", setting(a=3), failing(), setting(c=4)), (0,), {"a": 3, "b": 2}),
    ("a sequence until one asks", grouped("sequence", setting(a=3), asking(), setting(c=4)), (0,), {"a": 3, "b": 2}),
    (
        "a group that leads goes alone",
        [*grouped("one_of", setting(a=3), setting(a=4)), setting(c=5)],
        (0,),
        {"a": 3, "b": 2},
    ),
    (
        "a group that follows goes with the rest",
        [setting(c=5), *grouped("one_of", setting(a=3), setting(a=4)), setting(d=6)],
        (0, 1, 3),
        {"a": 3, "b": 2, "c": 5, "d": 6},
    ),
    (
        "a suggestion between the members of a group comes after it",
        [setting(d=1), grouped("all", setting(a=3))[0], setting(a=4), grouped("all", setting(a=5))[0]],
        (0, 1, 3, 2),
        {"a": 4, "b": 2, "d": 1},
    ),
    (
        "an unknown action is its base",
        [{**setting(a=3), "action": "FIX_A", "base_action": "MODIFY_PARAMS"}],
        (0,),
        {"a": 3, "b": 2},
    ),
    ("an unknown action without base is an edit", [{**setting(a=3), "action": "FIX_A"}], (0,), {"a": 3, "b": 2}),
    ("a wait is no edit", [{**setting(after=3), "action": "WAIT_AND_RETRY"}], (0,), {"a": 1, "b": 2}),
    (
        "a pack's wait is no edit",
        [{**setting(after=3), "action": "QUEUE_UP", "base_action": "wait_and_retry"}],
        (0,),
        {"a": 1, "b": 2},
    ),
    (
        "a terminal one later is passed over",
        [setting(a=3), {"action": "ESCALATE", "parameters": {"c": 1}}],
        (0,),
        {"a": 3, "b": 2},
    ),
    (
        "a refuted one is passed over",
        [{**setting(a=3), "verification": {"status": "refuted"}}, setting(b=4)],
        (1,),
        {"a": 1, "b": 4},
    ),
    (
        "a patch leaves parameters alone",
        [{**setting(a=3), "patch": [{"op": "remove", "path": "/body/b"}]}],
        (0,),
        {"a": 1},
    ),
    ("an empty patch is none", [{**setting(a=3), "patch": []}], (0,), {"a": 3, "b": 2}),
]


@rows(("name", "suggestions", "applied", "body"), OUTCOMES, ids=[case[0] for case in OUTCOMES])
def test_what_is_applied(name: str, suggestions: list[dict[str, Any]], applied: tuple[int, ...], body: Any) -> None:
    given = feedback(*suggestions)
    before = copy.deepcopy((given, POST.body))
    result = apply(given, POST)
    assert result == Next(replace(POST, body=body), applied=applied)
    assert (given, POST.body) == before


# nothing is applied

STUCK: list[tuple[str, dict[str, Any], str]] = [
    ("no suggestions", feedback(), "the feedback suggests nothing"),
    ("only one that asks", feedback(asking()), "no suggestion may be applied without more input"),
    ("said to ask", feedback({**setting(a=3), "applicability": "has_placeholders"}), "no suggestion may be applied"),
    ("a failed guard", feedback(failing()), "suggestion 0: /body/a is not what the suggestion is for"),
    ("a closed choice", feedback(setting(a=3), type="intent_disambiguation"), "the choice is the caller's"),
    ("a signal", feedback(setting(a=3), type="confidence_signal"), "confidence_signal"),
    ("a leading group that fails", feedback(*grouped("one_of", failing()), setting(a=3)), "suggestion 0: "),
]


@rows(("name", "given", "reason"), STUCK, ids=[case[0] for case in STUCK])
def test_what_needs_input(name: str, given: dict[str, Any], reason: str) -> None:
    result = apply(given, POST)
    assert isinstance(result, NeedsInput)
    assert reason in result.reason
    assert result.confirm is False


def test_placeholders_and_choices_are_handed_back() -> None:
    result = apply(feedback(asking(), setting(a=3), type="intent_disambiguation"), POST)
    assert isinstance(result, NeedsInput)
    assert [(p.pointer, p.ask) for p in result.placeholders] == [("/body/c", "user")]
    assert [(c.index, c.suggestion.parameters) for c in result.choices] == [(1, {"a": 3})]


# terminal


@pytest.mark.parametrize("name", ["no-recovery", "already-done", "escalate"])
def test_a_terminal_answer_is_handed_over(name: str) -> None:
    (suggestion,) = example(name)["suggestions"]
    assert apply(example(name), POST) == Terminal(suggestion["action"], suggestion["message"], suggestion["parameters"])


def test_recovery_or_the_first_action_or_its_base_make_it_terminal() -> None:
    assert apply(feedback(setting(a=3), recovery="Terminal"), POST) == Terminal("MODIFY_PARAMS", "No.", {"a": 3})
    gone = {"action": "GONE", "base_action": "no_recovery_available", "message": "Gone.", "parameters": {}}
    assert apply(feedback(gone, setting(a=3)), POST) == Terminal("GONE", "Gone.", {})
    assert apply(feedback({"action": "escalate"}, type="intent_disambiguation"), POST) == Terminal(
        "ESCALATE", "No.", {}
    )


# how sure is sure enough

SURE = {"applicability": "MACHINE_APPLICABLE", "verification": {"status": "verified", "method": "schema"}}


@rows(
    ("members", "applied"),
    [
        (SURE, True),
        ({**SURE, "verification": None, "confidence": {"basis": "observed", "successes": 44, "trials": 44}}, True),
        ({**SURE, "verification": None, "confidence": {"basis": "observed", "successes": 34, "trials": 34}}, False),
        ({**SURE, "verification": None}, False),
        ({**SURE, "safety": {"changes_intent": True}}, False),
        ({**SURE, "placeholders": [{"pointer": "/body/c"}]}, False),
        ({**SURE, "applicability": "MAYBE_INCORRECT"}, False),
        ({**SURE, "applicability": "UNSPECIFIED"}, False),
        ({}, False),
    ],
)
def test_under_the_highest_cap_only_what_is_proven_is_applied(members: dict[str, Any], applied: bool) -> None:
    result = apply(feedback({**setting(a=3), **members}), POST, cap=Applicability.MACHINE_APPLICABLE)
    assert isinstance(result, Next if applied else NeedsInput)


@rows("level", ["MACHINE_APPLICABLE", "MAYBE_INCORRECT", "UNSPECIFIED", None])
@rows("cap", [Applicability.MAYBE_INCORRECT, Applicability.UNSPECIFIED])
def test_under_the_other_caps_all_but_placeholders_are_applied(level: str | None, cap: Applicability) -> None:
    assert body_after(apply(feedback({**setting(a=3), "applicability": level}), POST, cap=cap)) == {"a": 3, "b": 2}


def test_placeholders_are_no_cap() -> None:
    with pytest.raises(ValueError, match="HAS_PLACEHOLDERS is no cap"):
        apply(feedback(setting(a=3)), POST, cap=Applicability.HAS_PLACEHOLDERS)


# confirmation and picking


NEED_CONFIRMATION: list[dict[str, Any]] = [
    {"requires_confirmation": True},
    {"changes_intent": True},
    {"changes_intent": True, "loses": ["/body/a"]},
    {"loses": ["/body/a"]},
]


@pytest.mark.parametrize("safety", NEED_CONFIRMATION)
def test_what_needs_confirmation_stops_everything_until_confirmed(safety: dict[str, Any]) -> None:
    given = feedback(setting(c=3), {**setting(a=3), "safety": safety})
    result = apply(given, POST)
    assert isinstance(result, NeedsInput)
    assert result.confirm is True
    assert [choice.index for choice in result.choices] == [0, 1]
    assert body_after(apply(given, POST, confirm=True)) == {"a": 3, "b": 2, "c": 3}


def test_who_confirms_sees_each_suggestion_that_needs_it() -> None:
    first, second = ({**setting(**{name: 3}), "safety": {"changes_intent": True}} for name in "ac")
    given = feedback(first, setting(b=3), second)
    seen: list[Suggestion] = []

    def note(suggestion: Suggestion) -> bool:
        seen.append(suggestion)
        return True

    agreed = apply(given, POST, confirm=note)
    assert [dict(one.parameters) for one in seen] == [{"a": 3}, {"c": 3}]
    assert body_after(agreed) == {"a": 3, "b": 3, "c": 3}
    result = apply(given, POST, confirm=lambda suggestion: "a" in suggestion.parameters)
    assert isinstance(result, NeedsInput)
    assert result.confirm is True


def test_what_asks_for_confirmation_but_does_not_fit_asks_nothing() -> None:
    given = feedback({**failing(), "safety": {"requires_confirmation": True}}, setting(c=3))
    assert body_after(apply(given, POST)) == {"a": 1, "b": 2, "c": 3}


def test_a_picked_choice_is_applied_alone() -> None:
    request = Request("POST", "/v1/charges", body={"customer": "Jane Doe"}, form=True)
    given = example("disambiguation")
    assert isinstance(apply(given, request), NeedsInput)
    assert apply(given, request, pick=1) == Next(replace(request, body={"customer": "cus_2"}), applied=(1,))


def test_a_picked_member_brings_what_belongs_to_it() -> None:
    given = feedback(setting(c=1), *grouped("all", setting(a=3), setting(b=4)), type="intent_disambiguation")
    assert apply(given, POST, pick=2) == Next(replace(POST, body={"a": 3, "b": 4}), applied=(1, 2))


def test_a_pick_confirms_nothing_and_fills_nothing() -> None:
    given = feedback({**setting(a=3), "safety": {"requires_confirmation": True}}, asking())
    unconfirmed = apply(given, POST, pick=0)
    assert isinstance(unconfirmed, NeedsInput)
    assert unconfirmed.confirm is True
    assert isinstance(apply(given, POST, pick=1), NeedsInput)
    for nowhere in (-1, 2):
        with pytest.raises(ReaderError, match=f"no suggestion {nowhere}"):
            apply(given, POST, pick=nowhere)


# wait, key, steps


def test_the_wait_and_the_key_come_from_retry() -> None:
    result = apply(feedback(setting(a=3), retry={"after_seconds": 7, "idempotency_key": "NEW"}), POST)
    assert result == Next(replace(POST, body={"a": 3, "b": 2}), wait_seconds=7, new_idempotency_key=True, applied=(0,))
    waiting = apply(example("wait-and-retry"), POST)
    assert waiting == Next(POST, wait_seconds=7, applied=(0,))


def test_who_is_told_of_a_new_key_and_no_time_does_not_wait() -> None:
    said = feedback(setting(a=3), retry={"same_request": False, "idempotency_key": "new"})
    result = apply(said, POST)
    assert isinstance(result, Next)
    assert (result.wait_seconds, result.new_idempotency_key) == (0, True)


def test_steps_are_requests_of_their_own_with_the_callers_credentials() -> None:
    request = Request(
        "PUT", "/repos/acme/shop/contents/a", headers={"Authorization": "token t"}, body={"branch": "fix"}
    )
    assert isinstance(apply(example("steps"), request), NeedsInput)
    result = apply(example("steps"), request, confirm=True)
    assert isinstance(result, Next)
    assert result.request == request
    assert result.steps == (
        Request(
            "POST",
            "/repos/acme/shop/git/refs",
            headers={"accept": "application/vnd.github+json", "authorization": "token t"},
            body={"ref": "refs/heads/fix", "sha": "aa218f56b14c9653891f9e74264a383fa43fefbd"},
        ),
        Request(
            "GET",
            "/repos/acme/shop/branches",
            query={"per_page": 100, "protected": False},
            headers={"authorization": "token t"},
        ),
    )


# totality


def test_find_takes_an_object_and_nothing_else() -> None:
    assert find({"error": {}, "recovery_feedback": {"type": "x"}}) == {"type": "x"}
    nothing: list[Any] = [None, [], "x", {}, {"recovery_feedback": None}, {"recovery_feedback": [1]}]
    assert [find(body) for body in nothing] == [None] * 6


ODD: list[Any] = [None, True, -1, 1.5, "", "x", "/body/a", [], [None], {}, {"a": None}, [{"op": "test", "path": "/"}]]


def test_garbage_in_any_member_never_crashes_and_never_changes_the_input() -> None:
    base = example("every-patch-operation")
    suggestion = base["suggestions"][0]
    spoiled = [{**base, name: odd} for name in (*base, "retry", "recovery", "unknown") for odd in ODD]
    names = [
        "action",
        "base_action",
        "parameters",
        "patch",
        "steps",
        "applicability",
        "placeholders",
        "group",
        "safety",
    ]
    spoiled += [{**base, "suggestions": [{**suggestion, name: odd}]} for name in names for odd in ODD]
    verbs = ("add", "remove", "replace", "move", "copy", "test")
    paths = ["/", "/body", "/body/a/0", "/body/-", "/path", "/query/x/y", "/headers/x", "x", "/body/~", "/body/list/01"]
    sources = (None, "", "/body", "/body/a", "/none")
    values: list[Any] = [None, {}, "/x", 7]
    operations = [
        {"op": verb, "path": path, "from": source, "value": value}
        for verb, path, source, value in itertools.product(verbs, ["", *paths], sources, values)
    ]
    spoiled += [feedback({**setting(), "patch": [operation]}) for operation in operations]
    requests = (
        POST,
        Request("GET", "/things", query={"x": "1"}),
        Request("POST", "/things", body=[1, 2]),
        Request("POST", "/things", body="text", form=True),
        Request("/pkg.Service/Method", "", body={"list": ["a", {"b": 1}]}),
    )
    outcomes: set[type] = set()
    for given, request in itertools.product(spoiled, requests):
        before = orjson.dumps([given, request.document()])
        try:
            result = apply(given, request)
        except ContractError as error:
            outcomes.add(type(error))
            continue
        outcomes.add(type(result))
        assert orjson.dumps([given, request.document()]) == before
        if isinstance(result, Next):
            assert result.request.path[:2] != "//"
            assert isinstance(result.request.query, dict)
    assert outcomes == {Next, NeedsInput, ReaderError}


def test_a_mapping_and_what_it_parses_to_lead_to_the_same() -> None:
    given = feedback(setting(a=3))
    assert apply(given, POST) == apply(parse(given), POST)


# what the vectors of the conformance suite found


def test_a_group_that_does_not_apply_asks_for_no_confirmation() -> None:
    careful = {**setting(a=3), "safety": {"requires_confirmation": True}}
    assert body_after(apply(feedback(setting(c=3), *grouped("all", careful, failing())), POST)) == {
        "a": 1,
        "b": 2,
        "c": 3,
    }


def test_what_asks_for_confirmation_is_not_as_sure_as_the_highest_cap_wants() -> None:
    careful = {**setting(a=3), **SURE, "safety": {"requires_confirmation": True}}
    result = apply(feedback(careful), POST, cap=Applicability.MACHINE_APPLICABLE, confirm=True)
    assert isinstance(result, NeedsInput)
    assert result.confirm is False


def test_what_was_refuted_is_no_choice() -> None:
    refuted = {**setting(a=3), "verification": {"status": "refuted"}}
    result = apply(feedback(refuted, setting(a=4), type="intent_disambiguation"), POST)
    assert isinstance(result, NeedsInput)
    assert [choice.index for choice in result.choices] == [1]


def test_a_base_action_nobody_knows_is_not_guessed() -> None:
    with pytest.raises(ReaderError, match="/suggestions/0/base_action: no base action"):
        apply(feedback({**setting(a=3), "action": "FIX_A", "base_action": "FIX_THAT"}), POST)


def test_a_null_query_and_null_headers_of_a_step_are_absent() -> None:
    step = {"method": "POST", "path": "/y", "query": None, "headers": None}
    result = apply(feedback({**setting(), "steps": [step]}), POST)
    assert isinstance(result, Next)
    assert result.steps == (Request("POST", "/y"),)
