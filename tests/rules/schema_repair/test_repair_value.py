"""Repairs of one value: what is sent instead, and what that assumes."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from corrigible.rules.schema_repair.schema_violation import Place
from corrigible.rules.schema_repair.values import repair_value
from corrigible.schema.edit import same_json
from corrigible.schema.exchange import Json
from tests._support.counted import counted
from tests._support.rows import rows

INTEGER = {"type": "integer"}
TITLED = {"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}, "note": {}}}
LISTED = {
    "type": "object",
    "required": ["items"],
    "properties": {"items": {"type": "array", "items": {"type": "object"}}},
}
LIST = {"type": "array", "items": {"type": "integer"}}
TEXT = {"type": "string"}
ONLY = "another value was asked for, this is the one there is"


@rows(
    ("keyword", "value", "schema", "wanted"),
    [
        # Closed lists
        ("enum", "usx", {"enum": ["usd", "eur"]}, [("usd", "")]),
        ("enum", " usd ", {"enum": ["usd", "eur"]}, [("usd", "")]),
        ("enum", "u-s-d", {"enum": ["usd", "eur"]}, [("usd", "")]),
        ("enum", "red", {"enum": ["COLOR_RED", "COLOR_BLUE"], "x-prefix": "COLOR_"}, [("COLOR_RED", "")]),
        ("enum", "red", {"enum": ["COLOR_RED", "COLOR_BLUE"]}, [("COLOR_RED", "")]),
        ("enum", "read", {"enum": ["repo:read", "repo:write"]}, [("repo:read", "")]),
        ("enum", "red", {"enum": ["COLOR_RED", "PAINT_RED"]}, []),
        ("enum", "yes", {"enum": ["true", "false"]}, [("true", "")]),
        ("enum", "Off", {"enum": ["True", "False"]}, [("False", "")]),
        ("enum", "yes", {"enum": ["true", "false", "auto"]}, []),
        ("enum", "maybe", {"enum": ["true", "false"]}, []),
        ("enum", "md", {"enum": ["html", "markdown"]}, [("markdown", "")]),
        ("enum", "YAML", {"enum": ["json", "yml"]}, [("yml", "")]),
        ("enum", "doc", {"enum": ["html", "document-open"]}, []),
        ("enum", "ful", {"enum": ["careful", "careless"]}, []),
        ("enum", "size", {"enum": ["max_size"]}, []),
        ("enum", "A", {"enum": ["a", "a-"]}, [("a", "")]),
        ("enum", "A B", {"enum": ["a-b", "a_b"]}, [("a-b", ""), ("a_b", "")]),
        ("enum", "2", {"enum": [1, 2]}, [(2, "")]),
        # A number for a text whose example shows that it has another form
        ("type", 5, {"type": "string", "x-shaped": True}, []),
        ("enum", 5, {"enum": [1, 2]}, []),
        ("enum", ["usd"], {"enum": ["usd", "eur"]}, [("usd", "")]),
        ("enum", ["usd", "eur"], {"enum": ["usd", "eur"]}, []),
        ("enum", [["usd"]], {"enum": ["usd"]}, []),
        ("enum", {"a": 1}, {"enum": ["usd"]}, []),
        ("enum", None, {"enum": [None, "usd"]}, []),
        ("enum", "---", {"enum": ["", "usd"]}, []),
        ("enum", "by_customer", {"enum": ["requested_by_customer", "paid"]}, [("requested_by_customer", "")]),
        ("enum", "Yes", {"enum": ["true", "false"]}, [("true", "")]),
        ("enum", "off", {"enum": ["false", "true"]}, [("false", "")]),
        ("enum", "yes", {"enum": ["true", "false", "auto"]}, []),
        ("enum", "maybe", {"enum": ["true", "false"]}, []),
        ("const", "other", {"const": "line"}, [("line", ONLY)]),
        ("const", "lime", {"const": "line"}, [("line", "")]),
        ("const", 5, {"const": 7}, [(7, ONLY)]),
        ("const", True, {"const": "x"}, []),
        # Types
        ("type", " # 12 ", INTEGER, [(12, "")]),
        ("type", "12#", INTEGER, []),
        ("type", "#5.0", INTEGER, []),
        ("type", " ", TITLED, []),
        ("type", "xl", {"type": "object", "properties": {"name": TEXT, "unit": TEXT}}, []),
        ("type", "xl", {"type": "object", "properties": {"name": TEXT, "id": TEXT}}, []),
        ("type", "xl", {"type": "object", "properties": {"name": INTEGER}}, []),
        ("type", "xl", {"type": "object", "properties": {"name": TEXT}, "required": ["unit"]}, []),
        ("type", "ann", {"type": "object", "required": ["type"], "properties": {"type": {"type": "string"}}}, []),
        ("type", [1], {**TITLED, "required": ["n"], "properties": {"n": LIST}}, [({"n": [1]}, "")]),
        ("type", ["a"], {**TITLED, "required": ["n"], "properties": {"n": LIST}}, []),
        ("type", [1], {**TITLED, "required": ["n"], "properties": {"n": LIST, "m": LIST}}, []),
        ("type", [1], {**TITLED, "required": [], "properties": {"n": LIST}}, []),
        ("type", 5, TITLED, []),
        ("type", "T", {**TITLED, "required": ["title", "note"]}, []),
        ("type", "T", {**TITLED, "properties": {"title": {"type": ["string", "null"]}}}, []),
        ("type", "5.0", INTEGER, [(5, "")]),
        ("type", [5], INTEGER, [(5, "")]),
        ("type", ["5", "6", "7"], INTEGER, [(n, "one of the values is sent") for n in (5, 6, 7)]),
        ("type", ["5", "6", "7", "8"], INTEGER, []),
        ("type", ["5", "x"], INTEGER, []),
        ("type", [], INTEGER, []),
        ("type", "1.5", {"type": ["integer", "number"]}, [(1.5, "")]),
        ("type", "yes", {"type": "boolean"}, [(True, "")]),
        ("type", {"id": "i"}, {"type": "string"}, [("i", "the id of the object is sent in its place")]),
        ("type", {"id": 5}, {"type": "string"}, []),
        ("type", {"userId": "i"}, {"type": "string"}, [("i", "the id of the object is sent in its place")]),
        ("type", {"userId": "i", "n": 1}, {"type": "string"}, []),
        ("type", {"gt": "i"}, {"type": "string"}, []),
        ("type", None, {"type": "string"}, []),
        ("type", 5, {"type": "string", "format": "own"}, [("5", "")]),
        ("type", "[1]", LIST, [([1], "")]),
        ("type", 5, LIST, [([5], "")]),
        ("type", "5, 6,", LIST, [([5, 6], "")]),
        ("type", {"0": 5, "1": 6}, LIST, [([5, 6], "")]),
        ("type", {"1": 5}, LIST, []),
        ("type", {}, LIST, []),
        ("type", None, LIST, []),
        ("type", "a,b", {"type": "array"}, [(["a,b"], ""), (["a", "b"], "")]),
        ("type", 42, {"type": ["string", "array"]}, [("42", "")]),
        ("type", 42, {"type": ["string", "array"], "items": {"type": "integer"}}, [([42], "")]),
        ("type", '{"a": 1}', {"type": "object"}, [({"a": 1}, "")]),
        ("type", [{"a": 1}], {"type": "object"}, [({"a": 1}, "")]),
        ("type", [{"name": "a", "value": "b"}], {"type": "object"}, []),  # the map has a member `a`
        ("type", [{"a": 1}, {}], {"type": "object"}, []),
        ("type", [{"title": "x"}], LISTED, [({"items": [{"title": "x"}]}, "")]),  # and not its only element
        ("type", [{"items": []}], LISTED, [({"items": []}, "")]),
        ("type", ["x"], {"type": "object"}, []),
        # Texts
        ("maxLength", "abc  ", {"maxLength": 3}, [("abc", "")]),
        ("maxLength", "ab cd", {"maxLength": 3}, []),
        ("maxLength", "abcd", {"maxLength": 3, "pattern": "^[a-z]+$"}, []),
        ("maxLength", "abcd", {"maxLength": 0}, []),
        ("maxLength", "x" * 9000, {"maxLength": 1}, []),
        ("format", " a@b.co ", {"format": "email"}, [("a@b.co", "")]),
        ("format", " a ", {"format": 5}, []),
        ("pattern", "#ab", {"pattern": "^[a-z]+$"}, [("ab", "")]),
        ("pattern", "12-34", {"pattern": "^[0-9]+$"}, [("1234", "")]),
        ("pattern", "AB", {"pattern": "^[a-z]+$"}, [("ab", "upper and lower case change")]),
        ("pattern", "#AB", {"pattern": "^[a-z]+$"}, [("ab", "upper and lower case change")]),
        ("pattern", "#ab", {"pattern": "^[A-Z]+$"}, [("AB", "upper and lower case change")]),
        ("pattern", "a b", {"pattern": "^[a-z-]+$"}, [("a-b", "it becomes another name than was asked for")]),
        ("pattern", "A b", {"pattern": "^[a-z-]+$"}, [("a-b", "it becomes another name than was asked for")]),
        ("pattern", "A b", {"pattern": "^[a-z_]+$"}, [("a_b", "it becomes another name than was asked for")]),
        (
            "pattern",
            "x",
            {"pattern": "^a/b:.+$"},
            [("a/b:x", "the beginning that the pattern asks for is put before it")],
        ),
        (
            "pattern",
            "x",
            {"pattern": r"^refs\/.+$"},
            [("refs/x", "the beginning that the pattern asks for is put before it")],
        ),
        ("pattern", "{AB-" + 30 * "0" + "}", {"pattern": "^[0-9a-f]{32}$"}, [("ab" + 30 * "0", "")]),
        ("pattern", "AB" + 30 * "0", {"pattern": "^[0-9a-f]+$"}, [("ab" + 30 * "0", "upper and lower case change")]),
        ("pattern", "!", {"pattern": "^[a-z]+$"}, []),
        ("pattern", "", {"pattern": "^$|x"}, []),
        ("pattern", 5, {"pattern": "^[a-z]+$"}, []),
        ("unknown", "x", {}, []),
        ("type", "9" * 8193, INTEGER, []),
        ("type", [5] * 257, INTEGER, []),
    ],
)
def test_repairs(keyword: str, value: Any, schema: dict[str, Any], wanted: list[tuple[Any, str]]) -> None:
    made = repair_value(keyword, value, schema, Place())
    assert [(one.value, type(one.value), one.assumption) for one in made] == [(v, type(v), said) for v, said in wanted]


@rows(
    ("value", "properties", "wanted"),
    [
        ([1], {"n": LIST, "m": INTEGER}, [{"n": [1]}]),
        ([], {"n": LIST, "m": INTEGER}, []),
        (["a"], {"n": {"type": "array"}}, [{"n": ["a"]}]),
        (["a"], {"n": {"type": "array"}, "m": INTEGER}, []),
        ([1], {"n": {**LIST, "readOnly": True}, "m": INTEGER}, []),
        ([1], {"n": LIST, "m": LIST}, []),
    ],
)
def test_a_list_as_the_body_is_its_only_list(value: Any, properties: dict[str, Any], wanted: list[Any]) -> None:
    schema = {"type": "object", "properties": properties}
    assert [one.value for one in repair_value("type", value, schema, Place(whole=True))] == wanted
    assert repair_value("type", value, schema, Place()) == []


@rows(
    ("name", "keyword", "value", "schema", "wanted"),
    [
        ("amount", "type", "10.00", INTEGER, []),  # ten of what?
        ("value", "type", "10.00", INTEGER, []),
        ("unit_price", "type", "10.00", INTEGER, []),
        ("count", "type", "10.00", INTEGER, [10]),
        ("amount", "type", "10", INTEGER, [10]),
        ("owner", "type", {"name": "ann"}, {"type": "string"}, ["ann"]),
        ("owner", "type", {"key": "k"}, {"type": "string"}, []),  # what the text is a key of would be lost
        ("owner", "type", {"code": "k"}, {"type": "string"}, []),
        ("blob", "type", {"key": "k"}, {"type": "string"}, []),
        ("blob", "type", {"value": "k"}, {"type": "string"}, []),
        ("blob", "type", {"id": "k"}, {"type": "string"}, []),
        ("blob", "type", {"key": "k"}, {"type": "string", "contentMediaType": "application/json"}, ['{"key":"k"}']),
        ("path", "type", {"key": "k"}, {"type": "string", "description": "Where in the JSON it is."}, []),
        ("extra_json", "type", {"id": "i", "a": [1, 2.5]}, {"type": "string"}, ['{"id":"i","a":[1,2.5]}']),
        ("jsonPayload", "type", [1], {"type": "string"}, ["[1]"]),
        ("valuesJson", "type", {"a": 2**70}, {"type": "string"}, ['{"a":1180591620717411303424}']),
        ("extra_json", "type", {"a": "x" * 9000}, {"type": "string"}, []),
        ("jsonb", "type", {"a": 1}, {"type": "string"}, []),
    ],
)
def test_the_name_of_a_member_decides(
    name: str, keyword: str, value: Any, schema: dict[str, Any], wanted: list[Any]
) -> None:
    assert [one.value for one in repair_value(keyword, value, schema, Place(name))] == wanted


def test_where_a_list_cannot_be_told_from_a_value_none_is_made() -> None:
    assert repair_value("type", "5", LIST, Place(text=True, wraps=False)) == []


def test_each_repair_is_counted() -> None:
    assert counted(lambda: repair_value("type", "5", INTEGER, Place()))[1] >= 10


@rows("name", ["title", "pageTitle", "file_name", "message", "banner_text", "note_id", "customerId", ""])
def test_only_an_aside_is_cut(name: str) -> None:
    assert repair_value("maxLength", "a long title", {"maxLength": 6}, Place(name)) == []
    for aside in ("note", "orderNote", "short_description"):
        (cut,) = repair_value("maxLength", "a long title", {"maxLength": 6}, Place(aside))
        assert (cut.value, cut.assumption) == ("a long", "the text is cut to the length that is allowed")
    assert repair_value("maxLength", "abcd", {"maxLength": 3, "pattern": "^[a-z]+$"}, Place("note")) == []


@given(value=st.one_of(st.text(max_size=8), st.integers(), st.booleans(), st.lists(st.text(max_size=4), max_size=2)))
def test_no_repair_leaves_a_value_as_it_was(value: Json) -> None:
    for keyword in ("type", "enum", "format", "minimum", "maxLength"):
        for kind in ("string", "integer", "array", "boolean"):
            made = repair_value(keyword, value, {"type": kind, "maxLength": 3}, Place())
            assert not any(same_json(one.value, value) for one in made)
