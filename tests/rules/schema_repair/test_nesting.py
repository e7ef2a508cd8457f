"""Members that go one level down or up, into a new object, or out of one that nobody knows."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.pointer import MISSING
from corrigible.rules.schema_repair.levels import MISPLACED, into_missing, move_member, unwrapped
from corrigible.rules.schema_repair.repair import repair
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.schema.exchange import Request
from tests._support.rows import rows

TEXT = {"type": "string"}


def post(body: Any, *, form: bool = False) -> Request:
    return Request("POST", "/x", body=body, form=form)


def card(*required: str, **around: Any) -> dict[str, Any]:
    """Return an object that declares a card, and what the card requires."""
    members = {"number": TEXT, "exp": {"type": "integer"}, "amount": TEXT, "name": TEXT}
    return {"properties": {"card": {"properties": members, "required": [*required]}}, **around}


def outcome(violation: SchemaViolation, request: Request) -> tuple[list[str], bool, bool] | None:
    """Return the operations on places, whether the move is sure, and whether it is the first of several."""
    move = move_member(violation, request)
    if move is None:
        return None
    ops = [" ".join(str(op[key]) for key in ("op", "from", "path") if key in op) for op in move.suggestion["patch"]]
    return ops, move.is_certain, move.is_first


def unknown(pointer: str, schema: Any, **more: Any) -> SchemaViolation:
    return SchemaViolation(pointer, "additionalProperties", schema, **more)


MADE = ["test /body/number", "add /body/card", "move /body/number /body/card/number"]
BOTH = [*MADE[:1], "test /body/exp", *MADE[1:], "move /body/exp /body/card/exp"]


@rows(
    ("body", "schema", "wanted"),
    [
        ({"number": "4"}, card("number", required=["card"]), (MADE, True, True)),
        ({"number": "4"}, card("number", **{"x-required": ["card"]}), (MADE, True, True)),
        ({"number": "4"}, card("number"), (MADE, False, True)),  # nobody misses a card
        ({"number": "4"}, card(required=["card"]), (MADE, False, True)),
        ({"number": "4", "exp": 5}, card("number"), (BOTH, True, True)),
        ({"number": "4", "exp": 5}, card("number", "exp"), (BOTH, True, True)),
        ({"number": "4", "exp": 5}, card("number", "exp", "amount"), (BOTH, False, True)),
        ({"number": "4", "exp": 5, "other": 1}, card("number", "exp"), (BOTH, True, True)),
        ({"number": "4", "exp": 5, "other": 1}, card("number"), (BOTH, False, True)),
        ({"exp": "x", "number": "4"}, card("number"), (MADE, False, True)),  # of another type
        (
            {"number": "4", "card": {"exp": 5}},
            card("number"),
            (["test /body/number", "move /body/number /body/card/number"], True, True),
        ),
        ({"number": "4", "card": {"exp": 5}}, card("amount"), (MADE[:1] + MADE[2:], False, True)),
        ({"number": "4", "card": {"number": "5"}}, card(), None),
        ({"number": "4", "card": "text"}, card(), None),
        ({"number": 4}, card(), None),
        ({"number": None}, card(), None),
        ({"number": "4"}, {"properties": {"card": {"properties": {}}}}, None),
        ({"number": "4"}, {"properties": {"card": {"properties": {"number": TEXT}, "type": "array"}}}, None),
        ({"number": "4"}, {"properties": {one: {"properties": {"number": TEXT}} for one in "ab"}}, None),
        (
            {"number": "4"},
            {"properties": {"card": {"anyOf": [{"type": "null"}, {"properties": {"number": TEXT}}]}, "x": True}},
            (MADE, False, True),
        ),
        ({"number": "4"}, {"properties": {"card": {"anyOf": [{"properties": {"number": TEXT}}] * 2}}}, None),
        ({"number": "4"}, {}, None),
    ],
)
def test_one_level_down(body: Any, schema: Any, wanted: Any) -> None:
    assert outcome(unknown("/body/number", schema), post(body)) == wanted


def test_of_members_that_go_together_the_first_one_leads() -> None:
    second = outcome(unknown("/body/exp", card("number")), post({"number": "4", "exp": 5}))
    assert second == (BOTH, True, False)


def test_what_is_declared_stays() -> None:
    violation = unknown("/body/number", card("number"), siblings=("exp", "card"))
    assert outcome(violation, post({"number": "4", "exp": 5})) == (MADE, False, True)


@rows("name", ["id", "name", "type", "kind", "title", "description", "status", "state", "value"])
def test_names_that_every_thing_has_prove_nothing(name: str) -> None:
    schema = {"properties": {"card": {"properties": {name: TEXT}, "required": [name]}}, "required": ["card"]}
    found = outcome(unknown(f"/body/{name}", schema), post({name: "x"}))
    assert found is not None
    assert found[1] is False
    outer = {"properties": {name: TEXT}, "required": [name]}
    found = outcome(unknown(f"/body/card/{name}", {}, outer_schema=outer), post({"card": {name: "x"}}))
    assert found is not None
    assert found[1] is False


UP = ["test /body/card/note", "move /body/card/note /body/note"]


@rows(
    ("body", "outer", "wanted"),
    [
        ({"card": {"note": "x"}}, {"properties": {"note": TEXT}, "required": ["note"]}, (UP, True, True)),
        ({"card": {"note": "x"}}, {"properties": {"note": TEXT}}, (UP, False, True)),
        ({"card": {"note": "x"}, "note": "y"}, {"properties": {"note": TEXT}}, None),
        ({"card": {"note": 5}}, {"properties": {"note": TEXT}}, None),
        ({"card": {"note": "x"}}, {"properties": {}}, None),
        ({"card": {"note": "x"}}, None, None),
    ],
)
def test_one_level_up(body: Any, outer: Any, wanted: Any) -> None:
    assert outcome(unknown("/body/card/note", {}, outer_schema=outer), post(body)) == wanted


def test_up_and_down_is_a_choice_of_nobody() -> None:
    schema = {"properties": {"in": {"properties": {"note": TEXT}}}}
    outer = {"properties": {"note": TEXT}}
    request = post({"card": {"note": "x"}})
    assert outcome(unknown("/body/card/note", schema), request) is not None
    assert outcome(unknown("/body/card/note", schema, outer_schema=outer), request) is None


def test_what_is_never_moved() -> None:
    token = {"properties": {"card": {"properties": {"token": TEXT}}}}
    assert outcome(unknown("/body/token", token), post({"token": "secret"})) is None
    assert outcome(unknown("/query/number", card()), Request("POST", "/x", {"number": "4"})) is None
    assert outcome(unknown("/body/0", card()), post(["4"])) is None


def test_a_move_is_confirmed_where_much_hangs_on_it() -> None:
    for name, asks in (("amount", True), ("number", False)):
        move = move_member(unknown(f"/body/{name}", card()), post({name: "4"}))
        assert move is not None
        assert move.suggestion["safety"].get("requires_confirmation", False) is asks


def test_in_a_form_a_text_may_be_a_number() -> None:
    assert outcome(unknown("/body/exp", card()), post({"exp": "5"}, form=True)) is not None
    assert outcome(unknown("/body/exp", card()), post({"exp": "5"})) is None


def test_a_member_of_an_element_is_moved_after_a_test() -> None:
    found = outcome(unknown("/body/list/0/number", card("number")), post({"list": [{"number": "4"}]}))
    assert found is not None
    assert found[0][0] == "test /body/list/0/number"
    long = outcome(unknown("/body/list/0/number", card()), post({"list": [{"number": "4" * 300}]}))
    assert long is None  # nothing identifies the element


STATE = {"properties": {"type": TEXT, "at": TEXT}, "required": ["type"]}


@rows(
    ("body", "schema", "wraps"),
    [
        ({"type": "x"}, STATE, True),
        ({"type": "x", "at": "y", "kept": 1}, STATE, True),
        ({"at": "y"}, STATE, False),
        ({"type": 5}, STATE, False),
        ({"type": "x", "more": 1}, STATE, False),
        ({"kept": 1}, STATE, False),
        ({}, STATE, False),
        ({"state": 1, "type": "x"}, STATE, False),
        ({"type": "x"}, {}, False),
        ({"type": "x"}, {"properties": []}, False),
        ({f"m{n}": 1 for n in range(16)}, {"properties": {f"m{n}": {} for n in range(17)}}, True),
        ({f"m{n}": 1 for n in range(17)}, {"properties": {f"m{n}": {} for n in range(17)}}, False),
    ],
)
def test_members_of_a_missing_object(body: Any, schema: Any, wraps: bool) -> None:
    violation = SchemaViolation("/body/state", "required", schema, MISSING, ("kept",))
    suggestion = into_missing(violation, post(body))
    assert (suggestion is not None) is wraps
    if suggestion is not None:
        inner = [name for name in body if name != "kept"]
        assert suggestion["patch"][len(inner) :] == [
            {"op": "add", "path": "/body/state", "value": {}},
            *({"op": "move", "from": f"/body/{name}", "path": f"/body/state/{name}"} for name in inner),
        ]


def test_what_is_not_wrapped() -> None:
    assert into_missing(SchemaViolation("/body/state", "required", STATE), post({"type": "x"}, form=True)) is None
    assert into_missing(SchemaViolation("/body/state", "required", STATE), post([])) is None
    query = Request("POST", "/x", {"type": "x"})
    assert into_missing(SchemaViolation("/query/state", "required", STATE), query) is None


BOOK = {"properties": {"title": TEXT, "note": TEXT}, "required": ["title"]}


@rows(
    ("body", "around", "unwraps"),
    [
        ({"book": {"title": "T"}}, BOOK, True),
        ({"book": {"title": "T"}}, {**BOOK, "x-required": ["title"]}, True),
        ({"book": {"note": "N"}}, BOOK, False),
        ({"book": {"title": 5}}, BOOK, False),
        ({"book": {"title": "T"}, "more": 1}, BOOK, False),
        ({"book": "T"}, BOOK, False),
        ({"note": {"title": "T"}}, BOOK, True),  # the text that `note` is does not hold an object
        ({"note": {"title": "T"}}, {**BOOK, "properties": {"title": TEXT, "note": {}}}, False),
        ({"book": {"title": "T"}}, {"properties": {"title": TEXT}}, False),
        ({"book": {"title": "T"}}, {"required": ["title"]}, False),
        ({"book": {"title": "T"}}, None, False),
        ({}, BOOK, False),
        ([], BOOK, False),
    ],
)
def test_an_object_inside_of_an_unknown_member(body: Any, around: Any, unwraps: bool) -> None:
    violation = unknown("/body/book", BOOK)
    suggestion = unwrapped("/body", around, violation, post(body))
    assert (suggestion is not None) is unwraps
    assert unwrapped("/body", around, violation, post(body, form=True)) is None
    if suggestion is not None:
        assert suggestion["patch"][-1] == {"op": "move", "from": f"/body/{next(iter(body))}", "path": "/body"}
        assert unwrapped("/query", around, violation, Request("POST", "/x", body)) is None


@pytest.mark.parametrize(("name", "asks"), [("book", False), ("Books", False), ("data", False), ("template", True)])
def test_an_object_is_taken_out_of_a_member_that_is_called_like_nothing_in_the_path_once_confirmed(
    name: str, asks: bool
) -> None:
    request = Request("POST", "/v1/books", body={name: {"title": "T"}})
    suggestion = unwrapped("/body", BOOK, unknown(f"/body/{name}", BOOK), request)
    assert suggestion is not None
    assert suggestion["safety"].get("requires_confirmation", False) is asks


@pytest.mark.parametrize(
    ("pointer", "body", "schema", "confirms"),
    [
        ("number", {"number": "4"}, card("number", required=["card"]), None),
        ("number", {"number": "4"}, card("number"), None),
        ("number", {"number": "4"}, card("number", "exp"), True),  # its other member would still be missing
        ("name", {"name": "mine"}, card("name"), True),  # it may be the name of another thing
        ("exp", {"number": "4", "exp": 5}, card("number"), True),  # the first one leads
    ],
)
def test_an_uncertain_move_that_is_the_only_suggestion_is_confirmed(
    pointer: str, body: Any, schema: Any, confirms: bool | None
) -> None:
    repaired = repair(SchemaViolation(f"/body/{pointer}", MISPLACED, schema), post(body), "g")
    assert repaired is not None
    (suggestion,) = repaired.suggestions
    assert suggestion["safety"].get("requires_confirmation") is confirms


MAP = {"type": "object", "format": "map"}
AROUND = {"properties": {"data": MAP, "options": MAP, "version": {"type": "integer"}}}
FLAT = {"user": "ops", "level": 3}


def missing_map(body: Any, schema: Any = MAP, *, form: bool = False, **more: Any) -> tuple[Any, Any]:
    """Return where the undeclared members of a body go, and whether that is confirmed; of a question nothing."""
    siblings = more.pop("siblings", ("data", "options", "version"))
    request = post(body, form=form)
    violation = SchemaViolation("/body/data", "required", schema, siblings=siblings, parent_schema=more or AROUND)
    repaired = repair(violation, request, "1.")
    assert repaired is not None
    first = repaired.suggestions[0]
    moves = [(op["from"], op["path"]) for op in first.get("patch", ()) if op["op"] == "move"]
    return moves, first["safety"].get("requires_confirmation", False)


@rows(
    ("body", "schema"),
    [
        (FLAT, MAP),
        (FLAT, {"type": "object"}),
        (FLAT, {}),
        (FLAT, {"description": "What the tool takes"}),
        (FLAT, {"type": "object", "additionalProperties": {"type": ["string", "integer"]}}),
        ({**FLAT, "version": 3}, MAP),  # which is declared, and stays
        ({**FLAT, "options": {"cas": 0}}, MAP),
    ],
)
def test_what_has_no_place_goes_into_a_missing_map_once_that_is_confirmed(body: Any, schema: Any) -> None:
    moves = [("/body/user", "/body/data/user"), ("/body/level", "/body/data/level")]
    assert missing_map(body, schema) == (moves, True)


@rows(
    ("body", "schema", "more"),
    [
        ({}, MAP, {}),
        ({"version": 3}, MAP, {}),
        ({**FLAT, "more": {"a": 1}}, MAP, {}),  # which may be the map under another name
        ({**FLAT, "more": [1]}, MAP, {}),
        ({**FLAT, "verison": 3}, MAP, {}),  # a slip: it belongs where it is
        (FLAT, {"type": "object", "additionalProperties": {"type": "string"}}, {}),
        (FLAT, {"type": "object", "additionalProperties": False}, {}),
        (FLAT, {"type": "object", "properties": {"name": TEXT}}, {}),
        (FLAT, {"type": "object", "required": ["name"]}, {}),
        (FLAT, {"type": "object", "oneOf": [MAP]}, {}),
        (FLAT, {"type": ["object", "string"]}, {}),
        ({"user": "ops"}, {}, {}),  # which may be the data under another name
        (FLAT, {"minLength": 1}, {}),
        (FLAT, {"type": "array"}, {}),
        (FLAT, MAP, {**AROUND, "required": ["data", "version"]}),  # that alone would not do
        (FLAT, MAP, {"siblings": ()}),  # what is declared there is not known
        ({str(number): 1 for number in range(17)}, MAP, {}),
        ([FLAT], MAP, {}),
    ],
)
def test_otherwise_the_map_is_asked_for(body: Any, schema: Any, more: dict[str, Any]) -> None:
    assert missing_map(body, schema, **more) == ([], False)


def test_what_takes_anything_is_no_map_under_any_other_name() -> None:
    violation = SchemaViolation(
        "/body/owner", "required", {}, siblings=("owner", "version"), parent_schema={"properties": {"owner": {}}}
    )
    repaired = repair(violation, post(FLAT), "1.")
    assert repaired is not None
    assert "patch" not in repaired.suggestions[0]


def test_a_form_has_no_map() -> None:
    assert missing_map({"user": "ops", "level": "3"}, form=True) == ([], False)
