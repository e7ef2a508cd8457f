"""The table of answers: each row decides of one refusal, and another row, or nothing, without its facts."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from corrigible.proxy.core import answers
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json
from corrigible.schema.exchange import Request as R
from tests._support.by_description import engine_of, feedback_about
from tests._support.rows import rows

DESCRIPTION = """
openapi: 3.0.3
info: {title: Kilns, version: '1'}
paths:
  /kilns/{kilnName}:
    parameters: [{name: kilnName, in: path, required: true, schema: {type: string}}]
    delete: {operationId: remove}
    patch: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Kiln'}}}}}
  /kilns/{kilnName}/fire:
    parameters: [{name: kilnName, in: path, required: true, schema: {type: string}}]
    post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Kiln'}}}}}
  /orders:
    post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Order'}}}}}
components:
  schemas:
    Kiln: {type: object, properties: {glaze: {type: string}, heat: {type: integer}, batchId: {type: string}}}
    Order: {type: object, properties: {coupon: {type: string}, quantity: {type: integer}, note: {type: string}}}
"""
FIRE = "/kilns/k-1/fire"
ORDER = {"coupon": "SPRING", "quantity": 2}
DECIDED: dict[str, tuple[R, int, str, str | None]] = {
    "gone": (R("DELETE", "/kilns/k-1"), 410, "The kiln has already been deleted.", "ESCALATE"),
    "one of several": (
        R("PATCH", "/kilns/k-1", body={"heat": 9}),
        409,
        "serial is read-only; heat is too low",
        None,
    ),
    "somebody": (R("POST", "/orders", body=ORDER), 409, "only managers may do this", "ESCALATE"),
    "of a thing": (R("PATCH", "/kilns/k-1", body={"batchId": "b-7"}), 409, "The batch b-7 is closed", "ESCALATE"),
    "refused value": (R("POST", "/orders", body=ORDER), 409, "That coupon was closed", "MODIFY_PARAMS"),
    "repeated": (R("POST", "/orders", body=ORDER), 412, "That coupon was closed", "MODIFY_PARAMS"),
    "passing": (R("PATCH", "/kilns/k-1", body={"heat": 9}), 409, "Another firing is in progress", "WAIT_AND_RETRY"),
    "own state": (R("POST", FIRE), 500, "The database is not running", None),
    "caller": (R("POST", FIRE), 400, "You must be logged in", "ESCALATE"),
    "right": (R("POST", FIRE), 400, "You do not have permission to fire", "ESCALATE"),
    "not offered": (R("POST", FIRE), 404, "Remote firing is disabled", "ESCALATE"),
    "there": (R("POST", FIRE), 400, "The potter is already a member", "ESCALATE"),
    "state": (R("POST", FIRE), 409, "The kiln is not connected", "ESCALATE"),
    "fixed": (R("DELETE", "/kilns/k-1"), 400, "Cannot delete kiln k-1", "ESCALATE"),
}
"""For each row a refusal that it decides, and the action that is answered; None for silence."""


def action(folder: Path, request: R, status: int, message: str) -> str | None:
    fresh = engine_of(folder, DESCRIPTION)  # which has no translation of this answer yet
    headers = {"content-type": "application/json"} if request.body is not None else {}
    sent = R(request.method, request.path, request.query, headers, request.body)
    feedback = feedback_about(fresh, sent, status, {"message": message})
    return None if feedback is None else feedback["suggestions"][0]["action"]


@rows("row", answers.ROWS, ids=lambda one: one.name)
def test_each_row_decides(row: answers.Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request, status, message, expected = DECIDED[row.name]
    deciding: list[str] = []
    fits = answers._Refusal.fits

    def noted(self: answers._Refusal, one: answers.Row) -> bool:
        is_fit = fits(self, one)
        if is_fit:
            deciding.append(one.name)
        return is_fit

    monkeypatch.setattr(answers._Refusal, "fits", noted)
    assert action(tmp_path, request, status, message) == expected
    assert deciding[:1] == [row.name]


def test_a_value_that_is_no_id_is_no_thing_in_a_state(tmp_path: Path) -> None:
    assert action(tmp_path, R("POST", "/orders", body=ORDER), 409, "The coupon SPRING is closed") != "ESCALATE"


RIGHTS: list[tuple[str, str, Json, str]] = [
    ("POST", "/orders", ORDER, "only managers order more than 1"),
    ("POST", "/orders", ORDER, "clerks cannot do this"),
    ("POST", "/orders", ORDER, "your role does not let you order 2"),
    ("POST", "/orders", ORDER, "coupon SPRING is for staff"),
    ("POST", "/orders", ORDER, "quantity 2 is beyond what trainees may order"),
    ("POST", "/orders", ORDER, "orders above 1 are countersigned by the matron"),
    ("POST", "/orders", ORDER, "the coupon SPRING may only be redeemed by its owner"),
    ("POST", "/orders", ORDER, "a second pair of eyes is needed for quantity 2"),
    ("POST", "/orders", ORDER, "guests do not use coupons"),
    ("POST", "/orders", ORDER, "SPRING: ask your supervisor"),
    ("POST", "/orders", ORDER, "you are on the basic tier"),
    ("POST", "/orders", ORDER, "this token is read-only"),
    ("POST", "/orders", ORDER, "quantity needs the scope orders:bulk"),
    ("POST", "/orders", ORDER, "Gold members only"),
    ("PATCH", "/kilns/k-1", {"heat": 1300}, "heat 1300 is for master potters"),
    ("PATCH", "/kilns/k-1", {"heat": 1300}, "apprentices fire up to 900"),
    ("PATCH", "/kilns/k-1", {"heat": 1300}, "k-1 belongs to another studio"),
    ("PATCH", "/kilns/k-1", {"glaze": "lead"}, "glaze lead requires a licence"),
    ("PATCH", "/kilns/k-1", {"glaze": "lead"}, "glaze must be approved by the safety officer"),
    ("PATCH", "/kilns/k-1", {"glaze": "lead"}, "the owner has locked the glaze"),
    ("PATCH", "/kilns/k-1", {"glaze": "lead"}, "lead is not allowed for your account"),
    ("DELETE", "/kilns/k-1", None, "kilns are removed by the janitor"),
    ("DELETE", "/kilns/k-1", None, "not your kiln"),
    ("POST", FIRE, {"batchId": "b-1"}, "batch b-1 is under embargo by the curator"),
    ("POST", FIRE, {"batchId": "b-1"}, "nur die Leitung darf brennen"),
    ("POST", FIRE, {"batchId": "b-1"}, "batchId b-1: réservé aux maîtres"),
    ("POST", FIRE, {"heat": 900}, "heat above 800 after six needs the warden"),
    ("POST", FIRE, {"heat": 900}, "Four eyes: heat 900 has one"),
]


def test_under_403_no_sentence_about_rights_is_no_matter_of_permission(tmp_path: Path) -> None:
    engine = engine_of(tmp_path, DESCRIPTION)
    assert len(RIGHTS) == 28
    for method, path, body, message in RIGHTS:
        request = R(method, path, {}, {"content-type": "application/json"} if body is not None else {}, body)
        for answer in ({"message": message}, {"errors": [{"field": next(iter(body or ["x"])), "message": message}]}):
            feedback = feedback_about(engine, request, 403, answer)
            assert feedback is not None, message
            assert [one["action"] for one in feedback["suggestions"]] == ["ESCALATE"], message
            assert "no matter of permission" not in str(feedback)


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (412, "FAILED_PRECONDITION", "ESCALATE"),
        (400, "FAILED_PRECONDITION", "ESCALATE"),
        (412, "INVALID_ARGUMENT", None),
    ],
)
def test_a_code_of_google_rpc_is_what_a_gateway_means(
    tmp_path: Path, status: int, code: str, expected: str | None
) -> None:
    engine = engine_of(tmp_path, DESCRIPTION)
    answer = {"error": {"code": status, "status": code, "message": "see the log"}}
    feedback = feedback_about(engine, R("POST", FIRE), status, answer)
    assert (None if feedback is None else feedback["suggestions"][0]["action"]) == expected


_SPEAK_FOR_THEMSELVES = (
    *("OK", "CANCELLED", "DEADLINE_EXCEEDED", "ALREADY_EXISTS", "PERMISSION_DENIED", "FAILED_PRECONDITION", "ABORTED"),
    *("UNIMPLEMENTED", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED", "", "SOME_OTHER"),
)
_SAY_LITTLE = ("NOT_FOUND", "UNKNOWN", "INTERNAL", "INVALID_ARGUMENT", "OUT_OF_RANGE", "RESOURCE_EXHAUSTED")


@rows("code", (*_SPEAK_FOR_THEMSELVES, *_SAY_LITTLE))
def test_a_text_of_a_call_is_heard_under_codes_that_say_something_else(code: str) -> None:
    error = Violation(type=code, message="You do not have permission to fire this kiln.")
    case: Any = SimpleNamespace(
        request=R("/kilns.v1.Kilns/Fire", "", body={"kiln": "k-1"}),
        exchange=SimpleNamespace(status=400),
        errors=[error],
        profile=SimpleNamespace(adapter=SimpleNamespace(tells_places_loosely=True)),
    )
    told = answers.answered(case, error)
    assert (told is not None) is (code in _SAY_LITTLE)
    assert answers.answered(case, error._replace(stated={"minimum": 1})) is None
