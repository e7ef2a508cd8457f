"""JSON over HTTP from gRPC gateways: the same feedback as one more of the details."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format

from corrigible.proxy.build import build_corrector
from corrigible.proxy.embed.member import details_of
from corrigible.proxy.http.messages import HttpExchange, RequestHead, ResponseHead
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.schema.convert import from_proto
from corrigible.schema.feedback import parse
from corrigible.schema.v0_1 import feedback_pb2
from tests._support.rows import rows

BAD = {
    "@type": "type.googleapis.com/google.rpc.BadRequest",
    "fieldViolations": [{"field": "unit_price", "description": "x"}],
}
RULE = "match: {type: INVALID_ARGUMENT}\nsuggest: [{action: MODIFY_PARAMS, message: m, parameters: {unitPrice: 500}}]\n"
JSON = [("Content-Type", "application/json")]


def answered(folder: Path, native: Any) -> Any:
    corrector = build_corrector([folder])
    request, response = RequestHead("POST", "/v1/orders", JSON), ResponseHead(400, JSON)
    body = json.dumps(native, indent=1).encode()
    going = corrector.correct(HttpExchange(request, b'{"unitPrice":0}', response, body), id="e", started=1.0)
    outcome = run_with_lookups_sync(going, lambda lookup: LookupAnswer(0))
    assert outcome.rewrite is not None, outcome
    return json.loads(outcome.rewrite.body)


@pytest.mark.parametrize("details", [[], [BAD]])
@pytest.mark.parametrize("inside", [True, False])
def test_the_feedback_is_the_last_detail_and_a_member(write_pack: Any, details: list[Any], inside: bool) -> None:
    status = {"code": 400 if inside else 3, "message": "bad", "status": "INVALID_ARGUMENT", "details": details}
    said = answered(write_pack(x=RULE), {"error": status} if inside else status)
    there = said["error"] if inside else said
    assert {name: there[name] for name in ("code", "message", "status")} == {
        n: status[n] for n in ("code", "message", "status")
    }
    assert there["details"][:-1] == details
    last = dict(there["details"][-1])
    assert last.pop("@type") == "type.googleapis.com/corrigible.schema.v0_1.RecoveryFeedback"
    message = json_format.ParseDict(last, feedback_pb2.RecoveryFeedback())
    assert from_proto(message) == parse(said["recovery_feedback"])
    assert said["recovery_feedback"]["suggestions"][0]["parameters"] == {"unitPrice": 500}


@pytest.mark.parametrize("details", [None, "none", [{"reason": "untyped"}]])
def test_other_details_are_left_alone(write_pack: Any, details: Any) -> None:
    native = {"error": {"code": 400, "message": "bad", "status": "INVALID_ARGUMENT", "details": details}}
    said = answered(write_pack(x="suggest: [{action: ESCALATE, actor: somebody_else, message: m}]\n"), native)
    assert said["error"] == native["error"]


STATUS = {"code": 3, "message": "bad", "details": [BAD]}


@rows(
    ("parsed", "pointer"),
    [
        (STATUS, "/details"),
        ({"error": STATUS}, "/error/details"),
        ({**STATUS, "error": "bad"}, "/details"),
        ({**STATUS, "details": []}, "/details"),
        ({**STATUS, "message": None}, None),
        ({**STATUS, "code": "3"}, None),
        ({**STATUS, "details": None}, None),
        ({**STATUS, "details": [BAD, {"reason": "untyped"}]}, None),
        ({**STATUS, "details": ["@type"]}, None),
        ({"error": {**STATUS, "message": 7}}, None),
        ({"error": [STATUS]}, None),
        ({}, None),
    ],
)
def test_where_the_details_are(parsed: Any, pointer: str | None) -> None:
    assert details_of(parsed) == pointer
