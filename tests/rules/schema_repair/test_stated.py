"""What a server says about a place of the request beats what the description says of it."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.pointer import MISSING
from corrigible.rules.schema_repair.declared_place import DeclaredPlace
from corrigible.rules.schema_repair.stated import stated_violation
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Request

TEXT = DeclaredPlace({"type": "string"}, ("kind", "name"))
REQUEST = Request("POST", "/jobs", query={"limit": "500"}, body={"kind": "imports", "size": 500, "note": "", "n": None})


@pytest.mark.parametrize(
    ("pointer", "constraint", "stated", "keyword"),
    [
        ("/body/kind", "", {"enum": ["import", "export"]}, "enum"),
        ("/body/kind", "enum", {"enum": ["import", "export"]}, "enum"),
        ("/body/size", "", {"maximum": 200}, "maximum"),
        ("/body/size", "type", {"type": "string"}, "type"),
        ("/query/limit", "", {"maximum": 200}, "maximum"),
        ("/query/limit", "", {"type": "integer"}, None),  # a text that is an integer is one in a query
        ("/body/kind", "", {"maxLength": 20}, None),
        ("/body/kind", "maxLength", {"maxLength": 20}, "maxLength"),  # the server counts in another way
        ("/body/kind", "pattern", {}, None),
        ("/body/colour", "", {"enum": ["red"]}, None),
        ("/body/colour", "required", {}, "required"),
        ("/body/note", "required", {}, "blank"),
        ("/body/n", "required", {}, "blank"),
        ("/body/kind", "required", {}, None),
        ("/path", "", {"enum": ["a"]}, None),
        ("", "", {"enum": ["a"]}, None),
    ],
)
def test_the_keyword_of_what_a_server_says(
    pointer: str, constraint: str, stated: dict[str, Any], keyword: str | None
) -> None:
    violation = stated_violation(Violation(pointer=pointer, constraint=constraint, stated=stated), REQUEST, TEXT)
    assert (None if violation is None else violation.keyword) == keyword
    assert violation is None or violation.pointer == pointer


@pytest.mark.parametrize(
    ("declared", "stated", "joined"),
    [
        ({"type": "string", "enum": ["a"]}, {"enum": ["b", "c"]}, {"type": "string", "enum": ["b", "c"]}),
        ({"type": "integer", "minimum": 1}, {"maximum": 200}, {"type": "integer", "minimum": 1, "maximum": 200}),
        ({"type": "object", "properties": {}}, {"type": "string"}, {"type": "string"}),
        ({"anyOf": [{"type": "integer"}]}, {"type": "string"}, {"type": "string"}),
        ({"type": "string", "pattern": "^x$"}, {"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"type": "integer"}, {"enum": ["a", "b"]}, {"enum": ["a", "b"]}),
        ({}, {"enum": ["a", "b"]}, {"enum": ["a", "b"]}),
    ],
)
def test_where_the_two_disagree_the_server_is_right(declared: Any, stated: Any, joined: Any) -> None:
    error = Violation(pointer="/body/n", constraint=next(iter(stated)), stated=stated)
    violation = stated_violation(error, REQUEST, DeclaredPlace(declared))
    assert violation is not None
    assert violation.schema == joined


def test_what_is_missing_keeps_what_is_declared_there() -> None:
    declared = DeclaredPlace({"type": "string"}, ("kind", "colour"), {"type": "object"})
    violation = stated_violation(Violation(pointer="/body/colour", constraint="required"), REQUEST, declared)
    assert violation is not None
    assert (violation.schema, violation.value, violation.siblings) == ({"type": "string"}, MISSING, declared.siblings)
    assert violation.around == {"type": "object"}


@pytest.mark.parametrize("stated", [{"enum": ["kinds", "size"]}, {"propertyNames": {"enum": ["kinds", "size"]}}])
def test_an_unknown_member_comes_with_the_names_that_the_server_knows(stated: dict[str, Any]) -> None:
    around = {"type": "object", "properties": {"kind": {}, "size": {"type": "integer"}}}
    error = Violation(pointer="/body/kind", constraint="additionalProperties", stated=stated)
    violation = stated_violation(error, REQUEST, DeclaredPlace({}, ("kind", "size"), around))
    assert violation is not None
    assert violation.siblings == ("kinds", "size")
    assert violation.schema["properties"] == {"kinds": {}, "size": {"type": "integer"}}


def test_an_unknown_member_without_such_names_is_left_to_the_description() -> None:
    error = Violation(pointer="/body/kind", constraint="additionalProperties", stated={})
    assert stated_violation(error, REQUEST, TEXT) is None
