"""From a value that breaks its description to suggestions: what is repaired, what is flagged, what is asked."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.pointer import MISSING
from corrigible.rules.schema_repair.names import settled_value
from corrigible.rules.schema_repair.repair import repair
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import Repair
from corrigible.schema.exchange import Json, Request
from corrigible.schema.reader import NeedsInput, Next
from tests._support.repaired import ASK, CHOICE, assert_outcome, follow, post, said, sent
from tests._support.rows import rows

DAY = {"type": "string", "format": "date"}


MOMENT = {"type": "string", "format": "date-time"}


@rows(
    ("keyword", "schema", "value", "wanted"),
    [
        ("enum", {"enum": ["open", "closed"]}, "opened", "open"),
        ("enum", {"enum": ["APPROVE", "COMMENT"]}, "APPROVED", "APPROVE"),
        ("enum", {"enum": ["off-topic", "spam"]}, "off topic", "off-topic"),
        ("enum", {"enum": ["/", "/docs"]}, "docs", "/docs"),
        ("enum", {"enum": [1, 2]}, "2", 2),
        ("enum", {"enum": ["merge", "squash", "rebase"]}, "fast-forward", ASK),
        ("enum", {"enum": ["only"]}, "other", ASK),
        ("enum", {"enum": ["created_at", "created_on"]}, "created", CHOICE),
        ("const", {"const": "line"}, "Line", "line"),
        ("type", {"type": "integer"}, "500", 500),
        ("type", {"type": "integer"}, "#12", 12),
        ("type", {"type": "integer"}, "5.0", 5),
        ("type", {"type": "integer"}, 5.5, ASK),
        ("type", {"type": "integer"}, "007", ASK),
        ("type", {"type": "integer"}, "1,000", ASK),
        ("type", {"type": "integer"}, "ten", ASK),
        ("type", {"type": "integer"}, True, ASK),
        ("type", {"type": "integer"}, [5], 5),
        ("type", {"type": "number"}, "5.50", 5.5),
        ("type", {"type": "boolean"}, "True", True),
        ("type", {"type": "boolean"}, "no", False),
        ("type", {"type": "boolean"}, 1, True),
        ("type", {"type": "boolean"}, "maybe", ASK),
        ("type", {"type": "boolean"}, 2, ASK),
        ("type", {"type": "string"}, 5, "5"),
        ("type", {"type": "string"}, True, "true"),
        ("type", {"type": "string"}, {"a": 1}, ASK),
        ("type", {"type": ["string", "null"]}, 7, "7"),
        ("type", {"type": "array", "items": {"type": "string"}}, "bug", ["bug"]),
        ("type", {"type": "array", "items": {"type": "string"}}, "bug,ui", CHOICE),
        ("type", {"type": "array", "items": {"type": "integer"}}, "1, 2", [1, 2]),
        ("type", {"type": "array", "items": {"type": "string"}}, '["a"]', ["a"]),
        ("type", {"type": "array", "items": {"type": "integer"}}, "x", ASK),
        ("type", {"type": "array"}, {"0": "a", "1": "b"}, ["a", "b"]),
        ("type", {"type": "object"}, '{"a": 1}', {"a": 1}),
        ("type", {"type": "object"}, "foo", ASK),
        ("anyOf", {"anyOf": [{"type": "object"}, {"type": "string", "enum": [""]}]}, "foo", ASK),
        ("format", DAY, "2026/03/04", "2026-03-04"),
        ("format", DAY, "2026-3-4", "2026-03-04"),
        ("format", DAY, "20260304", "2026-03-04"),
        ("format", DAY, "25/12/2026", "2026-12-25"),
        ("format", DAY, "March 4th, 2026", "2026-03-04"),
        ("format", DAY, "Wed, 4 Mar 2026", "2026-03-04"),
        ("format", DAY, "03/04/2026", CHOICE),
        ("format", DAY, "2026-02-30", ASK),
        ("format", DAY, "tomorrow", ASK),
        ("format", MOMENT, "2026-03-04 10:00:00Z", "2026-03-04T10:00:00Z"),
        ("format", MOMENT, "2026-03-04T10:00Z", "2026-03-04T10:00:00Z"),
        ("format", MOMENT, "2026-03-04T10:00:00+0130", "2026-03-04T10:00:00+01:30"),
        ("format", MOMENT, "Wed, 04 Mar 2026 10:00:00 GMT", "2026-03-04T10:00:00Z"),
        ("type", MOMENT, 1772618400, "2026-03-04T10:00:00Z"),
        ("type", MOMENT, 1772618400000, "2026-03-04T10:00:00Z"),
        ("type", {"type": "integer", "format": "unix-time"}, "2026-03-04T10:00:00Z", 1772618400),
        ("format", {"format": "uuid"}, "{550E8400E29B41D4A716446655440000}", "550e8400-e29b-41d4-a716-446655440000"),
        ("format", {"format": "uuid"}, "550e8400", ASK),
        ("format", {"format": "email"}, " a@b.co ", "a@b.co"),
        ("format", {"format": "email"}, "Bob <b@x.io>", "b@x.io"),
        ("format", {"format": "email"}, "bob at x.io", ASK),
        ("format", {"format": "uri"}, " https://x.io/a ", "https://x.io/a"),
        ("format", {"format": "uri"}, "mail me", ASK),
        ("format", {"format": "byte"}, "hello, world", "aGVsbG8sIHdvcmxk"),
        ("format", {"format": "byte"}, "aGVsbG8", CHOICE),
        ("pattern", {"pattern": "^[0-9a-fA-F]{6}$"}, "#ff0000", "ff0000"),
        ("pattern", {"pattern": "^[a-z]+$"}, " abc ", "abc"),
        ("pattern", {"pattern": "^[0-9]{16}$"}, "4242 4242 4242 4242", "4242424242424242"),
        ("pattern", {"pattern": "^[a-z]{9}$"}, "abc", ASK),
        ("pattern", {"pattern": "("}, "abc", ASK),
        ("pattern", {"pattern": "^(?!www)[a-z.]+$"}, " x.io", "x.io"),
        ("minimum", {"type": "integer", "minimum": 1}, 0, ASK),
        ("minimum", {"type": "integer", "minimum": 1}, -1, ASK),
        ("maximum", {"type": "integer", "maximum": -1}, 5, ASK),
        ("exclusiveMinimum", {"type": "number", "exclusiveMinimum": 2}, 1, ASK),
        ("minLength", {"type": "string", "minLength": 1}, "", ASK),
        ("maxLength", {"type": "string", "maxLength": 3}, "abc ", "abc"),
        ("maxLength", {"type": "string", "maxLength": 3, "format": "uri"}, "https://x.io", ASK),
        ("minItems", {"type": "array", "minItems": 1}, [], ASK),
        ("maxItems", {"type": "array", "maxItems": 1}, ["a", "b"], ASK),
        ("dependentRequired", {"type": "string"}, "x", ASK),
    ],
)
def test_what_keeps_the_meaning_is_repaired_and_what_only_the_caller_has_is_asked(
    keyword: str, schema: dict[str, Json], value: Json, wanted: Any
) -> None:
    request = sent(value)
    repaired = said("/body/a", keyword, schema, request)
    assert not any(s["safety"]["changes_intent"] for s in repaired.suggestions)
    assert_outcome(repaired, request, wanted)


@rows(
    ("keyword", "schema", "value", "wanted"),
    [
        ("maximum", {"type": "integer", "maximum": 100}, 500, 100),
        ("exclusiveMaximum", {"type": "integer", "exclusiveMaximum": 100}, 500, 99),
        ("maximum", {"type": "integer", "maximum": 100, "exclusiveMaximum": 100}, 100, 99),
        ("minimum", {"type": "integer", "minimum": 50}, 5, 50),
        ("maximum", {"type": "integer", "maximum": 100, "multipleOf": 30}, 500, 90),
        ("format", {"format": "hostname"}, "https://example.com/x", "example.com"),
        ("pattern", {"pattern": "^[A-Z]{2}$"}, "de", "DE"),
        ("pattern", {"pattern": "^refs/heads/.+$"}, "main", "refs/heads/main"),
        ("pattern", {"pattern": "^sha256:[a-f0-9]{4}$"}, "beef", "sha256:beef"),
        ("type", {"type": "string"}, {"id": "cus_1", "name": "x"}, "cus_1"),
    ],
)
def test_what_changes_the_meaning_says_so(keyword: str, schema: dict[str, Json], value: Json, wanted: Json) -> None:
    request = sent(value)
    repaired = said("/body/a", keyword, schema, request)
    (suggestion,) = repaired.suggestions
    assert suggestion["safety"]["changes_intent"] is True
    assert_outcome(repaired, request, wanted)


@rows(
    ("keyword", "schema", "value", "wanted"),
    [
        ("format", DAY, "2026-03-04T10:00:00Z", "2026-03-04"),
        ("format", MOMENT, "2026-03-04T10:00:00", "2026-03-04T10:00:00Z"),
        ("format", MOMENT, "2026-03-04", "2026-03-04T00:00:00Z"),
        ("format", {"format": "uri"}, "example.com/hook", "https://example.com/hook"),
        ("type", {"type": "array", "items": {"type": "string"}}, "ann and bob", ["ann and bob"]),
        ("pattern", {"pattern": r"^[A-Za-z0-9.\-]+$"}, "my repo", "my-repo"),
        ("pattern", {"pattern": r"^[A-Za-z0-9_]+$"}, "my repo", "my_repo"),
        ("pattern", {"pattern": "^cus_[0-9]+$"}, "42", "cus_42"),
        ("pattern", {"pattern": "^cus_"}, "42", "cus_42"),
        ("pattern", {"pattern": r"^app\.prod\.[a-z]+$"}, "web", "app.prod.web"),
        ("type", {"type": "string", "x-only-told": True}, 5, "5"),
        ("type", {"type": "array", "items": {"type": "string"}}, "S One", ["S One"]),
        ("type", {"type": "array", "items": {"type": "string"}}, 3, ["3"]),
    ],
)
def test_what_one_piece_of_evidence_speaks_for_is_confirmed(
    keyword: str, schema: dict[str, Json], value: Json, wanted: Json
) -> None:
    repaired = said("/body/a", keyword, schema, sent(value))
    (suggestion,) = repaired.suggestions
    assert suggestion["patch"][-1]["value"] == wanted
    assert suggestion["safety"]["requires_confirmation"] is True


@rows(
    ("name", "value"),
    [("duration", 3600), ("memory", 512), ("a", ["x y", "z"]), ("timeout", 5), ("a", ["x", "y,z"]), ("a", ["x"] * 300)],
)
def test_a_text_that_nobody_knows_is_asked_for(name: str, value: Json) -> None:
    request = post({name: value})
    outcome = follow(said(f"/body/{name}", "type", {"type": "string"}, request), request)
    assert isinstance(outcome, NeedsInput)


def test_words_that_may_be_joined_by_several_marks_are_a_choice() -> None:
    repaired = said("/body/a", "pattern", {"pattern": r"^[A-Za-z0-9._-]+$"}, sent("my repo"))
    assert repaired.type == "intent_disambiguation"
    assert [one["parameters"] for one in repaired.suggestions] == [{"a": "my-repo"}, {"a": "my_repo"}]


def test_the_whole_suggestion_on_the_wire() -> None:
    repaired = said("/body/state", "enum", {"type": "string", "enum": ["open", "closed"]}, post({"state": "opened"}))
    assert repaired == Repair(
        (
            {
                "action": "MODIFY_PARAMS",
                "message": "Send the value that is allowed.",
                "parameters": {"state": "open"},
                "patch": [
                    {"op": "test", "path": "/body/state", "value": "opened"},
                    {"op": "replace", "path": "/body/state", "value": "open"},
                ],
                "applicability": "MAYBE_INCORRECT",
                "verification": {"status": "verified", "method": "schema"},
                "safety": {"side_effects": "certain", "changes_intent": False},
                "evidence": {"kind": "spec", "pointer": "/body/state"},
            },
        ),
        "recovery_guidance",
        "The value is none of those that are allowed.",
        "VALUE_NOT_ALLOWED",
    )


def test_a_question_on_the_wire() -> None:
    schema = {"type": "string", "enum": ["a", "b"], "description": "long prose", "x-more": 1}
    repaired = said("/body/kind", "required", schema, post({"name": "n"}), ("name", "kind"))
    assert repaired.suggestions == (
        {
            "action": "MODIFY_PARAMS",
            "message": "Give the value that is missing.",
            "parameters": {},
            "applicability": "HAS_PLACEHOLDERS",
            "placeholders": [
                {"pointer": "/body/kind", "ask": "user", "schema": {"type": "string", "enum": ["a", "b"]}}
            ],
            "safety": {"side_effects": "certain", "changes_intent": False},
            "evidence": {"kind": "spec", "pointer": "/body/kind"},
        },
    )
    assert (repaired.diagnosis, repaired.code) == ("A required value is missing.", "VALUE_MISSING")


def test_what_cannot_be_checked_is_not_called_verified() -> None:
    (suggestion,) = said("/body/a", "enum", {"enum": ["open"], "format": "own"}, sent("opened")).suggestions
    assert suggestion["verification"] == {"status": "unverified", "method": "schema"}


@pytest.mark.parametrize(
    ("schema", "value", "wanted"),
    [
        ({"type": "integer"}, " 7", 7),
        ({"type": "boolean"}, "True", "true"),
        ({"type": "integer"}, "ten", ASK),
        ({"type": "integer"}, "10.00", ASK),
        ({"type": "array", "items": {"type": "string"}}, "x", ["x"]),
    ],
)
def test_in_forms_scalars_are_text(schema: dict[str, Json], value: str, wanted: Any) -> None:
    name = "amount"
    request = post({name: value}, form=True)
    outcome = follow(said(f"/body/{name}", "type", schema, request), request)
    if wanted is ASK:
        assert isinstance(outcome, NeedsInput)
    else:
        assert isinstance(outcome, Next)
        assert outcome.request.body == {name: wanted}


def test_a_list_is_not_told_from_a_value_in_a_query() -> None:
    request = Request("GET", "/things", query={"expand": "x"})
    repaired = said("/query/expand", "type", {"type": "array", "items": {"type": "string"}}, request)
    assert repaired.suggestions[0]["applicability"] == "HAS_PLACEHOLDERS"


def test_parameters_say_a_query_only_where_a_reader_would_put_them_there() -> None:
    schema = {"enum": ["open", "closed"]}
    reading = Request("GET", "/things", query={"state": "opened"})
    writing = Request("POST", "/things", query={"state": "opened"}, body={"a": 1})
    assert said("/query/state", "enum", schema, reading).suggestions[0]["parameters"] == {"state": "open"}
    assert said("/query/state", "enum", schema, writing).suggestions[0]["parameters"] == {}


@rows("name", ["sha", "url", "invoice_id", "customerId", "email", "api_key"])
def test_half_an_identifier_is_none(name: str) -> None:
    request = post({name: "abcdef"})
    repaired = said(f"/body/{name}", "maxLength", {"type": "string", "maxLength": 3}, request)
    assert repaired.suggestions[0]["applicability"] == "HAS_PLACEHOLDERS"


@rows("name", ["password", "client_secret", "accessToken", "cvc", "encrypted_value", "api_key"])
def test_a_secret_is_asked_for_and_never_repeated(name: str) -> None:
    request = post({name: " hunter2 "})
    repaired = said(f"/body/{name}", "pattern", {"pattern": "^[a-z0-9]+$"}, request)
    assert repaired.suggestions[0]["applicability"] == "HAS_PLACEHOLDERS"
    assert "hunter2" not in str(repaired)


def test_a_switch_is_no_secret() -> None:
    request = post({"secret_scanning": "enable"})
    (suggestion,) = said("/body/secret_scanning", "enum", {"enum": ["enabled", "disabled"]}, request).suggestions
    assert suggestion["parameters"] == {"secret_scanning": "enabled"}


def test_nothing_is_said_about_what_is_no_longer_there() -> None:
    assert repair(SchemaViolation("/body/a", "enum", {"enum": ["x"]}), post({}), "1.") is None
    assert repair(SchemaViolation("/body/a", "additionalProperties", {}, 1), post({}), "1.") is None
    assert repair(SchemaViolation("/body/a", "required", {}), post({"a": 1}), "1.") is None


def test_a_member_that_every_form_wants_is_asked_for_with_the_values_of_all() -> None:
    schema = {
        "anyOf": [
            {"type": "object", "required": ["kind"], "properties": {"kind": {"enum": [kind]}}} for kind in ("a", "b")
        ]
    }
    request = post({"rules": [{"name": "n"}]})
    (suggestion,) = said("/body/rules/0", "anyOf", schema, request).suggestions
    assert suggestion["placeholders"] == [
        {"pointer": "/body/rules/0/kind", "ask": "user", "schema": {"enum": ["a", "b"]}}
    ]


def test_a_member_that_every_form_wants_may_be_there_misspelt() -> None:
    schema = {"oneOf": [{"required": ["kind"], "properties": {"kind": {"const": kind}}} for kind in ("a", "b")]}
    request = post({"rules": [{"knid": "a"}]})
    outcome = follow(said("/body/rules/0", "oneOf", schema, request), request)
    assert isinstance(outcome, Next)
    assert outcome.request.body == {"rules": [{"kind": "a"}]}


def test_of_several_forms_the_caller_picks_one_and_gives_what_it_wants() -> None:
    schema = {
        "anyOf": [
            {"required": ["state"], "properties": {"state": {"type": "string", "enum": ["open", "closed"]}}},
            {"required": ["assignee"]},
        ]
    }
    request = post({})
    repaired = said("/body", "anyOf", schema, request)
    assert isinstance(follow(repaired, request), NeedsInput)
    assert repaired.type == "intent_disambiguation"
    assert [s["placeholders"][0]["pointer"] for s in repaired.suggestions] == ["/body/state", "/body/assignee"]
    assert {s["group"]["relation"] for s in repaired.suggestions} == {"one_of"}


def test_a_form_that_misses_nothing_is_broken_further_in() -> None:
    schema = {"anyOf": [{"required": ["a"], "properties": {"a": {"type": "integer"}}}, {"required": ["b"]}]}
    repaired = said("/body", "anyOf", schema, sent("x"))
    assert [p["pointer"] for p in repaired.suggestions[0]["placeholders"]] == ["/body"]


@pytest.mark.parametrize(
    ("value", "listed", "offered"),
    [
        ("weekday", ["day", "week", "month"], ["week", "day"]),
        ("weekly", ["day", "week", "month"], ["week"]),
        ("choice", ["text", "choices", "multiple_choice"], ["choices", "multiple_choice"]),
        ("choice", ["text", "choices"], ["choices"]),
    ],
)
def test_a_value_that_goes_on_with_another_one_is_a_choice(value: str, listed: list[str], offered: list[str]) -> None:
    repaired = said("/body/a", "enum", {"enum": listed}, sent(value))
    assert [one["patch"][-1]["value"] for one in repaired.suggestions] == offered
    assert isinstance(follow(repaired, sent(value)), NeedsInput if len(offered) > 1 else Next)


@pytest.mark.parametrize("forms", [["string", "object"], ["object", "string"]])
def test_a_number_where_a_name_or_an_object_belongs_is_asked_about(forms: list[str]) -> None:
    repaired = said("/body/a", "anyOf", {"anyOf": [{"type": form} for form in forms]}, sent(99999))
    assert isinstance(follow(repaired, sent(99999)), NeedsInput)


def test_numbers_that_are_texts_on_the_wire_stay_texts() -> None:
    schema = {"type": "integer", "maximum": 100, "x-as-text": True}
    assert said("/body/a", "maximum", schema, sent("500")).suggestions[0]["parameters"] == {"a": "100"}
    assert said("/body/a", "maximum", schema, sent(500)).suggestions[0]["parameters"] == {"a": 100}


def test_a_header_is_replaced_by_text() -> None:
    request = Request("POST", "/things", headers={"x-count": "500"}, body={})
    repaired = said("/headers/x-count", "maximum", {"type": "integer", "maximum": 100}, request)
    assert repaired.suggestions[0]["patch"][-1]["value"] == "100"


@pytest.mark.parametrize(
    ("keyword", "value", "schema", "message"),
    [
        ("maximum", 9, {"maximum": 5}, "Send a number within the limits: the most that is allowed is sent."),
        ("maxLength", "hello ", {"maxLength": 5}, "Send a text that is short enough."),
    ],
)
def test_a_message_says_what_was_assumed(keyword: str, value: Any, schema: dict[str, Any], message: str) -> None:
    repaired = said("/body/a", keyword, schema, sent(value))
    assert repaired.suggestions[0]["message"] == message


@rows(
    ("schema", "value"),
    [
        ({"default": 1}, 1),
        ({"default": "x", "type": "integer"}, MISSING),
        ({"const": None}, None),
        ({"enum": ["x"]}, "x"),
        ({"enum": ["x", "y"]}, MISSING),
        ({"type": "null"}, None),
        ({"type": ["null", "string"]}, MISSING),
        ({}, MISSING),
    ],
)
def test_what_a_schema_settles(schema: dict[str, Json], value: Json) -> None:
    assert settled_value(schema) is value or settled_value(schema) == value


@pytest.mark.parametrize("keyword", ["type", "enum", "const", "anyOf", "oneOf"])
def test_null_may_be_left_out_whatever_it_breaks(keyword: str) -> None:
    left_out, _ = said("/body/note", keyword, {}, post({"note": None, "name": "n"})).suggestions
    assert left_out["patch"][-1] == {"op": "remove", "path": "/body/note"}


def test_null_in_a_query_is_asked_about() -> None:
    request = Request("POST", "/things", {"note": None}, body={})
    (asked,) = said("/query/note", "type", {"type": "string"}, request).suggestions
    assert asked["applicability"] == "HAS_PLACEHOLDERS"


KEYWORDS = {
    "VALUE_NOT_ALLOWED": ("enum", "const", "not"),
    "WRONG_TYPE": ("type",),
    "OUT_OF_RANGE": (
        *("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf", "formatMinimum", "formatMaximum"),
    ),
    "TOO_FEW": ("minProperties", "minItems"),
    "TOO_MANY": ("maxProperties", "maxItems"),
    "WRONG_FORMAT": ("propertyNames", "pattern", "format"),
    "TOO_SHORT": ("minLength",),
    "TOO_LONG": ("maxLength",),
    "DUPLICATE": ("uniqueItems",),
    "UNKNOWN_MEMBER": ("additionalProperties", "unevaluatedProperties"),
    "WRONG_FORM": ("anyOf", "oneOf"),
    "NOT_AS_DESCRIBED": ("dependentRequired", "contains"),
}


@rows(("code", "keyword"), [(code, one) for code, listed in KEYWORDS.items() for one in listed])
def test_what_is_wrong_has_a_code(code: str, keyword: str) -> None:
    schema = {"formatMinimum": "1s", "formatMaximum": "1s"}
    assert said("/body/a", keyword, schema, sent(["x", "x"])).code == code


def test_what_of_a_long_text_can_go_is_asked_and_an_aside_is_cut() -> None:
    schema: dict[str, Json] = {"type": "string", "maxLength": 5}
    (asked,) = said("/body/a", "maxLength", schema, sent("hello world")).suggestions
    assert asked["applicability"] == "HAS_PLACEHOLDERS"
    (cut,) = said(
        "/body/note", "maxLength", schema, Request("POST", "/things", body={"note": "hello world"})
    ).suggestions
    assert cut["patch"][-1]["value"] == "hello"
    assert cut["safety"]["changes_intent"] is True
