"""Paths and methods that no operation has."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.schema_repair.repair import repair
from corrigible.rules.schema_repair.route import schema_of_path, with_segment
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import Repair
from corrigible.schema.exchange import Request
from corrigible.schema.reader import NeedsInput, Next, apply
from tests._support.repaired import agrees
from tests._support.rows import rows


def path(request: Request, *offered: str) -> Repair | None:
    return repair(SchemaViolation("/path", "path", {"enum": list(offered)}, request.path), request, "1.")


def method(request: Request, *offered: str) -> Repair | None:
    return repair(SchemaViolation("/method", "method", {"enum": list(offered)}, request.method), request, "1.")


def after(said: Repair | None, request: Request) -> tuple[str, str] | None:
    """Return the method and path of the next request, None where the caller is asked."""
    assert said is not None
    wire = {"type": said.type, "message": "", "recovery": said.recovery, "suggestions": list(said.suggestions)}
    match apply(wire, request, confirm=agrees):
        case Next(request=following):
            return following.method, following.path
        case NeedsInput():
            return None
        case terminal:
            raise AssertionError(terminal)


@rows(
    ("sent", "offered"),
    [
        ("/repos/o/r/pull", "/repos/o/r/pulls"),
        ("/repos/o/r/check_runs/1", "/repos/o/r/check-runs/1"),
        ("/customers", "/v1/customers"),
        ("/repos/o/r/", "/repos/o/r"),
        ("/v1/refund", "/v1/refunds"),  # no gRPC method, though it looks like one
        ("/user/repo", "/user/repos"),
    ],
)
def test_a_misspelt_path_is_repaired(sent: str, offered: str) -> None:
    request = Request("GET", sent)
    said = path(request, offered)
    assert after(said, request) == ("GET", offered)
    assert said is not None
    assert said.suggestions[0]["action"] == "USE_ALTERNATIVE_ENDPOINT"
    assert said.suggestions[0]["safety"] == {"side_effects": "none", "changes_intent": False}


@pytest.mark.parametrize(
    ("sent", "offered"),
    [
        ("/customers/c/sources/s", "/customers/c"),  # a deletion of more than was meant
        ("/orgs/acme/issues", "/issues"),
        ("/things/7/parts", "/things/8/parts"),
        ("/foo", "/bar"),
    ],
)
def test_a_path_that_names_something_else_is_only_offered(sent: str, offered: str) -> None:
    request = Request("DELETE", sent)
    said = path(request, offered)
    assert after(said, request) is None
    assert said is not None
    assert said.suggestions[0]["safety"]["requires_confirmation"] is True


def test_of_two_near_paths_the_caller_picks() -> None:
    request = Request("GET", "/x/pulss")
    said = path(request, "/x/pulls", "/x/pulse")
    assert after(said, request) is None
    assert said is not None
    assert [s["patch"][-1]["value"] for s in said.suggestions] == ["/x/pulls", "/x/pulse"]


def test_a_value_of_a_path_is_asked_for_within_its_path() -> None:
    request = Request("GET", "/repos/o/r.x/pulls/abc")
    said = repair(SchemaViolation("/path", "type", {"type": "integer"}, "abc"), request, "1.")
    assert said is not None
    assert said.suggestions[0]["placeholders"] == [
        {
            "pointer": "/path",
            "ask": "user",
            "schema": {"type": "string", "pattern": r"^/repos/o/r\.x/pulls/-?[0-9]+$"},
        }
    ]


def test_nothing_is_offered_where_nothing_is_near() -> None:
    assert path(Request("GET", "/x")) is None


@pytest.mark.parametrize(
    ("sent", "offered", "wanted"),
    [
        ("PUT", ("GET", "PATCH", "DELETE"), "PATCH"),
        ("POST", ("GET", "PUT"), "PUT"),
        ("PATCH", ("GET", "POST"), "POST"),
    ],
)
def test_the_only_method_that_writes_is_meant(sent: str, offered: tuple[str, ...], wanted: str) -> None:
    request = Request(sent, "/x", body={"a": 1})
    said = method(request, *offered)
    assert after(said, request) == (wanted, "/x")
    assert said is not None
    assert said.suggestions[0]["safety"] == {"side_effects": "certain", "changes_intent": True}


@pytest.mark.parametrize(
    ("sent", "offered"),
    [("PATCH", ("GET", "PUT")), ("PUT", ("POST", "PATCH")), ("GET", ("POST", "DELETE"))],
    ids=["a part would replace the whole", "two", "reading by a call that may write"],
)
def test_another_method_is_only_offered(sent: str, offered: tuple[str, ...]) -> None:
    request = Request(sent, "/x", body=None if sent == "GET" else {"a": 1})
    said = method(request, *offered)
    assert after(said, request) is None
    assert said is not None
    assert "DELETE" not in [s["patch"][-1]["value"] for s in said.suggestions]


@pytest.mark.parametrize(("offered", "steps"), [(("GET", "PUT"), [{"method": "GET", "path": "/x"}]), (("PUT",), None)])
def test_before_a_whole_is_replaced_it_is_read_where_it_can_be(offered: tuple[str, ...], steps: Any) -> None:
    said = method(Request("PATCH", "/x", body={"a": 1}), *offered)
    assert said is not None
    (suggestion,) = said.suggestions
    assert (suggestion["applicability"], suggestion.get("steps")) == ("HAS_PLACEHOLDERS", steps)
    assert ("read it first" in suggestion["message"]) is (steps is not None)


@pytest.mark.parametrize(
    ("sent", "offered"),
    [("POST", ("GET", "HEAD")), ("DELETE", ("GET", "PATCH")), ("GET", ("PATCH", "DELETE"))],
)
def test_what_the_path_cannot_do_another_may(sent: str, offered: tuple[str, ...]) -> None:
    said = method(Request(sent, "/x"), *offered)
    assert said is not None
    assert said.recovery == "correctable"
    assert [(s["action"], [p["pointer"] for p in s["placeholders"]]) for s in said.suggestions] == [
        ("MODIFY_PARAMS", ["/path"])
    ]


def test_a_parameter_of_the_path_is_repaired_in_its_segment() -> None:
    request = Request("PATCH", "/repos/o/r/issues/%2312", body={})
    said = repair(SchemaViolation("/path", "type", {"type": "integer"}, "#12"), request, "1.")
    assert after(said, request) == ("PATCH", "/repos/o/r/issues/12")


@pytest.mark.parametrize("place", ["/repos/o/r/issues/abc", "/things/%2312/%2312"])
def test_a_parameter_of_the_path_is_asked_for(place: str) -> None:
    request = Request("PATCH", place, body={})
    value = "#12" if "%23" in place else "abc"
    said = repair(SchemaViolation("/path", "type", {"type": "integer"}, value), request, "1.")
    assert said is not None
    assert [p["pointer"] for p in said.suggestions[0]["placeholders"]] == ["/path"]


@rows(
    ("sent", "offered", "near"),
    [
        ("/api/things", "/things", True),
        ("/rest/api/v2/things", "/things", True),
        ("/v1.1-beta/things", "/things", True),
        ("/things", "/api/things", True),
        ("/other/things", "/things", False),
        ("/things/v1", "/things", False),
        ("/api/v1/things", "/api/things", True),
        ("/api/v1/things", "/v2/things", False),
        ("/shops/v1/things", "/shops/things", False),
        ("/v1", "/v2", False),
        ("/a/thing/b", "/a/things/b", True),
        ("/a/thing/b", "/a/things/c", False),
    ],
)
def test_what_is_the_same_path_but_for_a_slip(sent: str, offered: str, near: bool) -> None:
    repaired = path(Request("GET", sent), offered)
    assert repaired is not None
    assert repaired.suggestions[0]["safety"]["changes_intent"] is not near


def test_the_sure_path_comes_first_of_five() -> None:
    others = [f"/far{number}" for number in range(6)]
    repaired = path(Request("GET", "/thing"), *others, "/things", "/thingx")
    assert repaired is not None
    assert [one["patch"][-1]["value"] for one in repaired.suggestions] == ["/things", "/thingx", *others[:3]]
    assert all(one["safety"]["changes_intent"] for one in repaired.suggestions)


def test_the_path_that_was_sent_is_not_offered() -> None:
    assert path(Request("GET", "/things"), "/things") is None
    only = path(Request("GET", "/thing"), "/thing", "/things")
    assert only is not None
    assert "group" not in only.suggestions[0]


@rows(
    ("place", "old", "new", "wanted"),
    [
        ("/a/b/c", "b", "x", "/a/x/c"),
        ("/a/b/c", "c", "x y/z", "/a/b/x%20y%2Fz"),
        ("/a/b", "b", "!$&'()*+,;=:@~", "/a/!$&'()*+,;=:@~"),
        ("/a%20b/c", "a b", "x", "/x/c"),
        ("/a/7.json", "7", "x/y", "/a/x%2Fy.json"),
        ("/a/7.json", "7.json", "8.json", "/a/8.json"),
        ("/7/7.json", "7", "x", "/x/7.json"),
        ("/a/v1.0", "v1", "x", None),
        ("/orders(shop='a',number=7)", "7", "8", "/orders(shop='a',number=8)"),
        ("/orders(shop='a',number=7)", "a", "b", "/orders(shop='b',number=7)"),
        ("/ordres('a')/lines", "ordres", "orders", "/orders('a')/lines"),
        ("/orders(%27a%27)", "a", "b", "/orders(%27b%27)"),
        ("/orders(shop='a',number='a')", "a", "b", None),
        ("/a/a", "a", "x", None),
        ("/a/b", "c", "x", None),
    ],
)
def test_a_path_with_another_segment(place: str, old: str, new: str, wanted: str | None) -> None:
    assert with_segment(place, old, new) == wanted


@pytest.mark.parametrize(
    ("place", "old", "schema", "pattern"),
    [
        ("/a/b/c", "b", {"type": "integer"}, "^/a/-?[0-9]+/c$"),
        ("/a.b/c", "c", {"type": ["integer", "null"]}, r"^/a\.b/[^/]+$"),
        ("/a/7.json", "7", {"type": "integer"}, r"^/a/-?[0-9]+\.json$"),
        ("/a/b", "x", {}, None),
    ],
)
def test_the_schema_of_a_path(place: str, old: str, schema: dict[str, object], pattern: str | None) -> None:
    wanted = {"type": "string"} if pattern is None else {"type": "string", "pattern": pattern}
    assert schema_of_path(place, old, schema) == wanted


@pytest.mark.parametrize(
    ("place", "intent"),
    [
        ("/things/search", True),
        ("/things:query", True),
        ("/things/listOrders", True),
        ("/things/make", None),
        ("/", None),
    ],
)
def test_a_read_that_only_post_does(place: str, intent: bool | None) -> None:
    repaired = method(Request("GET", place), "POST")
    assert repaired is not None
    assert ("group" not in repaired.suggestions[0]) is (intent is True)
    assert repaired.suggestions[0]["safety"] == {"side_effects": "certain", "changes_intent": True}


def test_methods_of_grpc() -> None:
    request = Request("/shop.v1.Store/Gt", "", body={})
    offered = [f"/shop.v1.Store/Get{number}" for number in range(6)]
    repaired = method(request, *offered)
    assert repaired is not None
    assert [one["patch"][-1]["value"] for one in repaired.suggestions] == offered[:5]
    assert all(one["safety"]["changes_intent"] for one in repaired.suggestions)
    assert method(request) is None


def test_a_method_that_deletes_is_confirmed() -> None:
    for sent, other, asks in (("PUT", "POST", False), ("PUT", "PATCH", False)):
        repaired = method(Request(sent, "/x"), other)
        assert repaired is not None
        assert ("requires_confirmation" in repaired.suggestions[0]["safety"]) is asks
    repaired = method(Request("/shop.v1.Store/Rmove", "", body={}), "/shop.v1.Store/Remove")
    assert repaired is not None
    assert repaired.suggestions[0]["safety"]["requires_confirmation"] is True


def test_another_path_is_asked_for_where_no_method_of_this_one_is_meant() -> None:
    repaired = method(Request("DELETE", "/x"), "get", "patch")
    assert repaired is not None
    assert repaired.suggestions[0]["placeholders"][0]["schema"] == {"type": "string", "pattern": "^/"}
    assert method(Request("DELETE", "/x")) is None
    lower = method(Request("PUT", "/x"), "put", "patch")
    assert after(lower, Request("PUT", "/x")) == ("PATCH", "/x")


def test_the_only_path_that_is_known_is_another_intent() -> None:
    for method in ("GET", "POST"):
        only = path(Request(method, "/cards"), "/gift_cards")
        assert only is not None
        assert only.type == "recovery_guidance"
        assert only.suggestions[0]["safety"]["changes_intent"] is True
        assert only.suggestions[0]["safety"]["requires_confirmation"] is True
    several = path(Request("GET", "/cards"), "/gift_cards", "/score_cards")
    assert several is not None
    assert several.type == "intent_disambiguation"
