"""Whether a value fits a schema, and the first keyword it breaks."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from corrigible.rules.schema_repair.first_violation import compile_validator, first_violation, is_fully_checked
from corrigible.rules.schema_repair.repair import repair
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import parse
from corrigible.schema.reader import Next, apply
from corrigible.schema.writer import validate
from tests._support.rows import rows

VALUES: list[Json] = [
    *(None, True, False, 0, 1, -1, 5, 5.0, 2.5, 250, 1772618400, 10**30),
    *("", "a", "5", " 5 ", "5.0", "1e3", "007", "true", "Yes", "maybe", "open", "opened", "Open", "OPEN ", "#a1b2c3"),
    *("2026-03-04", "2026/03/04", "03/04/2026", "2026-03-04 10:00", "2026-03-04T10:00:00Z", "x@y.io", " x@y.io"),
    *("example.com/a", "https://x.io", "a,b", "1,2", "[1]", '{"a": 1}', "hello world", "x" * 300),
    *([], [1], ["1"], ["a", "a"], [1, 1.0], ["a", "b", "c", "d"], [{"a": 1}, {"a": 1}], [[1]]),
    *({}, {"a": 1}, {"a": "x"}, {"id": "i1"}, {"0": "a"}, {"b": None}),
]
SCHEMAS: list[dict[str, Json]] = [
    *({"type": kind} for kind in ("string", "integer", "number", "boolean", "array", "object", "null")),
    {"type": ["string", "null"], "maxLength": 3},
    {"type": ["integer", "null"], "minimum": 1, "maximum": 100},
    {"enum": ["open", "closed", "half-open"]},
    {"enum": [1, 2, None]},
    {"const": "open"},
    {"type": "integer", "exclusiveMinimum": 0, "multipleOf": 5},
    {"type": "number", "exclusiveMaximum": 2.5},
    {"type": "string", "minLength": 2, "maxLength": 6},
    {"type": "string", "pattern": "^[a-z]{1,4}$"},
    {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3},
    {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "uniqueItems": True},
    {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}, "additionalProperties": False},
    {"type": "object", "additionalProperties": {"type": "string"}},
    {"anyOf": [{"type": "integer"}, {"type": "string", "enum": ["open"]}]},
    {"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 5}]},
    {"allOf": [{"type": "string"}, {"maxLength": 4}]},
]
FORMATS = ["date", "date-time", "uuid", "email", "uri", "hostname", "ipv4", "ipv6", "byte"]


@rows("schema", SCHEMAS, ids=str)
def test_it_agrees_with_a_whole_validator(schema: dict[str, Json]) -> None:
    validator = Draft202012Validator(schema)
    assert is_fully_checked(schema)
    for value in VALUES:
        assert (first_violation(value, schema) is None) == validator.is_valid(value), value


@rows("form", [False, True])
@rows("schema", [*SCHEMAS, *({"type": "string", "format": name} for name in FORMATS)], ids=str)
def test_whatever_is_repaired_fits_and_whatever_is_said_is_sound(schema: dict[str, Json], form: bool) -> None:
    for value in VALUES:
        keyword = first_violation(value, schema, text=form)
        if keyword in (None, "items", "properties", "required", "additionalProperties"):
            continue  # a description names the place further in
        assert keyword is not None
        request = Request("POST", "/things", body={"list": [{"a": value, "name": "n"}]}, form=form)
        place = "/body/list/0/a"
        said = repair(SchemaViolation(place, keyword, schema, value), request, "1.")
        if said is None:
            continue
        wire = {
            "schema": "self-reflective-api/0.1",
            "type": said.type,
            "message": said.diagnosis,
            "recovery": said.recovery,
            "suggestions": list(said.suggestions),
        }
        validate(parse(wire))
        outcome = apply(wire, request)
        if isinstance(outcome, Next) and "a" in outcome.request.body["list"][0]:  # a null is left out
            sent = outcome.request.body["list"][0]["a"]
            assert first_violation(sent, schema, text=form) in (None, "items"), (value, sent)


@rows(
    ("value", "schema", "text", "keyword"),
    [
        ("5", {"type": "integer"}, True, None),
        ("5", {"type": "integer"}, False, "type"),
        ("05", {"type": "integer"}, True, "type"),
        ("true", {"type": "boolean"}, True, None),
        ("True", {"type": "boolean"}, True, "type"),
        ("", {"type": ["integer", "null"]}, True, None),
        ("500", {"type": "integer", "maximum": 100}, True, "maximum"),
        ("500", {"type": "string", "maximum": 100}, True, None),
        ("2", {"enum": [1, 2]}, True, None),
        (5, {"type": "string"}, True, None),
        (True, {"type": "string", "enum": ["true"]}, True, None),
        (5, {"type": ["integer", "string"]}, True, None),
        (5, {"type": "boolean"}, True, "type"),
        ("x", {"enum": ["y"], "type": "integer"}, False, "type"),
        ("xx", {"enum": ["y"], "maxLength": 1}, False, "enum"),
        ({"a": ["5"]}, {"properties": {"a": {"items": {"type": "integer"}}}}, True, None),
        ({"a": ["5"]}, {"properties": {"a": {"items": {"type": "integer"}}}}, False, "properties"),
        (0.3, {"multipleOf": 0.1}, False, None),
        ("x", {"format": "date"}, False, "format"),
        ("x", {"format": "own"}, False, None),
        ("x", {"pattern": "(?=x)y"}, False, "pattern"),
        ("x", {"pattern": "("}, False, None),
        ("1e99999", {"type": "string", "multipleOf": 5}, True, None),
        (10**30 + 1, {"multipleOf": 5}, False, "multipleOf"),
    ],
)
def test_the_first_keyword_that_is_broken(value: Json, schema: dict[str, Any], text: bool, keyword: str | None) -> None:
    assert first_violation(value, schema, text=text) == keyword


@rows(
    "schema",
    [
        {"format": "own"},
        {"properties": {"format": {"items": {"format": "own"}}}},
        {"anyOf": [{"$ref": "#/x"}]},
        {"pattern": "("},
        {"formatMaximum": "3s"},
        {"minimum": 5, "exclusiveMinimum": True},
    ],
)
def test_what_is_not_looked_at_is_not_judged(schema: dict[str, Json]) -> None:
    assert not is_fully_checked(schema)


@rows(
    "name",
    [
        *("int32", "int64", "float", "double", "decimal", "unix-time", "password", "time", "duration", "regex"),
        *("json-pointer", "relative-json-pointer", "idn-email", "idn-hostname", "uri-reference", "uri-template"),
        *("iri", "iri-reference", "date", "uuid", "byte", "tuuid"),
    ],
)
def test_formats_that_are_looked_at(name: str) -> None:
    assert is_fully_checked({"anyOf": [{"format": name}]})
    assert is_fully_checked({"enum": [{"format": "own"}], "const": {"format": "own"}, "default": {"format": "own"}})


def test_formats_are_as_they_are_known_here() -> None:
    assert first_violation("550e8400e29b41d4a716446655440000", {"format": "uuid"}) == "format"
    assert first_violation("a@b", {"format": "email"}) is None
    assert first_violation("zz", {"format": "tuuid"}) == "format"


@pytest.mark.parametrize("pattern", ["a{,}", "^\\{\\}$", "a{0}b{2,}", "x"])
def test_a_count_of_any_form_is_weighed(pattern: str) -> None:
    """A schema that ends with braces (`"default": {}`) has a count without numbers, for who looks for counts."""
    schema: dict[str, Json] = {"type": "object", "properties": {"a": {"pattern": pattern, "default": {}}}}
    assert first_violation({"a": 1}, schema) is None
    assert first_violation([], schema) in ("type", None)


def test_no_message_has_a_copy_of_a_long_value() -> None:
    schema = {"anyOf": [{"enum": [str(number)]} for number in range(3)]}
    (error,) = compile_validator(schema).iter_errors("x" * 10_000)
    assert len(error.message) < 1_000
