"""Which refusals the loop breaker counts as one task, and what is progress."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json, Request
from tests._support.repeater import AMOUNT, REQUEST, Agent, edit, feedback
from tests._support.rows import rows


def test_whoever_guesses_at_the_place_that_was_asked_for_goes_in_circles() -> None:
    """What is complained of may be elsewhere: Stripe misses `product` where a plan in a list is unknown."""
    agent = Agent()
    asked = {"action": "MODIFY_PARAMS", "message": "m", "parameters": {}, "applicability": "HAS_PLACEHOLDERS"}
    said = feedback({**asked, "placeholders": [{"pointer": "/body/reason", "ask": "user"}]})
    guesses = [replace(REQUEST, body={**REQUEST.body, "reason": guess}) for guess in ("a", "b", "c", "d")]
    assert [agent.attempt(guess, feedback_sent=said) for guess in guesses] == [1, 2, 3, 4]
    elsewhere = [replace(REQUEST, body={**REQUEST.body, "tags": [guess]}) for guess in ("a", "b")]
    assert [Agent().attempt(guess, feedback_sent=said) for guess in elsewhere] == [1, 1]


@rows(
    ("wanted", "change"),
    [
        (2, {}),
        (2, {"body": {**REQUEST.body, "amount": 300}}),
        (2, {"body": {"reason": "asked", "tags": ["a", "b"]}}),
        (2, {"body": {**REQUEST.body, "amount": {"value": 5, "unit": "usd"}}}),
        (2, {"headers": {"idempotency-key": "2", "traceparent": "x"}}),
        (2, {"body": {**REQUEST.body, "idempotency_key": "2"}}),
        (1, {"body": {**REQUEST.body, "reason": "other"}}),
        (1, {"body": {**REQUEST.body, "tags": ["a", "c"]}}),
        (1, {"body": {**REQUEST.body, "amount_of_what": 1}}),
        (1, {"body": None}),
        (1, {"body": "text"}),
        (1, {"query": {"expand": "charge"}}),
        (1, {"path": "/charges/2/refunds"}),
    ],
)
def test_which_requests_are_of_one_task(wanted: int, change: dict[str, Any]) -> None:
    agent = Agent()
    agent.refused()
    assert agent.attempt(replace(REQUEST, **change)) == wanted


def test_what_was_suggested_may_change_too() -> None:
    agent = Agent()
    said = feedback(edit("/body/reason", "fraud"), edit("/body/tags/-", "c"))
    agent.refused(feedback_sent=said)
    after = replace(REQUEST, body={**REQUEST.body, "reason": "fraud", "tags": ["a", "b", "c"]})
    assert agent.attempt(after) == 2
    assert agent.attempt(REQUEST) == 3, "and back again, though nothing of that was suggested now"


def test_an_element_that_goes_moves_those_behind_it() -> None:
    agent = Agent()
    said = feedback({"action": "MODIFY_PARAMS", "parameters": {}, "patch": [{"op": "remove", "path": "/body/tags/0"}]})
    agent.refused(feedback_sent=said)
    assert agent.attempt(replace(REQUEST, body={**REQUEST.body, "tags": ["b"]})) == 2


def test_another_path_is_another_task_unless_it_was_suggested() -> None:
    agent = Agent()
    agent.refused(feedback_sent=feedback(edit("/path", "/charges/2/refunds"), edit("/body/amount", 1)))
    assert agent.attempt(replace(REQUEST, path="/charges/3/refunds")) == 1
    assert agent.attempt(replace(REQUEST, path="/charges/2/refunds")) == 2
    assert agent.attempt(REQUEST) == 3


def test_a_path_that_is_complained_of_is_the_mistake_itself_except_in_reading() -> None:
    about = [Violation("missing", "m", "/path")]
    for method, wanted in (("POST", 2), ("GET", 1), ("HEAD", 1)):
        agent = Agent()
        request = replace(REQUEST, method=method, body=None)
        agent.refused(request, about=about)
        assert agent.attempt(replace(request, path="/charges/2/refunds"), about=about) == wanted


def test_a_path_may_be_one_of_several_mistakes() -> None:
    about = [AMOUNT, Violation("missing", "m", "/path")]
    agent = Agent()
    agent.refused(about=about)
    assert agent.attempt(replace(REQUEST, path="/charges/2/refunds"), about=about) == 2


@pytest.mark.parametrize(
    ("first", "then"),
    [({}, {}), ({"amount": 1}, {}), ({}, {"amount": 1})],
    ids=["nothing is advised", "nothing more", "something at last"],
)
def test_advice_of_no_place_is_no_progress(first: dict[str, Json], then: dict[str, Json]) -> None:
    agent, bare = Agent(), (Violation("invalid", "Validation failed", ""),)
    said = [feedback({"action": "MODIFY_PARAMS", "parameters": parameters}) for parameters in (first, then)]
    agent.refused(feedback_sent=said[0], about=bare)
    again = replace(REQUEST, body={**REQUEST.body, "request_id": "2"})
    assert agent.attempt(again, feedback_sent=said[1], about=bare) == 2


def test_tasks_that_share_credentials_are_counted_apart() -> None:
    agent = Agent()
    tasks = [replace(REQUEST, body={**REQUEST.body, "reason": name}) for name in "abc"]
    counted = [agent.attempt(task) for _ in range(4) for task in tasks]
    assert counted == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]


@pytest.mark.parametrize(
    "other", [{"caller": "else"}, {"operation": "Other"}, {"operation": ""}], ids=["caller", "operation", "unnamed"]
)
def test_other_callers_and_operations_start_anew(other: dict[str, str]) -> None:
    agent = Agent()
    agent.refused()
    assert Agent(agent.loops, **other).attempt() == 1
    assert agent.attempt() == 2


def test_another_error_or_place_is_progress() -> None:
    agent = Agent()
    agent.refused()
    assert agent.attempt(about=[Violation("too_little", "m", "/body/amount")]) == 1
    assert agent.attempt(about=[Violation("too_much", "m", "/body/reason")]) == 1
    assert agent.attempt(about=[AMOUNT, Violation("required", "m", "/body/x")]) == 1
    assert agent.attempt(about=[Violation("too_much", "other words", "/body/amount")]) == 1
    bare = Violation("", "m", "/body/amount", type="t")
    assert agent.attempt(about=[bare]) == 1
    assert agent.attempt(about=[bare._replace(constraint="maximum")]) == 1
    assert agent.attempt(about=[bare._replace(constraint="enum")]) == 1
    assert agent.attempt(about=[bare._replace(type="u")]) == 1


def test_the_same_words_about_other_values_are_the_same_error() -> None:
    agent = Agent()

    def about(amount: int, reason: str) -> list[Violation]:
        return [Violation("", f'Refund of {amount} ("{reason}", req_7f3{amount}) is over what is left: {reason}.', "")]

    assert agent.attempt(about=about(500, "asked")) == 1
    request = replace(REQUEST, body={**REQUEST.body, "amount": 300})
    assert agent.attempt(request, about=about(300, "asked")) == 2


def test_four_mistakes_of_one_caller_in_one_reading_are_no_loop() -> None:
    agent = Agent(operation="List")
    query = {"limit": "many", "created": "soon", "expand": "everything", "status": "gone"}
    said = ["limit is no number", "created is no date", "expand knows no such member", "status has another value"]
    ask = {"action": "MODIFY_PARAMS", "message": "m", "parameters": {}, "applicability": "HAS_PLACEHOLDERS"}
    for text, name in zip(said, list(query), strict=True):
        asked = feedback({**ask, "placeholders": [{"pointer": "/query", "ask": "user"}]})
        request = Request("GET", "/things", dict(query))
        assert agent.attempt(request, feedback_sent=asked, about=[Violation("invalid", text, "")]) == 1
        query[name] = "1"


def test_other_advice_is_progress_where_the_refusal_names_no_place() -> None:
    agent, bare = Agent(), (Violation("invalid", "Validation failed", ""),)
    places = ["amount", "reason", "tags"]
    request = REQUEST
    for place in places:
        assert agent.attempt(request, feedback_sent=feedback(edit(f"/body/{place}", "new")), about=bare) == 1
        request = replace(request, body={**request.body, place: "new"})
    assert agent.attempt(request, feedback_sent=feedback(edit("/body/tags", "newer")), about=bare) == 2
    assert (
        agent.attempt(request, feedback_sent=feedback(edit("/body/note", "x")), about=bare) == 3
    )  # the same request again
    assert (
        agent.attempt(REQUEST, feedback_sent=feedback(edit("/body/amount", "new")), about=bare) == 2
    )  # and back to the first


def test_other_advice_is_no_progress_where_one_of_several_errors_names_a_place() -> None:
    agent, errors = Agent(), (Violation("invalid", "Validation failed", ""), AMOUNT)
    assert agent.attempt(feedback_sent=feedback(edit("/body/amount", 1)), about=errors) == 1
    following = replace(REQUEST, body={**REQUEST.body, "amount": 1})
    assert agent.attempt(following, feedback_sent=feedback(edit("/body/reason", "new")), about=errors) == 2


def test_going_back_and_forth_is_stopped_at_the_fourth_time_of_either() -> None:
    agent = Agent()
    a, b = [AMOUNT], [Violation("too_little", "m", "/body/amount")]
    small = replace(REQUEST, body={**REQUEST.body, "amount": 1})
    counted = [agent.attempt(request, about=about) for _ in range(4) for request, about in ((REQUEST, a), (small, b))]
    assert counted == [1, 1, 2, 2, 3, 3, 4, 4]


def test_a_large_request_is_still_told_from_another() -> None:
    body: dict[str, Json] = {f"m{n}": {str(k): k for k in range(50)} for n in range(50)}
    agent = Agent()
    agent.refused(replace(REQUEST, body={**body, "amount": 1}))
    assert agent.attempt(replace(REQUEST, body={**body, "amount": 2})) == 2
    assert agent.attempt(replace(REQUEST, body={**body, "m7": {**body["m7"], "7": 8}, "amount": 2})) == 1
