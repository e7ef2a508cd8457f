"""google.rpc.Status, over gRPC and as the JSON of gateways."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.google_rpc import GoogleRpcFormat, pointer_of_field
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Request
from tests._support.rows import rows

BODY: dict[str, Any] = {"unitPrice": 1, "items": [{"sku": "A"}, {"sku": "b"}], "labels": {"a.b": "c"}, "old_name": 2}


def read(body: Any, *, reads_prose: bool = False) -> list[Violation]:
    exchange = Exchange(Request("/shop.v1.Orders/Create", "", body=BODY), 400, {}, b"", "e", 0.0)
    return list(GoogleRpcFormat(reads_prose=reads_prose).read(exchange, body))


def status(*details: dict[str, Any], code: Any = 3, message: str = "bad") -> dict[str, Any]:
    return {"code": code, "message": message, "details": list(details)}


def any_of(name: str, **members: Any) -> dict[str, Any]:
    return {"@type": f"type.googleapis.com/{name}", **members}


def test_code_and_message_alone() -> None:
    (one,) = read(status(code=11, message="etcdserver: too large lease TTL"))
    assert (one.code, one.type, one.message, one.pointer) == (
        "OUT_OF_RANGE",
        "OUT_OF_RANGE",
        "etcdserver: too large lease TTL",
        "",
    )


@pytest.mark.parametrize(
    ("written", "code"),
    [("not_found", "NOT_FOUND"), ("canceled", "CANCELLED"), (5, "NOT_FOUND"), ("NOT_FOUND", "NOT_FOUND")],
)
def test_the_code_as_it_is_written(written: str | int, code: str) -> None:
    (one,) = read({"error": {"code": written, "message": "gone"}})
    assert (one.code, one.written_code) == (code, "" if written == code else str(written))


def test_every_field_of_a_bad_request_is_a_violation() -> None:
    one, two = read(
        status(
            any_of(
                "google.rpc.BadRequest",
                fieldViolations=[
                    {"field": "items[1].sku", "description": "must be upper case", "reason": "CASE"},
                    {"field": "unit_price", "description": "must be positive"},
                ],
            ),
            any_of("google.rpc.ErrorInfo", reason="R", domain="d", metadata={"k": "v"}),
            any_of("google.rpc.RetryInfo", retryDelay="58s"),
            any_of("google.rpc.Help", links=[{"description": "x", "url": "https://a.test"}]),
        )
    )
    assert (one.code, one.pointer, one.param, one.message) == (
        "CASE",
        "/body/items/1/sku",
        "items[1].sku",
        "must be upper case",
    )
    assert (two.code, two.pointer) == ("INVALID_ARGUMENT", "/body/unitPrice")
    facts = {name: one.native[name] for name in ("reason", "domain", "metadata", "retry_delay", "links", "top")}
    assert facts == {
        "reason": "R",
        "domain": "d",
        "metadata": {"k": "v"},
        "retry_delay": 58.0,
        "links": ["https://a.test"],
        "top": "bad",
    }


def test_protovalidate() -> None:
    one, two, three = read(
        status(
            any_of(
                "buf.validate.Violations",
                violations=[
                    {
                        "ruleId": "string.pattern",
                        "message": "does not match",
                        "field": {"elements": [{"fieldName": "items", "index": "1"}, {"fieldName": "sku"}]},
                    },
                    {
                        "ruleId": "string.max_len",
                        "forKey": True,
                        "field": {"elements": [{"fieldName": "labels", "stringKey": "a.b"}]},
                    },
                    {"ruleId": "order.range", "message": "end must be after start"},
                ],
            )
        )
    )
    assert (one.code, one.pointer, one.native["for_key"]) == ("string.pattern", "/body/items/1/sku", False)
    assert (two.pointer, two.native["for_key"]) == ("/body/labels/a.b", True)
    assert (three.code, three.pointer) == ("order.range", "")


def test_preconditions_and_quotas() -> None:
    one, two = read(
        status(
            any_of(
                "google.rpc.PreconditionFailure", violations=[{"type": "TOS", "subject": "x", "description": "sign"}]
            ),
            any_of("google.rpc.QuotaFailure", violations=[{"subject": "project:p", "description": "over"}]),
            code=9,
        )
    )
    assert (one.code, one.param, one.native["detail"]) == ("TOS", "x", "PreconditionFailure")
    assert (two.code, two.param, two.message) == ("FAILED_PRECONDITION", "project:p", "over")


@pytest.mark.parametrize(
    "detail",
    [
        {"@type": "google.rpc.badrequest-bin", "fieldViolations": [{"field": "items", "description": "d"}]},
        {"@type": "type.googleapis.com/google.rpc.BadRequest.FieldViolation", "field": "items", "description": "d"},
        {
            "type": "google.rpc.BadRequest",
            "value": "x",
            "debug": {"fieldViolations": [{"field": "items", "description": "d"}]},
        },
    ],
)
def test_odd_shapes(detail: dict[str, Any]) -> None:
    (one,) = read(status(detail))
    assert (one.pointer, one.message) == ("/body/items", "d")


@rows(
    ("body", "code"),
    [
        ({"error": {"code": 400, "message": "m", "status": "INVALID_ARGUMENT", "details": []}}, "INVALID_ARGUMENT"),
        ({"code": "not_found", "message": "m"}, "NOT_FOUND"),
        ({"code": 5, "message": "m", "details": []}, "NOT_FOUND"),
        ({"code": "canceled", "message": "m"}, "CANCELLED"),
        ({"code": "permission_denied", "msg": "m"}, "PERMISSION_DENIED"),
        ([{"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED"}}], "RESOURCE_EXHAUSTED"),
        ({"error": "m", "code": 5, "message": "m", "details": []}, "NOT_FOUND"),
    ],
)
def test_gateways(body: Any, code: str) -> None:
    (one,) = read(body)
    assert (one.code, one.message) == (code, "m")


@rows("body", [{"code": 400, "message": "m"}, {"code": "E1", "message": "m"}, {"error": "no"}, [], "x", {"code": True}])
def test_what_is_no_status(body: Any) -> None:
    assert read(body) == []


@rows(
    ("field", "pointer"),
    [
        ("items.1.sku", "/body/items/1/sku"),
        ('labels["a.b"]', "/body/labels/a.b"),
        ("old_name", "/body/old_name"),
        ("new_name.sub_field", "/body/newName/subField"),
        ("the whole thing", ""),
        ("", ""),
    ],
)
def test_places(field: str, pointer: str) -> None:
    exchange = Exchange(Request("/a.B/C", "", body=BODY), 400, {}, b"", "e", 0.0)
    assert pointer_of_field(field, exchange) == pointer


def test_protovalidates_message_alone() -> None:
    message = "validation errors:\n - items[1].sku: does not match [string.pattern]\n - unitPrice: too low [int32.gt]"
    one, two = read(status(message=message), reads_prose=True)
    assert (one.code, one.pointer, one.message) == ("string.pattern", "/body/items/1/sku", "does not match")
    assert (two.code, two.pointer) == ("int32.gt", "/body/unitPrice")


def test_protoc_gen_validates_message() -> None:
    message = "invalid Order.Items[1]: embedded message failed validation | caused by: invalid Item.Sku: "
    message += "value does not match; invalid Order.UnitPrice: value must be greater than 0"
    one, two = read(status(message=message), reads_prose=True)
    assert (one.pointer.lower(), one.message) == ("/body/sku", "value does not match")
    assert (two.pointer.lower(), two.message) == ("/body/unitprice", "value must be greater than 0")


@pytest.mark.parametrize(
    "message", ["invalid token", "invalid fields: a,b", "key: value is missing", "validation failed"]
)
def test_prose_names_no_place(message: str) -> None:
    (one,) = read(status(message=message))
    assert (one.pointer, one.message) == ("", message)


def test_details_that_came_as_bytes() -> None:
    """QuotaFailure{violations: [{subject: p, description: over}]} and RetryInfo{retryDelay: 58s}, decoded by nobody."""
    (one,) = read(
        status(
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "value": "CgkKAXASBG92ZXI="},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "value": "CgIIOg=="},
            {"@type": "type.googleapis.com/own.Detail", "value": "CgIIOg=="},
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "value": "not base64!"},
            code=8,
        )
    )
    assert (one.param, one.message, one.native["retry_delay"]) == ("p", "over", 58.0)


def test_violations_of_older_protovalidate() -> None:
    detail = any_of("buf.validate.Violations", violations=[{"fieldPath": "items[1].sku", "constraintId": "string.len"}])
    (one,) = read(status(detail))
    assert (one.pointer, one.code) == ("/body/items/1/sku", "string.len")


def test_a_path_from_the_request_on() -> None:
    detail = any_of("google.rpc.BadRequest", fieldViolations=[{"field": "request.items[1].sku", "description": "d"}])
    (one,) = read(status(detail))
    assert one.pointer == "/body/items/1/sku"


@pytest.mark.parametrize("more", [{}, {"field": ""}, {"field": None}])
def test_a_violation_without_a_field_is_of_the_whole(more: dict[str, Any]) -> None:
    """As Gemini refuses a name that it does not know at the root."""
    text = 'Invalid JSON payload received. Unknown name "max_tokens": Cannot find field.'
    detail = any_of("google.rpc.BadRequest", fieldViolations=[{"description": text, **more}])
    (one,) = read(status(detail))
    assert (one.pointer, one.message) == ("", text)


def broken(rule: str, message: str, field: str, **step: Any) -> Violation:
    """Return one violation of protovalidate, in the JSON of a gateway without descriptors."""
    element = {"fieldName": field, "fieldNumber": 1, **step}
    detail = any_of(
        "buf.validate.Violations", violations=[{"field": {"elements": [element]}, "ruleId": rule, "message": message}]
    )
    exchange = Exchange(Request("POST", "/v1/orders", body={**BODY, "size": 700}), 400, {}, b"", "e", 0.0)
    (one,) = GoogleRpcFormat(reads_prose=True).read(exchange, status(detail))
    return one


def test_a_oneof_has_no_place_in_json() -> None:
    assert broken("required", "exactly one field is required in oneof", "filter", fieldNumber=0).pointer == "/body"
    assert broken("required", "value is required", "filter").pointer == "/body/filter"


def test_a_field_of_a_field_is_a_dotted_parameter() -> None:
    elements = [{"fieldName": name, "fieldNumber": 1} for name in ("span", "end")]
    detail = any_of("buf.validate.Violations", violations=[{"field": {"elements": elements}, "message": "too late"}])
    query = {"span.start": "1", "span.end": "9"}
    exchange = Exchange(Request("GET", "/v1/orders", query), 400, {}, b"", "e", 0.0)
    assert [one.pointer for one in GoogleRpcFormat().read(exchange, status(detail))] == ["/query/span.end"]


@pytest.mark.parametrize(
    ("message", "metadata", "read_as"),
    [
        ("generic_error", {"err": "empty paths", "id": "7"}, "empty paths"),
        ("The paths are empty", {"err": "empty paths"}, "The paths are empty"),
        ("generic_error", {"err": "empty paths", "hint": "say where"}, "generic_error"),
        ("generic_error", {"err": "EMPTY"}, "generic_error"),
        ("generic_error", {}, "generic_error"),
    ],
)
def test_the_sentence_that_only_an_error_info_has(message: str, metadata: dict[str, str], read_as: str) -> None:
    info = any_of("google.rpc.ErrorInfo", reason="generic_error", metadata=metadata)
    assert [one.message for one in read(status(info, message=message))] == [read_as]
