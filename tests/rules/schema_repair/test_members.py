"""Members that are missing, misspelt or unknown: what is added, renamed or dropped, and what is asked."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.schema_repair.names import is_nought, may_limit
from corrigible.schema.exchange import Json, Request
from corrigible.schema.reader import NeedsInput, Next
from tests._support.repaired import follow, post, said, sent
from tests._support.rows import rows


def test_what_is_missing_and_settled_is_added() -> None:
    request = post({"name": "n"})
    for schema, wanted in (({"default": True}, True), ({"const": "line"}, "line"), ({"enum": ["x"]}, "x")):
        outcome = follow(said("/body/kind", "required", schema, request), request)
        assert isinstance(outcome, Next)
        assert outcome.request.body == {"name": "n", "kind": wanted}


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_null_is_left_out_of_what_is_sent_whole(method: str) -> None:
    request = Request(method, "/things", body={"name": "n", "note": None})
    repaired = said("/body/note", "type", {"type": "string"}, request)
    left_out, asked = repaired.suggestions
    assert left_out["safety"]["changes_intent"] is True
    assert left_out["group"] == asked["group"] == {"id": "1.1", "relation": "one_of"}
    assert [p["pointer"] for p in asked["placeholders"]] == ["/body/note"]
    outcome = follow(repaired, request)
    assert isinstance(outcome, Next)
    assert outcome.request.body == {"name": "n"}


@pytest.mark.parametrize(
    ("request_", "pointer"),
    [
        (Request("PATCH", "/things/7", body={"note": None}), "/body/note"),
        (Request("POST", "/things", body={"notes": ["a", None]}), "/body/notes/1"),
        (Request("POST", "/refunds", body={"charge": "c", "amount": None}), "/body/amount"),
    ],
    ids=["null clears", "an element", "a limit"],
)
def test_elsewhere_null_is_asked_about(request_: Request, pointer: str) -> None:
    outcome = follow(said(pointer, "type", {"type": "string"}, request_), request_)
    assert isinstance(outcome, NeedsInput)
    assert [p.pointer for p in outcome.placeholders] == [pointer]


@pytest.mark.parametrize(
    ("method", "name", "asks"),
    [("POST", "coupon", False), ("PUT", "coupon", False), ("PATCH", "coupon", True), ("POST", "max_amount", True)],
)
def test_an_unknown_member_that_is_null_says_nothing(method: str, name: str, asks: bool) -> None:
    request = Request(method, "/things", body={"name": "n", name: None})
    repaired = said(f"/body/{name}", "additionalProperties", {}, request, siblings=("name",))
    outcome = follow(repaired, request)
    if asks:
        assert isinstance(outcome, NeedsInput)
    else:
        assert repaired.suggestions[0]["safety"]["changes_intent"] is False
        assert isinstance(outcome, Next)
        assert outcome.request.body == {"name": "n"}


def test_a_default_against_its_own_schema_is_not_sent() -> None:
    repaired = said("/body/kind", "required", {"type": "integer", "default": "none"}, post({}))
    assert repaired.suggestions[0]["applicability"] == "HAS_PLACEHOLDERS"


def test_the_object_around_it_is_added_too() -> None:
    request = post({"name": "n"})
    outcome = follow(said("/body/a/b/kind", "required", {"const": "x"}, request), request)
    assert isinstance(outcome, Next)
    assert outcome.request.body == {"name": "n", "a": {"b": {"kind": "x"}}}


def test_a_member_of_an_element_is_added_after_a_test() -> None:
    request = post({"items": [{"name": "a"}, {"name": "b"}]})
    (suggestion,) = said("/body/items/1/kind", "required", {"default": "x"}, request).suggestions
    assert suggestion["patch"] == [
        {"op": "test", "path": "/body/items/1/name", "value": "b"},
        {"op": "add", "path": "/body/items/1/kind", "value": "x"},
    ]


def test_a_header_is_added_as_text() -> None:
    request = post({})
    outcome = follow(said("/headers/x-version", "required", {"type": "integer", "default": 2}, request), request)
    assert isinstance(outcome, Next)
    assert outcome.request.headers == {"x-version": "2"}


def test_a_body_that_is_missing_is_asked_for_with_its_schema() -> None:
    schema = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "title": "x"}}}
    (suggestion,) = said("/body", "required", schema, post(None)).suggestions
    assert suggestion["placeholders"] == [
        {"pointer": "/body", "ask": "user", "schema": {**schema, "properties": {"name": {"type": "string"}}}}
    ]


def test_a_misspelt_member_gets_its_name() -> None:
    request = post({"titel": "x", "body": "y"})
    for pointer, keyword, schema in (
        ("/body/title", "required", {"type": "string"}),
        ("/body/titel", "additionalProperties", {}),
    ):
        repaired = said(pointer, keyword, schema, request, ("title", "body"))
        assert repaired.suggestions[0]["parameters"] == {"titel": None, "title": "x"}
        assert repaired.suggestions[0]["safety"]["changes_intent"] is False
        outcome = follow(repaired, request)
        assert isinstance(outcome, Next)
        assert outcome.request.body == {"title": "x", "body": "y"}


@pytest.mark.parametrize(
    ("body", "siblings"),
    [
        ({"name": "v1"}, ("name", "tag_name")),  # declared: it is what it says
        ({"other": "v1"}, ("name", "tag_name")),
        ({"tag_nam": 7}, ("name", "tag_name")),  # a value that would not do there
    ],
)
def test_another_member_is_not_taken_for_the_missing_one(body: dict[str, Json], siblings: tuple[str, ...]) -> None:
    repaired = said("/body/tag_name", "required", {"type": "string"}, post(body), siblings)
    assert [p["pointer"] for p in repaired.suggestions[0]["placeholders"]] == ["/body/tag_name"]


def test_a_misspelt_member_of_an_element() -> None:
    request = post({"items": [{"name": "a"}, {"nmae": "b"}]})
    repaired = said("/body/items/1/name", "required", {"type": "string"}, request, ("name", "price"))
    outcome = follow(repaired, request)
    assert isinstance(outcome, Next)
    assert outcome.request.body == {"items": [{"name": "a"}, {"name": "b"}]}


@rows(
    ("name", "declared", "target"),
    [
        ("emial", ["email", "name"], "email"),
        ("firstName", ["first_name", "last_name"], "first_name"),
        ("desc", ["description", "name"], "description"),
        ("nmae", ["number", "kind"], None),
        ("min_price", ["max_price"], None),
        ("customer_id", ["customer"], "customer"),
        ("amount_max", ["amount"], None),
    ],
)
def test_a_name_is_near_that_a_slip_of_the_fingers_makes(name: str, declared: list[str], target: str | None) -> None:
    request = Request("GET", "/things", query={name: "x"})
    (suggestion,) = said(f"/query/{name}", "additionalProperties", {}, request, tuple(declared)).suggestions
    last = suggestion["patch"][-1]
    assert (last["op"], last["path"]) == (("move", f"/query/{target}") if target else ("remove", f"/query/{name}"))


def test_of_several_values_where_one_belongs_the_caller_picks() -> None:
    repaired = said("/body/a", "type", {"type": "integer"}, sent(["5", 6]))
    assert repaired.type == "intent_disambiguation"
    assert [s["patch"][-1]["value"] for s in repaired.suggestions] == [5, 6]
    assert all(s["safety"]["changes_intent"] for s in repaired.suggestions)


def test_of_two_near_names_the_caller_picks() -> None:
    request = post({"created_o": "x"})
    repaired = said("/body/created_o", "additionalProperties", {}, request, ("created_on", "created_or"))
    assert repaired.type == "intent_disambiguation"
    assert [s["patch"][-1]["path"] for s in repaired.suggestions] == ["/body/created_on", "/body/created_or"]


def test_what_is_not_known_is_left_out_only_when_somebody_says_so() -> None:
    """It was sent for a reason: it may stand one level too high, or decide which page is read."""
    for request in (post({"name": "n", "colour": "red"}), Request("GET", "/things", query={"colour": "red"})):
        place = "/body/colour" if request.body else "/query/colour"
        repaired = said(place, "additionalProperties", {}, request, ("name",))
        (suggestion,) = repaired.suggestions
        assert repaired.type == "recovery_guidance"
        assert suggestion["safety"]["changes_intent"] is True
        assert suggestion["safety"]["requires_confirmation"] is True
        assert suggestion["parameters"] == {"colour": None}
        assert isinstance(follow(repaired, request), NeedsInput)


@rows(
    "request_",
    [
        post({"dry_run": "x"}),
        post({"maxItems": "5"}),
        post({"cents_total": "500"}),
        post({"if_match": "abc"}),
        post({"notify": True}),
        Request("DELETE", "/things", query={"colour": "red"}),
    ],
    ids=["rehearsal", "limit", "amount", "condition", "switch", "deletion"],
)
def test_what_may_limit_the_call_is_not_dropped_without_asking(request_: Request) -> None:
    (name,) = request_.body or request_.query
    place = f"/body/{name}" if request_.body else f"/query/{name}"
    repaired = said(place, "additionalProperties", {}, request_, ("name",))
    assert isinstance(follow(repaired, request_), NeedsInput)
    assert repaired.suggestions[0]["safety"]["requires_confirmation"] is True


def test_reading_without_a_filter_is_flagged() -> None:
    request = Request("GET", "/things", query={"max_price": "3"})
    (suggestion,) = said("/query/max_price", "additionalProperties", {}, request, ("page",)).suggestions
    assert suggestion["safety"] == {"side_effects": "none", "changes_intent": True, "requires_confirmation": True}
    assert suggestion["patch"][-1] == {"op": "remove", "path": "/query/max_price"}


@rows(
    ("name", "limits"),
    [
        ("amountOff", True),
        ("dry_run", True),
        ("validFrom", True),
        ("notify", False),
        ("custom", False),
        ("guideline", False),
    ],
)
def test_only_whole_words_of_a_name_limit_a_call(name: str, limits: bool) -> None:
    assert may_limit(name) is limits


@rows(
    ("schema", "is_nought_"),
    [
        ({"type": "integer", "default": 0}, True),
        ({"type": "number", "default": 0.0}, True),
        ({"type": "string", "default": ""}, True),
        ({"type": "integer", "default": 1}, False),
        ({"type": "boolean", "default": False}, False),
        ({"enum": [0], "default": 0}, False),
    ],
)
def test_nought_as_a_default_tells_no_wish(schema: dict[str, Any], is_nought_: bool) -> None:
    assert is_nought(schema["default"], schema) is is_nought_
    (suggestion,) = said("/body/count", "required", schema, post({})).suggestions
    assert ("placeholders" in suggestion) is is_nought_
