"""Which names another one can stand for, and which members limit a call."""

from __future__ import annotations

import pytest

from corrigible.rules.schema_repair.names import (
    INSTEAD,
    is_other_name,
    may_limit,
    misspelt,
    near_names,
    only_missing,
    rename_only_undeclared,
    undeclared,
)
from corrigible.rules.schema_repair.repair import repair
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.schema.exchange import Json, Request
from tests._support.rows import rows


@rows(
    ("name", "declared", "near"),
    [
        ("titel", ["title", "body"], ["title"]),
        ("page", ["pagination[page]", "sort"], ["pagination[page]"]),
        ("", ["title"], []),
        ("first-name", ["firstName", "last_name"], ["firstName"]),
        ("tags", ["tag"], ["tag"]),
        ("desc", ["description"], ["description"]),
        ("des", ["description"], []),
        ("descriptions_of", ["description"], ["description"]),
        ("created_o", ["created_on", "created_or"], ["created_on", "created_or"]),
        ("customer_request", ["requested_by_customer"], []),  # so may a value be meant, and no name
        ("abcdefgh", ["abxdefyh"], ["abxdefyh"]),
        ("abcdefg", ["abxdefy"], []),
        ("x", [], []),
        ("page", ["pagination[page]", "pagination[pageSize]"], ["pagination[page]"]),
        ("page", ["pagination[page]", "cursor[page]"], []),
        ("pageSize", ["pagination[pageSize]", "page[size]"], ["page[size]"]),
    ],
)
def test_near_names(name: str, declared: list[str], near: list[str]) -> None:
    assert near_names(name, declared) == near


@rows(
    ("name", "limits"),
    [
        ("max_items", True),
        ("maxItems", True),
        ("filter[status]", True),
        ("page.size", True),
        ("createdAfter", True),
        ("customer-id", True),
        ("readOnly", True),
        ("expires", True),
        ("keep_history", True),
        ("identity", False),
        ("colour", False),
        ("mountain", False),
    ],
)
def test_what_may_limit_a_call(name: str, limits: bool) -> None:
    assert may_limit(name) is limits


def source(
    body: Json, pointer: str = "/body/title", schema: Json = None, siblings: tuple[str, ...] = ("title", "note")
) -> str | None:
    """Return the member that is renamed to the missing one."""
    request = Request("POST", "/things", headers={"titel": "x"}, body=body)
    violation = SchemaViolation(pointer, "required", schema or {"type": "string"}, siblings=siblings)
    proposal = misspelt(violation, request)
    return None if proposal is None else proposal.suggestions[0]["patch"][-1]["from"]


@rows(
    ("body", "renamed"),
    [
        ({"titel": "x"}, "/body/titel"),
        ({"titel": "x", "other": "y"}, "/body/titel"),
        ({"titel": "x", "tilte": "y"}, None),  # either may be meant
        ({"note": "x"}, None),
        ({"notes": "x"}, None),  # it is nearer to another
        ({"titel": 5}, None),
        ({}, None),
        ([], None),
        ({**{f"m{number}": 1 for number in range(63)}, "titel": "x"}, "/body/titel"),
        ({**{f"m{number}": 1 for number in range(64)}, "titel": "x"}, None),
    ],
)
def test_the_member_that_can_only_be_the_missing_one(body: Json, renamed: str | None) -> None:
    assert source(body) == renamed


@pytest.mark.parametrize(
    ("body", "renamed"),
    [
        ({"titel": "x"}, "/body/titel"),
        ({"TIT_LE": "x", "other": "y"}, "/body/TIT_LE"),
        ({"title_": "x"}, "/body/title_"),
        ({"tittle": "x"}, "/body/tittle"),
        ({"titel": "x", "tilte": "y"}, None),
    ],
)
def test_without_declared_names_only_what_is_no_other_word_is_renamed(body: Json, renamed: str | None) -> None:
    assert source(body, siblings=()) == renamed


@pytest.mark.parametrize("name", ["titles", "tidle"])
def test_without_declared_names_what_may_be_another_word_is_confirmed(name: str) -> None:
    """`titles` may be a list beside it, `tidle` another word, for all that is known."""
    violation = SchemaViolation("/body/title", "required", {"type": "string"}, siblings=())
    proposal = misspelt(violation, Request("POST", "/things", body={name: "x"}))
    assert proposal is not None
    rename, question = proposal.suggestions
    assert rename["safety"]["requires_confirmation"] is True
    assert [one["pointer"] for one in question["placeholders"]] == ["/body/title"]


def test_nothing_is_renamed_among_headers() -> None:
    assert source({}, "/headers/title") is None
    assert source({"a": {"titel": "5"}}, "/body/a/title", {"type": "integer"}) is None
    assert source({"a": {"titel": 5}}, "/body/a/title", {"type": "integer"}) == "/body/a/titel"


def around(*required: str, **properties: Json) -> dict[str, Json]:
    return {"properties": {"note": {}, **properties}, "x-required": [*required]}


@rows(
    ("body", "schema", "place"),
    [
        ({"colour": "red"}, around("tint", tint={"type": "string"}), "/body/tint"),
        ({"colour": "red", "note": 1}, around("tint", "note", tint={}), "/body/tint"),
        ({"colour": 5}, around("tint", tint={"type": "string"}), None),
        ({"colour": "red"}, around("tint", "more", tint={}), None),
        ({"colour": "red"}, around("tint", "more", tint={}, more={"default": 1}), "/body/tint"),  # that is there anyway
        ({"colour": "red", "other": 1}, around("tint", tint={}), None),
        ({"tint": "red"}, around("tint", tint={}), None),
        ({"colour": "red"}, around("tint"), None),
        ({"colour": "red"}, around(), None),
        ({"colour": "red"}, {"x-required": ["tint"]}, None),
        ({"colour": "red"}, {"properties": {"tint": {}}, "x-required": "tint"}, None),
        ({"colour": "red"}, None, None),
        ([], around("tint", tint={}), None),
        ({"colour": "red"}, around("a/b", **{"a/b": {}}), "/body/a~1b"),
    ],
)
def test_the_only_member_that_is_missing(body: Json, schema: dict[str, Json] | None, place: str | None) -> None:
    assert only_missing("/body", schema, Request("POST", "/things", body=body)) == place


def test_in_forms_and_queries_a_text_may_be_a_number() -> None:
    schema = around("tint", tint={"type": "integer"})
    assert only_missing("/body", schema, Request("POST", "/x", body={"colour": "5"}, form=True)) == "/body/tint"
    assert only_missing("/body", schema, Request("POST", "/x", body={"colour": "5"})) is None
    assert only_missing("/query", schema, Request("POST", "/x", {"colour": "5"})) == "/query/tint"


def test_the_only_undeclared_member_may_be_the_missing_one_if_the_caller_confirms() -> None:
    request = Request("POST", "/things", body={"note": 1, "colour": "red"})
    schema = around("tint", tint={"type": "string"})
    violation = SchemaViolation("/body/tint", "required", {}, siblings=("tint", "note"), parent_schema=schema)
    renaming = rename_only_undeclared(violation, request)
    assert renaming is not None
    (suggestion,) = renaming.suggestions
    assert suggestion["patch"][-1] == {"op": "move", "from": "/body/colour", "path": "/body/tint"}
    assert suggestion["safety"]["requires_confirmation"] is True
    assert rename_only_undeclared(violation._replace(pointer="/body/note"), request) is None
    headed = Request("POST", "/things", headers={"colour": "red"})
    assert rename_only_undeclared(violation._replace(pointer="/headers/tint"), headed) is None


def test_a_member_that_nobody_knows_may_be_the_only_missing_one() -> None:
    request = Request("POST", "/things", body={"colour": "red"})
    schema = around("tint", tint={"type": "string"})
    proposal = undeclared(SchemaViolation("/body/colour", "additionalProperties", schema, "red"), request, "1.")
    assert proposal is not None
    (renamed,) = proposal.suggestions
    assert renamed["patch"][-1] == {"op": "move", "from": "/body/colour", "path": "/body/tint"}
    assert renamed["safety"]["requires_confirmation"] is True


def test_of_two_members_that_are_as_near_to_one_name_neither_takes_it() -> None:
    request = Request("POST", "/things", body={"limit1": 5, "limit2": 6, "limits_off": True})
    schema = around("limit", limit={"type": "integer"})
    asked, nothing = (
        undeclared(SchemaViolation(f"/body/{name}", "additionalProperties", schema, 5, ("limit",)), request, "1.")
        for name in ("limit1", "limit2")
    )
    assert asked is not None
    assert nothing is None
    assert asked.suggestions[0]["placeholders"] == [
        {"pointer": "/body/limit", "ask": "user", "schema": {"type": "integer"}}
    ]


def test_a_name_is_taken_by_the_member_that_is_nearest_to_it() -> None:
    request = Request("POST", "/things", body={"status_": "a", "statuss": "b"})
    schema = around("status", status={"type": "string"})

    def patch(name: str) -> list[str]:
        violation = SchemaViolation(f"/body/{name}", "additionalProperties", schema, "a", ("status",))
        proposal = undeclared(violation, request, "1.")
        return [] if proposal is None else [op["op"] for one in proposal.suggestions for op in one.get("patch", [])]

    assert patch("status_") == ["test", "move"]
    assert "move" not in patch("statuss")


@pytest.mark.parametrize(
    ("name", "meant"), [("user", "user_name"), ("file", "file_id"), ("query", "search_query"), ("colour", "tint")]
)
def test_the_only_undeclared_name_for_the_only_missing_one_is_confirmed(name: str, meant: str) -> None:
    schema = around(meant, **{meant: {"type": "string"}})
    request = Request("POST", "/rooms/7/ban", body={name: "bob"})
    violation = SchemaViolation(f"/body/{meant}", "required", {}, siblings=("note", meant), parent_schema=schema)
    repaired = repair(violation, request, "1.")
    assert repaired is not None
    suggestion, question = repaired.suggestions
    assert question["placeholders"][0]["pointer"] == f"/body/{meant}"
    assert suggestion["safety"]["requires_confirmation"] is True


@rows(
    ("name", "meant", "asks"),
    [
        ("passwordHash", "password", True),
        ("colourCode", "colour", True),
        ("sealedAt", "sealed", True),
        ("colours", "colour", False),
        ("coluor", "colour", False),
        ("pasword", "password", True),  # no name of a secret is guessed
    ],
)
def test_a_missing_name_that_was_sent_with_a_word_more_is_confirmed(name: str, meant: str, asks: bool) -> None:
    schema = around(meant, **{meant: {"type": "string"}})
    request = Request("POST", "/accounts", body={name: "a"})
    violation = SchemaViolation(f"/body/{meant}", "required", {}, siblings=("note", meant), parent_schema=schema)
    repaired = repair(violation, request, "1.")
    assert repaired is not None
    assert repaired.suggestions[0]["safety"].get("requires_confirmation", False) is asks


def test_null_under_an_unknown_name_is_left_out_and_never_what_is_missing() -> None:
    request = Request("POST", "/things", body={"colour": None})
    schema = around("tint", tint={"type": "string"})
    proposal = undeclared(SchemaViolation("/body/colour", "additionalProperties", schema, None), request, "1.")
    assert proposal is not None
    (left_out,) = proposal.suggestions
    assert left_out["patch"][-1] == {"op": "remove", "path": "/body/colour"}


@rows(
    ("body", "required", "told", "place"),
    [
        ({"task_id": 7}, [], "task", "/body/task"),
        ({"task_id": 7}, ["project"], "task", None),  # either may be meant
        ({"task_id": 7, "other": 1}, [], "task", None),
        ({"task_id": 7, "task": 8}, [], "task", None),
        ({"task_id": 7}, [], "unknown", None),
        ({"task_id": "seven"}, [], "task", None),
    ],
)
def test_what_the_server_misses_counts_as_missing(
    body: dict[str, Json], required: list[str], told: str, place: str | None
) -> None:
    schema = {"properties": {"task": {"type": "integer"}, "project": {"type": "integer"}}, "x-required": required}
    assert only_missing("/body", schema, Request("POST", "/things", body=body), told) == place


@pytest.mark.parametrize(
    ("name", "known", "asks"),
    [
        ("equalsTo", "equalTo", False),  # what is sent "to" is written as it is meant
        ("form_name", "from_name", True),
        ("repli_to", "reply_to", True),
        ("respnse", "response", False),
        ("mode", "model", True),
    ],
)
def test_a_name_that_is_no_word_is_put_right_unasked(name: str, known: str, asks: bool) -> None:
    schema: dict[str, Json] = {"properties": {known: {}}}
    violation = SchemaViolation(f"/body/{name}", "additionalProperties", schema, "v", siblings=(known,))
    proposal = undeclared(violation, Request("POST", "/x", body={name: "v"}), "1.")
    assert proposal is not None
    (renamed,) = proposal.suggestions
    assert renamed["patch"][-1] == {"op": "move", "from": f"/body/{name}", "path": f"/body/{known}"}
    assert renamed["safety"].get("requires_confirmation", False) is asks


@pytest.mark.parametrize(
    ("name", "declared", "target", "is_confirmed"),
    [
        ("qty", ("quantity", "unitPrice"), "/body/quantity", False),
        ("cat", ("category", "note"), "/body/category", True),  # a word of its own
        ("cat", ("category", "catalogue"), None, True),
        ("max", ("maximum", "note"), None, True),  # without it the call may do more
    ],
)
def test_a_short_form_of_a_declared_name(
    name: str, declared: tuple[str, ...], target: str | None, is_confirmed: bool
) -> None:
    schema = {"type": "object", "properties": {one: {} for one in declared}}
    request = Request("POST", "/things", body={name: "x"})
    violation = SchemaViolation(f"/body/{name}", "additionalProperties", schema, "x", declared)
    proposal = undeclared(violation, request, "1.")
    assert proposal is not None
    moves = [one for one in proposal.suggestions if one["patch"][-1]["op"] == "move"]
    assert [one["patch"][-1]["path"] for one in moves] == ([] if target is None else [target])
    assert all(("requires_confirmation" in one["safety"]) is is_confirmed for one in moves)


LIMITS = {"type": "object", "properties": {"requests": {"type": "object"}, "limits": {"type": "object"}}}


def unknown(name: str, body: Json, *, form: bool = False, **declared: Json) -> list[Json]:
    schema: dict[str, Json] = {"type": "object", "properties": declared}
    violation = SchemaViolation(f"/body/{name}", "additionalProperties", schema, body[name], tuple(declared))
    proposal = undeclared(violation, Request("POST", "/x", body=body, form=form), "1.")
    assert proposal is not None
    return [one.get("patch", [{"op": "ask"}])[-1] | one["safety"] for one in proposal.suggestions]


@pytest.mark.parametrize("beside", [{}, {"resources": None}, {"resources": {"limits": {}}}])
def test_what_the_object_beside_it_declares_is_moved_and_never_left_out(beside: dict[str, Json]) -> None:
    (moved,) = unknown("requests", {"requests": {"cpu": "50m"}, **beside}, resources=LIMITS)
    assert (moved["op"], moved["path"]) == ("move", "/body/resources/requests")
    assert moved["requires_confirmation"] is True


@rows(
    ("name", "rest", "place"),
    [
        ("definitions", {"properties": {"u": {"$ref": "#/definitions/User"}}}, "/body/properties/u/$ref"),
        ("a/b", {"u": "#/x/a~1b"}, "/body/u"),
        ("user", {"url": "https://example.com/${user}/x"}, "/body/url"),
        ("user", {"text": "Dear {{ user }},"}, "/body/text"),
        ("card", {"type": "card"}, "/body/type"),
        ("colour", {"required": ["colour"]}, "/body/required/0"),
    ],
)
def test_what_something_else_refers_to_is_asked_about_before_it_is_left_out(
    name: str, rest: dict[str, Json], place: str
) -> None:
    body = {name: {"x": 1}, **rest}
    violation = SchemaViolation(f"/body/{name.replace('/', '~1')}", "additionalProperties", {}, body[name])
    proposal = undeclared(violation, Request("POST", "/x", body=body), "1.")
    assert proposal is not None
    question, removal = proposal.suggestions
    assert "patch" not in question
    assert removal["safety"]["requires_confirmation"] is True
    assert removal["safety"]["loses"] == [place]
    left = undeclared(violation, Request("POST", "/x", body={name: {"x": 1}, "note": f"no {name}s"}), "1.")
    assert left is not None and left.suggestions[0]["patch"][-1]["op"] == "remove"


ADDRESS = {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": "integer"}}}


@pytest.mark.parametrize("name", ["address.city", "address[city]", "address.0.city"])
def test_a_name_that_leads_into_a_declared_member_is_never_left_out(name: str) -> None:
    assert [one["op"] for one in unknown(name, {name: "Bonn", "note": "n"}, form=True, address=ADDRESS)] == ["ask"]


@rows(
    ("declared", "body", "confirms"),
    [
        ({}, {"old": 5}, True),  # the text alone says it
        ({"new": {"type": "integer"}}, {"old": 5}, None),
        ({"new": {"type": "string"}}, {"old": 5}, True),
        ({"old": {}, "new": {"type": "integer"}}, {"old": 5}, True),  # the description has both
        ({"new": {"type": "integer"}, "other": {"type": "integer"}}, {"old": 5}, True),  # the text alone chooses
        ({"new": {"type": "integer"}, "other": {"type": "integer"}}, {"old": 5, "other": 1}, None),
    ],
)
def test_the_name_that_the_server_has_instead_keeps_the_value(
    declared: dict[str, Json], body: Json, confirms: bool | None
) -> None:
    schema: dict[str, Json] = {"type": "object", "properties": declared, INSTEAD: "new"}
    violation = SchemaViolation("/body/old", "additionalProperties", schema, body["old"], tuple(declared))
    proposal = undeclared(violation, Request("POST", "/x", body=body), "1.")
    assert proposal is not None
    (suggestion,) = proposal.suggestions
    assert suggestion["patch"][-1] == {"op": "move", "from": "/body/old", "path": "/body/new"}
    assert suggestion["safety"].get("requires_confirmation") is confirms
    taken = undeclared(violation, Request("POST", "/x", body={**body, "new": 6}), "1.")
    assert taken is not None and taken.suggestions[0]["patch"][-1]["op"] == "remove"


@rows(
    ("declared", "required", "confirms"),
    [
        (("max_completion_tokens", "user"), [], None),
        (("max_completion_tokens", "max_prompt_tokens"), [], True),
        (("max_completion_tokens", "max_prompt_tokens"), ["max_completion_tokens"], None),
        (("max_tokens_now", "max_completion_tokens"), ["max_tokens_now"], True),
    ],
)
def test_a_text_alone_chooses_no_declared_member(
    declared: tuple[str, ...], required: list[str], confirms: bool | None
) -> None:
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {one: {"type": "integer"} for one in declared},
        "required": required,
        INSTEAD: "max_completion_tokens",
    }
    violation = SchemaViolation("/body/max_tokens", "additionalProperties", schema, 5, declared)
    proposal = undeclared(violation, Request("POST", "/x", body={"max_tokens": 5}), "1.")
    assert proposal is not None
    assert proposal.suggestions[0]["safety"].get("requires_confirmation") is confirms


def test_a_list_of_named_things_is_referred_to_by_their_names() -> None:
    body: Json = {"volumes": [{"name": "data", "size": 1}], "mounts": [{"name": "data", "path": "/d"}]}
    question, removal = unknown("volumes", body, mounts={"type": "array"})
    assert question["op"] == "ask"
    assert (removal["path"], removal["loses"]) == ("/body/volumes", ["/body/mounts/0/name"])
    body["mounts"][0]["name"] = "other"
    (removal,) = unknown("volumes", body, mounts={"type": "array"})
    assert removal["op"] == "remove"


@rows(
    ("name", "meant", "is_other"),
    [
        ("startedAt", "startsAt", True),
        ("acceptsPatients", "acceptsNewPatients", True),
        ("creditLimitEuros", "creditLimitCents", True),
        ("isPaid", "isUnpaid", True),
        ("onlyActive", "active", True),
        ("titel", "title", False),
        ("fullNmae", "fullName", False),
        ("pageCuont", "pageCount", False),
        ("page_count", "pageCount", False),
        ("desc", "description", False),
        ("inclued", "include", False),
        ("productsid", "productId", False),
    ],
)
def test_a_name_of_other_words_is_another_name(name: str, meant: str, *, is_other: bool) -> None:
    assert is_other_name(name, meant) is is_other


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_value_of_another_unit_is_sent_once_somebody_agrees(method: str) -> None:
    number = {"type": "number"}
    part, query, body = ("query", {"weightG": "2500"}, None) if method == "GET" else ("body", {}, {"weightG": 2500})
    around = {"type": "object", "properties": {"weightKg": number}, "required": ["weightKg"]}
    violation = SchemaViolation(f"/{part}/weightKg", "required", number, siblings=("weightKg",), parent_schema=around)
    found = misspelt(violation, Request(method, "/quotes", query, {}, body))
    assert found is not None
    assert found.suggestions[0]["patch"][-1]["op"] == "move"
    assert found.suggestions[0]["safety"]["requires_confirmation"]
