"""Texts whose sentences begin with the part of the request: express-openapi-validator's, and those of handlers."""

from __future__ import annotations

from corrigible.adapters.openapi.schema_checks import complete
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Request
from tests._support.rows import rows

REQUEST = Request(
    "POST",
    "/flows/7",
    query={"limit": "1000"},
    body={"type": "nosuch", "settings": {"timout": 1}, "nodes": [{"id": 1}], "active": True, "data": {"tokn": "t"}},
)


@rows(
    ("message", "wanted"),
    [
        ("request/query/limit must be <= 250", [("/query/limit", "maximum")]),
        ("request/params/id must be number", [("/path", "type")]),
        ("request/body/active is read-only", [("/body/active", "readOnly")]),
        ("request/body must have required property 'name'", [("/body/name", "required")]),
        ("request/body/settings must NOT have additional properties", [("/body/settings", "additionalProperties")]),
        (
            "request/body/nodes/0/id must be string, request/body must have required property 'name'",
            [("/body/nodes/0/id", "type"), ("/body/name", "required")],
        ),
        # A list of allowed values has commas too.
        ("request/body/type must be equal to one of the allowed values: a, request, b", [("/body/type", "enum")]),
        # What one of several forms wants binds nobody.
        (
            "request/body/data must be string, request/body/data/tokn must be number, "
            "request/body/data must match a schema in anyOf",
            [("/body/data", "anyOf")],
        ),
        ("req.body.type is not a known type", [("/body/type", "")]),
        (
            'request.body.data is not allowed to have the additional property "tokn"',
            [("/body/data/tokn", "additionalProperties")],
        ),
        ('request.body.data requires property "token"', [("/body/data/token", "required")]),
        ("req.body.nodes[0].id is wrong", [("/body/nodes/0/id", "")]),
    ],
)
def test_each_sentence_is_read_at_its_place(message: str, wanted: list[tuple[str, str]]) -> None:
    errors = complete(Violation(message=message), REQUEST)
    assert [(one.pointer, one.constraint) for one in errors] == wanted
