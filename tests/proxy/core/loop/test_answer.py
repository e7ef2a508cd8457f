"""The loop breaker: what is said the second, third and fourth time, and what ends it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json, Request
from corrigible.schema.reader import NeedsInput, Terminal, apply
from tests._support.repeater import REQUEST, Agent, edit, feedback, one_of
from tests._support.rows import rows


def times(count: int) -> str:
    return (
        f"Requests like this one of the same caller were refused {count} times in the same way. A success of this"
        " operation ends the count, and so do 600 seconds without this refusal."
    )


def test_the_ladder_for_the_same_request() -> None:
    agent = Agent()
    assert agent.refused() is None
    second, third, fourth, fifth = (agent.refused() for _ in range(4))
    assert second is not None and third is not None and fourth is not None and fifth is not None
    print_ = second["loop"]["fingerprint"]
    assert second == {**feedback(), "loop": {"fingerprint": print_, "attempt": 2, "action": "none"}}
    assert list(second)[-2:] == ["loop", "suggestions"]
    assert third["loop"] == {"fingerprint": print_, "attempt": 3, "action": "relax_structure"}
    assert set(third) == set(fourth) == {"schema", "type", "message", "recovery", "loop", "suggestions"}
    assert (third["schema"], third["recovery"]) == ("self-reflective-api/0.1", "correctable")
    assert (fourth["schema"], fourth["type"]) == ("self-reflective-api/0.1", "recovery_guidance")
    (relaxed,) = third["suggestions"]
    assert relaxed["parameters"] == {} and not {"patch", "steps", "group"} & relaxed.keys()
    assert relaxed["placeholders"] == [{"pointer": "/body/amount", "ask": "user"}]
    assert isinstance(apply(third, REQUEST), NeedsInput)
    assert fourth["loop"] == {"fingerprint": print_, "attempt": 4, "action": "escalate"}
    assert fourth["recovery"] == "terminal"
    assert [(s["action"], s["parameters"]) for s in fourth["suggestions"]] == [
        ("ESCALATE", {"actor": "you", "attempts": 4, "code": "TOO_MUCH"})
    ]
    assert "Too much." in fourth["message"] and "4 times" in fourth["message"]
    assert isinstance(apply(fourth, REQUEST), Terminal)
    assert fifth["suggestions"][0]["parameters"]["attempts"] == 5


def test_no_values_are_left_once_structure_is_relaxed() -> None:
    agent = Agent()
    step = {"method": "GET", "path": "/other"}
    said = feedback(
        edit("/body/amount", 300, steps=[step], action="PAY_LESS", base_action="MODIFY_PARAMS"),
        edit("/body/reason", "x"),
        type="intent_disambiguation",
        retry={"same_request": True, "after_seconds": 1, "idempotency_key": "new"},
    )
    agent.refused(feedback_sent=said)
    agent.refused(feedback_sent=said)
    third = agent.refused(feedback_sent=said)
    assert third is not None
    assert third["type"] == "recovery_guidance"
    assert third["retry"] == {"same_request": False, "after_seconds": 1, "idempotency_key": "new"}
    assert [s["action"] for s in third["suggestions"]] == ["MODIFY_PARAMS"]
    assert b"300" not in orjson.dumps(third["suggestions"]) and b"/other" not in orjson.dumps(third)


@pytest.mark.parametrize("pointer", ["", "/headers/authorization", "nowhere"])
def test_without_a_place_to_ask_about_it_is_only_a_signal(pointer: str) -> None:
    agent = Agent()
    about = [Violation("too_much", "m", pointer)]
    for _ in range(2):
        agent.refused(about=about)
    third = agent.refused(about=about)
    assert third is not None and third["type"] == "confidence_signal"
    assert "placeholders" not in third["suggestions"][0]
    assert isinstance(apply(third, REQUEST), NeedsInput)


def test_what_was_tried_is_not_offered_again() -> None:
    agent = Agent()
    agent.refused(feedback_sent=feedback(*one_of(300, 200, 100)))
    second = agent.refused(
        replace(REQUEST, body={**REQUEST.body, "amount": 300}), feedback_sent=feedback(*one_of(300, 200, 100))
    )
    assert second is not None
    assert second["loop"]["action"] == "next_alternative"
    assert [s["patch"][0]["value"] for s in second["suggestions"]] == [200, 100]


def test_nothing_is_called_the_next_alternative_that_was_offered_before() -> None:
    agent = Agent()
    followed = replace(REQUEST, body={**REQUEST.body, "amount": 300})
    agent.refused()
    second = agent.refused(followed)
    assert second is not None
    assert second["loop"] == {**second["loop"], "attempt": 2, "action": "relax_structure"}
    assert b"300" not in orjson.dumps(second["suggestions"])


def test_a_question_may_be_answered_in_another_way() -> None:
    agent = Agent()
    asked = {"action": "MODIFY_PARAMS", "message": "m", "parameters": {}, "applicability": "HAS_PLACEHOLDERS"}
    said = feedback({**asked, "placeholders": [{"pointer": "/body/amount", "ask": "user"}]})
    agent.refused(feedback_sent=said)
    second = agent.refused(replace(REQUEST, body={**REQUEST.body, "amount": 7}), feedback_sent=said)
    assert second is not None
    assert (second["loop"]["action"], second["suggestions"]) == ("none", said["suggestions"])


def test_advice_that_was_not_followed_keeps_its_rank() -> None:
    agent = Agent()
    agent.refused(feedback_sent=feedback(*one_of(300, 200)))
    second = agent.refused(feedback_sent=feedback(*one_of(300, 200)))
    assert second is not None
    assert second["loop"]["action"] == "none"
    assert [s["patch"][0]["value"] for s in second["suggestions"]] == [300, 200]


def test_a_number_that_was_sent_as_text_is_not_tried_as_a_number() -> None:
    agent = Agent()
    said = feedback(edit("/body/amount", 500))
    sent = replace(REQUEST, body={**REQUEST.body, "amount": "500"})
    agent.refused(sent, feedback_sent=said)
    second = agent.refused(sent, feedback_sent=said)
    assert second is not None
    assert (second["loop"]["action"], second["suggestions"]) == ("none", said["suggestions"])


def test_what_is_no_alternative_stays() -> None:
    agent = Agent()
    first, second = one_of(300, 200)
    said = feedback(first, edit("/body/reason", "x"), second)
    agent.refused(feedback_sent=said)
    answer = agent.refused(replace(REQUEST, body={**REQUEST.body, "amount": 300}), feedback_sent=said)
    assert answer is not None
    assert [s["patch"][0]["value"] for s in answer["suggestions"]] == ["x", 200]


@rows(
    ("request_", "suggestions"),
    [
        (REQUEST, [{"action": "DO", "parameters": {}, "steps": []}, edit("/body/amount", 1)]),
        (replace(REQUEST, body={"amount": "300"}, form=True), one_of(300, 1)),
        (
            Request("GET", "/x", {"amount": "300"}),
            [{"action": "DO", "parameters": {"amount": 300}}, edit("/path", "/y")],
        ),
        (replace(REQUEST, body={"a": {"b": 1}}), [{"action": "DO", "parameters": {"a": {"b": 1}}}, edit("/body/a", 2)]),
        (replace(REQUEST, body={"a": 1}), [{"action": "DO", "parameters": {"b": None}}, edit("/body/a", 2)]),
        (
            replace(REQUEST, body={"b": 1}),
            [{"action": "DO", "patch": [{"op": "move", "from": "/body/a", "path": "/body/b"}]}, edit("/body/b", 2)],
        ),
    ],
    ids=["steps", "form", "query", "merged", "removed", "moved"],
)
def test_what_counts_as_tried(request_: Request, suggestions: list[dict[str, Any]]) -> None:
    group = {"group": {"id": "1", "relation": "one_of"}, "base_action": "MODIFY_PARAMS"}
    said = feedback(*({"parameters": {}, **one, **group, "action": "DO"} for one in suggestions))
    agent = Agent()
    agent.refused(request_, said)
    second = agent.refused(request_, said)
    assert second is not None
    assert second["suggestions"] == said["suggestions"][1:]


@pytest.mark.parametrize("action", ["ESCALATE", "NO_RECOVERY_AVAILABLE"])
def test_the_end_of_the_road_stays_that_and_is_said_louder(action: str) -> None:
    agent = Agent()
    said = feedback({"action": action, "parameters": {"where": "/x"}}, recovery="terminal")
    agent.refused(feedback_sent=said)
    for attempt in range(2, 7):
        answer = agent.refused(feedback_sent=said)
        assert answer is not None
        loop = answer.pop("loop")
        if attempt < 4:
            assert (loop["attempt"], loop["action"], answer) == (attempt, "none", said)
            continue
        assert (loop["attempt"], loop["action"]) == (attempt, "escalate")
        counted = {"action": action, "parameters": {"where": "/x", "attempts": attempt}}
        message = f"{said['message']} {times(attempt)}"
        assert answer == {**said, "message": message, "suggestions": [{**said["suggestions"][0], **counted}]}


@pytest.mark.parametrize("action", [{"action": "ALREADY_DONE"}, {"action": "GO", "base_action": "ALREADY_DONE"}])
def test_what_is_done_calls_for_nobody(action: dict[str, str]) -> None:
    agent = Agent()
    said = feedback({**action, "parameters": {"where": "/x"}}, recovery="terminal")
    agent.refused(feedback_sent=said)
    for attempt in range(2, 7):
        answer = agent.refused(feedback_sent=said)
        assert answer is not None
        loop = answer.pop("loop")
        assert (loop["attempt"], loop["action"], answer) == (attempt, "none", said)


@pytest.mark.parametrize(("retry", "last"), [({}, 4), ({"max_attempts": 2}, 4), ({"max_attempts": 6}, 6)])
def test_waiting_is_repeating_until_it_is_too_much(retry: dict[str, Json], last: int) -> None:
    agent = Agent()
    said = feedback({"action": "WAIT_AND_RETRY", "parameters": {}}, recovery="transient", retry=retry)
    answers = [agent.refused(feedback_sent=said) for _ in range(last)]
    assert [one and one["loop"]["action"] for one in answers] == [None, *["none"] * (last - 2), "escalate"]
    assert [one is not None and "retry" in one for one in answers] == [False, *[True] * (last - 2), False]


def test_who_does_not_wait_is_told_to_wait_and_no_more() -> None:
    agent = Agent()
    said = feedback({"action": "WAIT_AND_RETRY", "parameters": {}}, recovery="transient", retry={"after_seconds": 60})
    early = [agent.refused(feedback_sent=said) for _ in range(6)]
    assert [one and (one["loop"]["action"], one["retry"]) for one in early] == [None] + [("none", said["retry"])] * 5
    late = []
    for _ in range(3):
        agent.now += 60
        late.append(agent.refused(feedback_sent=said))
    assert [one and one["loop"] | {"fingerprint": ""} for one in late] == [
        {"fingerprint": "", "attempt": 7, "action": "none"},
        {"fingerprint": "", "attempt": 8, "action": "none"},
        {"fingerprint": "", "attempt": 9, "action": "escalate"},
    ]


def test_a_pace_for_edits_gives_them_no_more_attempts() -> None:
    agent = Agent()
    said = feedback(retry={"same_request": False, "max_attempts": 6})
    actions = [answer and answer["loop"]["action"] for answer in (agent.refused(feedback_sent=said) for _ in range(4))]
    assert actions == [None, "none", "relax_structure", "escalate"]


def test_only_so_many_places_are_asked_for() -> None:
    agent = Agent()
    about = [Violation("wrong", "m", f"/body/m{number}") for number in range(20)]
    answers = [agent.refused(about=[*about, *about]) for _ in range(3)]
    assert answers[2] is not None
    asked = [one["pointer"] for one in answers[2]["suggestions"][0]["placeholders"]]
    assert asked == [f"/body/m{number}" for number in range(16)]


def test_what_the_rules_never_said_anything_about_is_asked_for_alone() -> None:
    """They spoke the first time only: then there is no message of theirs, and no action."""
    agent = Agent()
    agent.refused()
    third = [agent.refused(silent=True) for _ in range(2)][1]
    assert third is not None
    assert third["message"] == times(3)
    assert third["suggestions"][0]["action"] == "MODIFY_PARAMS"
    fourth = agent.refused(silent=True)
    assert fourth is not None
    assert fourth["message"] == times(4)


def test_the_rules_may_fall_silent_after_their_advice_was_followed() -> None:
    """What they suggested is in the request now, so they have nothing to say, and the upstream refuses all the same."""
    agent = Agent()
    agent.refused()
    followed = replace(REQUEST, body={**REQUEST.body, "amount": 300})
    assert agent.refused(followed, silent=True) is None
    third, fourth = agent.refused(followed, silent=True), agent.refused(followed, silent=True)
    assert third is not None and third["loop"]["action"] == "relax_structure"
    assert fourth is not None and fourth["suggestions"][0]["parameters"] == {
        "actor": "you",
        "attempts": 4,
        "code": "TOO_MUCH",
    }
