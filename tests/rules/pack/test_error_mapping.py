"""Errors by the mapping of a pack: fields, lists, places, successes that are refusals."""

from __future__ import annotations

from typing import Any

from corrigible.rules.language.pack_model import ErrorText
from corrigible.rules.pack.error_mapping import ErrorMapping, compile_error
from tests._support.rows import rows


def mapping(**text: Any) -> ErrorMapping:
    return compile_error(ErrorText.model_validate(text))


@rows(
    ("code", "body", "read"),
    [
        ("/code", {"code": "a"}, "a"),
        ("/code", {"code": 12}, "12"),
        ("/code", {"code": True}, ""),
        ("/code", {"code": {"a": "b"}}, ""),
        ("/e/code", {"e": ["a"]}, ""),
        ("/e/0/code", {"e": [{"code": "a"}]}, "a"),
        ("/e/*/code", {"e": [{}, {"code": ""}, {"code": "a"}, {"code": "b"}]}, "a"),
        ("/e/*/code", {"e": {"code": "a"}}, "a"),
        ("/Error/Code", {"error": {"code": "a"}}, "a"),
        ("/a~1b", {"a/b": "a"}, "a"),
        ("/message", {"message": ["a", "b"]}, "a"),
        (["/x", "/y"], {"y": "a"}, "a"),
        ({"pointer": "/__type", "after": "#"}, {"__type": "com.aws#a"}, "a"),
        ({"pointer": "/__type", "after": "#"}, {"__type": "a"}, "a"),
        ({"pointer": "/c", "before": ":"}, {"c": "a:http://x"}, "a"),
        ({"pointer": "/c", "strip_prefix": "ERR_"}, {"c": "ERR_a"}, "a"),
        ({"header": "X-Error", "before": ":"}, {}, "h"),
    ],
)
def test_a_field(code: Any, body: Any, read: str) -> None:
    errors = mapping(code=code).errors(body, {"x-error": "h:1"})
    assert [one.code for one in errors] == ([read] if read else [])


@rows(
    ("style", "root", "told", "pointer"),
    [
        ("dotted", "/body", "items[0].name", "/body/items/0/name"),
        ("dotted", "/body", "$.items.0", "/body/items/0"),
        ("dotted", "/query", "page", "/query/page"),
        ("pointer", "/body", "/items/0/a~1b", "/body/items/0/a~1b"),
        ("pointer", "/body", "#/a.b", "/body/a.b"),
        ("pointer", "/body", "name", "/body/name"),
        ("bracketed", "/body/data", "items[0][name]", "/body/data/items/0/name"),
        ("dotted", "/body", "", ""),
    ],
)
def test_a_place(style: str, root: str, told: str, pointer: str) -> None:
    (error,) = mapping(code="/c", place="/p", style=style, place_root=root).errors({"c": "x", "p": told}, {})
    assert error.pointer == pointer


def test_a_list_of_errors_has_what_is_said_of_all() -> None:
    read = mapping(code="/code", message="/text", details={"each": "/fields/*", "message": "/why", "place": "/name"})
    body = {"code": "INVALID", "text": "all", "fields": [{"name": "a", "why": "bad"}, {"name": "b"}, {}, 3]}
    assert [(one.code, one.message, one.pointer) for one in read.errors(body, {})] == [
        ("INVALID", "bad", "/body/a"),
        ("INVALID", "all", "/body/b"),
    ]
    assert [(one.code, one.message) for one in read.errors({"code": "NO", "fields": []}, {})] == [("NO", "")]
    assert read.errors({"detail": "another shape"}, {}) == []


def test_a_list_of_texts() -> None:
    read = mapping(details={"each": "/errors/*", "message": ""})
    assert [one.message for one in read.errors({"errors": ["a", "b"]}, {})] == ["a", "b"]


def test_few_of_many_errors_are_read() -> None:
    read = mapping(details={"each": "/errors/*", "message": ""})
    assert len(read.errors({"errors": ["a"] * 10_000}, {})) == 64


@rows(
    ("condition", "body", "refuses"),
    [
        ({"equals": False}, {"ok": False}, True),
        ({"equals": False}, {"ok": True}, False),
        ({"equals": False}, {"ok": 0}, False),
        ({"equals": 0}, {"ok": False}, False),
        ({"equals": False}, {}, False),
        ({"equals": False}, None, False),
        ({"equals": None}, {"ok": None}, True),
        ({"exists": True}, {"ok": {"code": 1}}, True),
        ({"exists": True}, {"ok": None}, False),
        ({"exists": True}, {}, False),
        ({"equals": False, "pointer": ["/ok", "/done"]}, {"ok": True, "done": False}, True),
        ({"equals": False, "pointer": ["/ok", "/done"]}, {"ok": True, "done": True}, False),
        ({"equals": False, "pointer": "/each/*/ok"}, {"each": [{"ok": True}, {"ok": False}]}, True),
        ({"equals": False, "pointer": "/each/*/ok"}, {"each": [{"ok": True}, None, {}]}, False),
        ({"equals": False, "pointer": "/each/*/ok"}, {"each": [{"ok": True}] * 64 + [{"ok": False}]}, False),
        ({"exists": True, "pointer": "/errors/*"}, {"errors": []}, False),
        ({"exists": True, "pointer": "/errors/*"}, {"errors": [{}]}, True),
    ],
)
def test_a_success_that_is_a_refusal(condition: dict[str, Any], body: Any, refuses: bool) -> None:
    read = mapping(refused={"operations": "Post", "pointer": "/ok", **condition})
    assert read.refuses("Post", body) is refuses
    assert read.refuses("Other", body) is False
    assert read.refusing_operations == {"Post"}
