"""Parts of suggestions: what is secret, the tests before an edit, parameters for readers without patches."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.engine.guarded_patch import PatchError
from corrigible.rules.pointer import MISSING
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import (
    ask,
    edit,
    effects,
    guarded_edit,
    guards,
    is_secret,
    merged,
)
from corrigible.schema.exchange import Request
from tests._support.rows import rows


@rows(
    ("pointer", "value", "secret"),
    [
        ("/body/password", "x", True),
        ("/body/passwd", "x", True),
        ("/body/passphrase", "x", True),
        ("/body/clientSecret", "x", True),
        ("/body/accessToken", "x", True),
        ("/body/credentials", "x", True),
        ("/body/cvc", "123", True),
        ("/body/card_pin", "x", True),
        ("/body/iban", "x", True),
        ("/body/privateKey", "x", True),
        ("/body/encryption_key_value", "x", True),
        ("/body/encrypted_note", "x", True),
        ("/headers/x-api-key", "x", True),
        ("/body/token/0", "x", True),
        ("/body/password", ["x"], True),
        ("/body/password", [1, "x"], True),
        ("/body/password", ["true", "off"], False),
        ("/body/password", [], False),
        ("/body/password", 5, False),
        ("/body/password", {"a": "x"}, False),
        *(("/body/token", switch, False) for switch in ("", "true", "No", "ON", "enabled", "disable")),
        ("/body/token/name", "x", False),
        ("/body/secret_scanning", "x", False),
        ("/body/opinion", "x", False),
        ("/body/key", "x", False),
    ],
)
def test_what_is_secret(pointer: str, value: Any, secret: bool) -> None:
    assert is_secret(pointer, value) is secret


BODY: dict[str, Any] = {
    "a": "x",
    "long": "x" * 257,
    "password": "p",
    "list": [
        {"note": "n", "long": "x" * 257, "name": "first"},
        {"note": "n", "long": "x" * 257},
        {"long": "x" * 257, "token": "t", "a/b": 1},
        {"long": "x" * 257},
        {},
        ["y"],
    ],
}
REQUEST = Request("POST", "/x", {"a": "q"}, body=BODY)


@rows(
    ("pointer", "old", "tests"),
    [
        ("/body/a", "x", [("/body/a", "x")]),
        ("/body/a", None, [("/body/a", None)]),
        ("/body/a", "x" * 256, [("/body/a", "x" * 256)]),
        ("/body/a", [1, "b"], [("/body/a", [1, "b"])]),
        ("/body/a", [[1]], []),
        ("/body/a", [{}], []),
        ("/body/a", ["x" * 300], []),
        ("/body/a", {}, []),
        ("/body/long", BODY["long"], []),
        ("/body/password", "p", []),
        ("/body/list/0/long", BODY["long"], [("/body/list/0/name", "first")]),
        ("/body/list/1/long", BODY["long"], [("/body/list/1/note", "n")]),
        ("/body/list/2/long", BODY["long"], [("/body/list/2/a~1b", 1)]),
        ("/body/list/4/long", BODY["long"], [("/body/list/4", {})]),
    ],
)
def test_tests_before_an_edit(pointer: str, old: Any, tests: list[tuple[str, Any]]) -> None:
    made = guards(REQUEST.document(), pointer, old)
    assert made == [{"op": "test", "path": path, "value": value} for path, value in tests]


@pytest.mark.parametrize("index", [3, 5])
def test_what_cannot_be_told_from_its_neighbours_is_not_edited(index: int) -> None:
    with pytest.raises(PatchError, match="has nothing to be told by"):
        guards(REQUEST.document(), f"/body/list/{index}/long", "x" * 257)


def put(path: str, value: Any = 1) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}


@rows(
    ("ops", "parameters"),
    [
        ([{"op": "test", "path": "/body/a", "value": "x"}, put("/body/a")], {"a": 1}),
        ([put("/body/b/c"), put("/body/b/d", None)], {"b": {"c": 1, "d": None}}),
        ([{"op": "remove", "path": "/body/a"}], {"a": None}),
        ([{"op": "move", "from": "/body/a", "path": "/body/b"}], {"a": None, "b": "x"}),
        ([{"op": "move", "from": "/body/list", "path": "/body/b"}], {}),
        ([put("/body/a"), put("/query/a")], {}),
        ([put("/body/list/0/a")], {}),
        ([put("/body/a", [1])], {}),
        ([put("/body/a", {})], {}),
        ([put("/body")], {}),
        ([put("/path", "/y")], {}),
    ],
)
def test_parameters(ops: list[dict[str, Any]], parameters: dict[str, Any]) -> None:
    assert merged(REQUEST, ops) == parameters


def test_parameters_go_into_the_query_where_no_body_is_usual() -> None:
    reading = Request("GET", "/x", {"a": "q"})
    assert merged(reading, [put("/query/a")]) == {"a": 1}
    assert merged(reading, [put("/body/a")]) == {}
    assert merged(Request("POST", "/x"), [put("/body/a")]) == {"a": 1}
    assert merged(Request("GET", "/x", body={}), [put("/body/a")]) == {"a": 1}


VIOLATION = SchemaViolation("/body/a", "enum", {"type": "string", "title": "x"})


def test_edits() -> None:
    plain = edit(VIOLATION, REQUEST, [put("/body/a")], "m")
    assert "verification" not in plain
    assert plain["safety"] == {"side_effects": "certain", "changes_intent": False}
    careful = edit(VIOLATION, REQUEST, [put("/method", "GET")], "m", requires_confirmation=True, verified=False)
    assert careful["safety"] == {"side_effects": "none", "changes_intent": False, "requires_confirmation": True}
    assert careful["verification"]["status"] == "unverified"
    other = {"op": "test", "path": "/method", "value": "GET"}
    assert edit(VIOLATION, REQUEST, [other], "m")["safety"]["side_effects"] == "certain"
    assert [effects(method) for method in ("GET", "HEAD", "OPTIONS", "POST")] == ["none", "none", "none", "certain"]


def test_questions() -> None:
    (asked,) = ask(VIOLATION, REQUEST, "m").suggestions
    assert asked["placeholders"] == [{"pointer": "/body/a", "ask": "user", "schema": {"type": "string"}}]
    (asked,) = ask(VIOLATION, REQUEST, "m", schema={}).suggestions
    assert asked["placeholders"] == [{"pointer": "/body/a", "ask": "user", "schema": {}}]
    (asked,) = ask(VIOLATION, Request("GET", "/x"), "m", places=[("/body/b", {"x": 1})]).suggestions
    assert asked["placeholders"] == [{"pointer": "/body/b", "ask": "user", "schema": {"x": 1}}]
    assert asked["safety"] == {"side_effects": "none", "changes_intent": False}


@rows(
    ("element", "tested"),
    [
        ({"label": {"alert": "disk"}}, ("/body/0/label/alert", "disk")),
        ({"spec": {"meta": {"deep": 1}, "name": "a"}}, ("/body/0/spec/name", "a")),
        ({"label": {}}, None),
        ({"secret": {"name": "hidden"}}, None),  # nothing of a secret is repeated
        ({"a": {"b": {"c": 1}}}, None),  # too far inside
        ({}, ("/body/0", {})),
    ],
)
def test_an_element_is_told_by_a_value_of_its_objects(element: Any, tested: tuple[str, Any] | None) -> None:
    request = Request("POST", "/alerts", body=[element])
    edit_of = {"op": "add", "path": "/body/0/new", "value": 1}
    if tested is None:
        with pytest.raises(PatchError):
            guarded_edit(request, "/body/0/new", MISSING, edit_of)
        return
    place, value = tested
    assert guarded_edit(request, "/body/0/new", MISSING, edit_of)[0] == {"op": "test", "path": place, "value": value}
