"""JSON:API, Spring, GraphQL, and the servers built on Ajv."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.generic import GenericFormat
from corrigible.adapters.formats.graphql_errors import GRAPHQL
from corrigible.schema.exchange import Exchange, Request
from tests._support.rows import rows

GENERIC = GenericFormat()
POST = Request("POST", "/things", body={"name": "n", "items": [{"a": 1}]})


def read(dialect: Any, body: Any, request: Request = POST, status: int = 422) -> list[tuple[str, str, str]]:
    return [(v.pointer, v.code, v.constraint) for v in dialect.read(Exchange(request, status, {}, b""), body)]


@rows(
    ("error", "wanted"),
    [
        ({"source": {"pointer": "/data/attributes/name"}, "detail": "m"}, ("/body/data/attributes/name", "", "")),
        ({"source": {"pointer": "/data/a~1b"}, "code": "E1", "title": "m"}, ("/body/data/a~1b", "E1", "")),
        ({"source": {"parameter": "filter[kind]"}, "detail": "m"}, ("/query/filter[kind]", "", "")),
        ({"source": {"header": "X-Key"}, "detail": "m"}, ("/headers/x-key", "", "")),
        ({"status": "403", "title": "Forbidden"}, ("", "", "")),
        ({"source": {"pointer": "/data"}, "detail": "Missing `name` attribute"}, ("/body/data/name", "", "required")),
        ({"source": {"pointer": "/data"}, "detail": "No luck with the `name` attribute"}, ("/body/data", "", "")),
        (
            {"source": {"pointer": "/data"}, "detail": "Missing required attribute: name"},
            ("/body/data/name", "", "required"),
        ),
    ],
)
def test_json_api(error: dict[str, Any], wanted: tuple[str, str, str]) -> None:
    assert read(GENERIC, {"errors": [error]}) == [wanted]


SPRING_HEAD = {"timestamp": "2026-01-01T00:00:00Z", "status": 400, "error": "Bad Request", "path": "/things"}


@rows(
    ("more", "wanted"),
    [
        (
            {"errors": [{"field": "items[0].a", "code": "Max", "defaultMessage": "m", "objectName": "o"}]},
            ("/body/items/0/a", "Max", "maximum"),
        ),
        (
            {"errors": [{"field": "name", "code": "NotNull", "defaultMessage": "m"}]},
            ("/body/name", "NotNull", "required"),
        ),
        ({"errors": [{"field": "name", "code": "OwnRule", "defaultMessage": "m"}]}, ("/body/name", "OwnRule", "")),
        ({"message": "Required request parameter 'q' for method parameter type"}, ("/query/q", "", "required")),
        ({"message": "Required request header 'X-Key' for method"}, ("/headers/x-key", "", "required")),
        ({"message": "Failed to convert"}, ("", "", "")),
        ({}, ("", "", "")),
    ],
)
def test_spring(more: dict[str, Any], wanted: tuple[str, str, str]) -> None:
    assert read(GENERIC, {**SPRING_HEAD, **more}) == [wanted]


def test_springs_path_is_where_the_request_went() -> None:
    (violation,) = GENERIC.read(Exchange(POST, 400, {}, b""), dict(SPRING_HEAD))
    assert (violation.message, violation.param, violation.pointer) == ("Bad Request", "", "")


ASKED = Request("POST", "/graphql", body={"query": "mutation($input: I!) { f(i: $input) }", "variables": {"input": {}}})


@rows(
    ("message", "wanted"),
    [
        (
            'Variable "$input" got invalid value "x" at "input.items[0].state"; Value "x" does not exist in "S" enum.',
            ("/body/variables/input/items/0/state", ""),
        ),
        (
            'Variable "$input" got invalid value {}; Field "name" of required type "String!" was not provided.',
            ("/body/variables/input/name", "required"),
        ),
        ('Variable "$input" of required type "I!" was not provided.', ("/body/variables/input", "required")),
        (
            'Variable "$input" got invalid value {a: 1}; Field "a" is not defined by type "I".',
            ("/body/variables/input/a", "additionalProperties"),
        ),
        ('Cannot query field "nmae" on type "User".', ("", "")),
        # graphql-core, up to 3.2 and after it
        (
            "Variable '$input' got invalid value '2' at 'input.n'; Int cannot represent non-integer value: '2'",
            ("/body/variables/input/n", ""),
        ),
        ("Variable '$input' of required type 'I!' was not provided.", ("/body/variables/input", "required")),
        (
            "Variable '$input' has invalid value: Expected a value of non-null type 'I!' to be provided.",
            ("/body/variables/input", "required"),
        ),
        (
            "Variable '$input' has invalid value: Expected value of type 'I' to include required field 'name'.",
            ("/body/variables/input/name", "required"),
        ),
        (
            "Variable '$input' has invalid value: Expected value of type 'I' not to include unknown field 'nn'.",
            ("/body/variables/input/nn", "additionalProperties"),
        ),
    ],
)
def test_graphql(message: str, wanted: tuple[str, str]) -> None:
    body = {"errors": [{"message": message, "extensions": {"code": "BAD_USER_INPUT"}}]}
    assert read(GRAPHQL, body, ASKED, 200) == [(wanted[0], "BAD_USER_INPUT", wanted[1])]


def test_errors_of_who_was_asked_no_query_are_no_graphql() -> None:
    assert read(GRAPHQL, {"errors": [{"message": "m"}]}) == []
    assert read(GRAPHQL, {"data": {}}, ASKED, 200) == []


def test_what_python_jsonschema_prints_beside_its_text_is_no_member() -> None:
    item = {"message": "'sku' is a required property", "validator": "required", "path": [], "schema_path": ["required"]}
    assert read(GENERIC, {"errors": [{**item, "validator_value": ["sku"]}]}) == [("", "required", "required")]


@pytest.mark.parametrize(
    ("item", "wanted"),
    [
        ({"instancePath": "/items/0/a", "keyword": "type", "message": "must be string"}, ("/body/items/0/a", "type")),
        (
            {"instancePath": "", "keyword": "required", "params": {"missingProperty": "sku"}, "message": "m"},
            ("/body/sku", "required"),
        ),
        (
            {"instancePath": "/items/0", "keyword": "additionalProperties", "params": {"additionalProperty": "b"}},
            ("/body/items/0/b", "additionalProperties"),
        ),
        ({"dataPath": ".items[0].a", "keyword": "enum", "params": {"allowedValues": [1]}}, ("/body/items/0/a", "enum")),
    ],
)
def test_ajv_itself(item: dict[str, Any], wanted: tuple[str, str]) -> None:
    place, keyword = wanted
    assert read(GENERIC, [item]) == [(place, keyword, keyword)]
    assert read(GENERIC, {"message": "x", "errors": [item]}) == [(place, keyword, keyword)]


@rows(
    ("path", "code", "message", "place"),
    [
        ("/body/name", "required", "must have required property 'name'", "/body/name"),
        ("/body/sku", "required", "must have required property 'sku'", "/body/sku"),
        (".body.items[0].a", "type", "should be integer", "/body/items/0/a"),
        ("/query/limit", "minimum", "must be >= 1", "/query/limit"),
        ("/body/colour", "additionalProperties", "must NOT have additional properties", "/body/colour"),
        ("/params/id", "type", "must be integer", "/path"),
        ("/headers/X-Key", "required", "must have required property 'x-key'", "/headers/x-key"),
    ],
)
def test_express_openapi_validator(path: str, code: str, message: str, place: str) -> None:
    item = {"path": path, "message": message, "errorCode": f"{code}.openapi.validation"}
    assert read(GENERIC, {"message": "m", "errors": [item]}) == [(place, item["errorCode"], code)]


@rows(
    ("message", "wanted"),
    [
        ("body must have required property 'sku'", [("/body/sku", "required")]),
        ("body/items/0/a must be string", [("/body/items/0/a", "")]),
        ("querystring/limit must be integer", [("/query/limit", "")]),
        ("params/id must be integer", [("/path", "")]),
        (
            "body/name must be string, body/items/0/a must be <= 5",
            [("/body/name", ""), ("/body/items/0/a", "")],
        ),
        ("something else", [("", "")]),
    ],
)
def test_fastify(message: str, wanted: list[tuple[str, str]]) -> None:
    body = {"statusCode": 400, "code": "FST_ERR_VALIDATION", "error": "Bad Request", "message": message}
    assert read(GENERIC, body) == [(place, "FST_ERR_VALIDATION", keyword) for place, keyword in wanted]
