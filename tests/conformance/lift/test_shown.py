"""What each arm shows of one and the same answer."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from corrigible.conformance.lift.agents.protocol import Response
from corrigible.conformance.lift.arms import FILLER_MEMBER, Arm, apply_arm, noisy
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import parse
from corrigible.schema.reader import Next, apply
from tests._support.rows import rows

FEEDBACK: dict[str, Any] = {
    "schema": "self-reflective-api/0.1",
    "type": "recovery_guidance",
    "message": "The refund is larger than what is left.",
    "recovery": "correctable",
    "suggestions": [
        {
            "action": "MODIFY_PARAMS",
            "message": "Refund the 300 that are left, in eur.",
            "parameters": {"amount": 300, "currency": "eur"},
            "patch": [
                {"op": "test", "path": "/body/amount", "value": 500},
                {"op": "replace", "path": "/body/amount", "value": 300},
            ],
            "steps": [{"method": "GET", "path": "/v1/charges"}],
            "applicability": "MAYBE_INCORRECT",
        }
    ],
}
OTHER: dict[str, Any] = {
    "type": "recovery_guidance",
    "message": "Another task.",
    "suggestions": [{"action": "WAIT_AND_RETRY", "parameters": {}}],
}
BODY: dict[str, Any] = {
    "error": {"message": "too large", "recovery_feedback": FEEDBACK},
    "details": {"causes": [{"reason": "FieldValueInvalid"}, {"reason": "RecoveryFeedback", "message": "amount=300"}]},
    "validation_errors": [{"code": "X", "message": "too large"}],
    "recovery_feedback": FEEDBACK,
}
SEEN = Response(400, BODY, {"warning": '299 - "amount=300"', "retry-after": "1"})


@pytest.mark.parametrize("arm", [Arm.NONE, Arm.TRADITIONAL, Arm.VERBOSE, Arm.PATCHES])
def test_what_the_proxy_made_is_shown_as_it_is(arm: Arm) -> None:
    assert apply_arm(SEEN, arm, "0") is SEEN


def test_the_core_holds_the_papers_contract_and_nothing_else() -> None:
    found = apply_arm(SEEN, Arm.REFLECTIVE, "0")
    assert set(found.body["recovery_feedback"]) == {"schema", "type", "message", "suggestions"}
    assert set(found.body["recovery_feedback"]["suggestions"][0]) == {"action", "message", "parameters"}
    assert found.body["error"]["recovery_feedback"] == found.body["recovery_feedback"]


@pytest.mark.parametrize("arm", [Arm.REFLECTIVE, Arm.SHUFFLED, Arm.NOISE, Arm.LENGTH])
def test_no_second_copy_of_the_real_feedback_is_left(arm: Arm) -> None:
    found = apply_arm(SEEN, arm, "0", [OTHER])
    assert "warning" not in found.headers and found.headers["retry-after"] == "1"
    assert found.body["details"]["causes"] == [{"reason": "FieldValueInvalid"}]
    if arm is not Arm.REFLECTIVE:
        assert "300" not in json.dumps(found.body)


def test_the_answer_that_was_given_is_not_changed() -> None:
    before = json.dumps(BODY)
    for arm in Arm:
        apply_arm(SEEN, arm, "0", [OTHER])
    assert json.dumps(BODY) == before


def test_shuffled_feedback_is_that_of_another_task() -> None:
    assert apply_arm(SEEN, Arm.SHUFFLED, "0", [OTHER]).body["recovery_feedback"] == OTHER
    assert "recovery_feedback" not in apply_arm(SEEN, Arm.SHUFFLED, "0").body


def test_noise_is_well_formed_applicable_and_wrong() -> None:
    found = noisy(FEEDBACK, "7")
    following = apply(parse(found), Request("POST", "/v1/refunds", body={"amount": 500, "currency": "usd"}))
    assert isinstance(following, Next)
    assert following.request.body["amount"] not in (300, 500)
    one = found["suggestions"][0]
    assert one["parameters"]["amount"] == one["patch"][1]["value"]
    assert one["parameters"]["currency"] != "eur"
    assert one["patch"][0] == FEEDBACK["suggestions"][0]["patch"][0]
    assert "300" not in one["message"] and str(one["parameters"]["amount"]) in one["message"]


def test_noise_follows_from_its_seed() -> None:
    assert noisy(FEEDBACK, "7") == noisy(FEEDBACK, "7")
    assert len({json.dumps(noisy(FEEDBACK, str(seed))) for seed in range(20)}) > 3


@pytest.mark.parametrize("pair", [("ch_aaaa1111", "ch_bbbb2222"), ("L2UxL2ZsYWc=", "L2UyL2ZsYWc=")])
def test_noise_does_not_depend_on_ids_that_no_two_runs_share(pair: tuple[str, str]) -> None:
    def plain(value: Json) -> Json:
        return {pair[0]: "<id:1>", pair[1]: "<id:1>"}.get(value, value) if pair[0][0] == "c" else f"<base64:{value}>"

    def made(text: str) -> str:
        feedback = {"suggestions": [{"action": "MODIFY_PARAMS", "parameters": {"charge": text}}]}
        found: str = noisy(feedback, "0", plain)["suggestions"][0]["parameters"]["charge"]
        return found

    first, second = map(made, pair)
    assert first != pair[0] and second != pair[1]
    if pair[0][0] == "c":
        assert first == second
    else:
        assert base64.b64decode(first)[3:] == base64.b64decode(second)[3:]


def test_noise_leaves_ends_alone() -> None:
    end = {"type": "recovery_guidance", "suggestions": [{"action": "NO_RECOVERY_AVAILABLE", "parameters": {"a": 1}}]}
    assert noisy(end, "0") == end


def test_the_length_matched_answer_is_verbose_and_as_long() -> None:
    found = apply_arm(SEEN, Arm.LENGTH, "0")
    assert "recovery_feedback" not in found.body and "recovery_feedback" not in found.body["error"]
    assert found.body["validation_errors"] == BODY["validation_errors"]
    assert abs(len(json.dumps(found.body)) - len(json.dumps(BODY))) <= 3
    assert "refund" not in found.body[FILLER_MEMBER].lower()


@rows("body", [None, "text", [1, 2], {"error": "no feedback"}])
@rows("arm", list(Arm))
def test_an_answer_without_feedback_stays_as_it_is(arm: Arm, body: object) -> None:
    assert apply_arm(Response(500, body), arm, "0", [OTHER]).body == body
