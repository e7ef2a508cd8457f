"""Documents of GraphQL are mended by their schema: on recorded answers of real servers, and node by node.

`recorded/` holds what servers answered, and what becomes of each: the request that a reader sends unasked, the request
once somebody agrees, or the places that are asked for. Every request that is sent was sent to the server then, too, and
it took all of them but those that say otherwise. (Not sent were those of another root, such as a mutation for a query.)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import graphql
import orjson
import pytest

from corrigible.adapters.graphql.description import load
from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.rules.errors import AuthoringError
from corrigible.schema.exchange import Exchange, Json, Request
from corrigible.schema.reader import NeedsInput, Next, apply
from tests._support.rows import rows

RECORDED = Path(__file__).parent / "recorded"
SCHEMA = """
type Query { user(id: ID!, first: Int): User  users(role: Role, name: String): [User!]!  near: Near
  sold(in: Range!): Int }
type Mutation { rename(id: ID!, name: String!): User  remove(id: ID!): Boolean }
type User { id: ID!  name: String!  role: Role!  friends(first: Int): [User!]! }
union Near = User | Place
type Place { id: ID! title: String }
enum Role { ADMIN MEMBER }
input Range { from: String! to: String! }
"""


@cache
def engine(schema: Path) -> Engine:
    made = build_engine([], schema)
    made.clock = None  # steps are counted: a busy machine is no failure
    return made


@pytest.fixture
def own(tmp_path: Path) -> Path:
    file = tmp_path / "schema.graphql"
    file.write_text(SCHEMA, "utf-8")
    return file


def decided(judge: Engine, request: Request, answer: Json, status: int = 200) -> Annotate | None:
    exchange = Exchange(request, status, {"content-type": "application/json"}, orjson.dumps(answer))
    decisions = judge.decide(exchange)
    try:
        next(decisions)
    except StopIteration as done:
        assert not getattr(done.value, "fault", False), done.value
        return done.value if isinstance(done.value, Annotate) else None
    raise AssertionError("a look-up was made")


def posted(body: Json) -> Request:
    return Request("POST", "/graphql", {}, {"content-type": "application/json"}, body)


def outcome(judge: Engine, request: Request, answer: Json, status: int = 200) -> dict[str, Any]:
    """Return what a reader does with the feedback."""
    decision = decided(judge, request, answer, status)
    if decision is None:
        return {"silent": True}
    feedback: Mapping[str, Any] = decision.feedback
    if feedback["recovery"] == "terminal":
        return {"ends": True}
    unasked, agreed = apply(feedback, request), apply(feedback, request, confirm=True)
    if isinstance(unasked, Next):
        return {"sends": unasked.request.body if request.body is not None else dict(unasked.request.query)}
    assert isinstance(unasked, NeedsInput)
    suggestions = feedback["suggestions"]
    asked = sorted({one["pointer"] for each in suggestions for one in each.get("placeholders", ())})
    return {"asks": asked, "confirms": agreed.request.body if isinstance(agreed, Next) else len(suggestions)}


@rows(
    "server",
    sorted(one.stem for one in RECORDED.glob("*.json")),
)
def test_recorded(server: str) -> None:
    told = json.loads((RECORDED / f"{server}.json").read_text("utf-8"))
    judge = engine(RECORDED / told["schema"])
    wrong = [
        f"{one['id']}: {found}, wanted {one['wanted']}"
        for one in told["cases"]
        if (found := outcome(judge, posted(one["request"]), one["answer"], one["status"])) != one["wanted"]
    ]
    assert wrong == []


def refused(message: str, column: int = 0, **more: Json) -> Json:
    places: Json = [{"line": 1, "column": column}] if column else []
    return {"errors": [{"message": message, "locations": places, **more}]}


def test_what_is_not_mended_stays_as_it_was_written(own: Path) -> None:
    text = "query Q { # mine\n  user( id : 7 ,) {\n\tnmae   # theirs\n    role } }"
    found = outcome(engine(own), posted({"query": text}), refused("Cannot query nmae"))
    assert found == {"sends": {"query": text.replace("nmae", "name")}}


def test_a_success_and_a_part_of_one_are_left_alone(own: Path) -> None:
    request = posted({"query": "{ user(id: 7) { nmae } near { __typename } }"})
    error = refused("Cannot query field nmae")
    assert isinstance(error, dict)
    for data in ({"user": {"name": "a"}}, {"user": None, "near": {"__typename": "User"}}):
        assert outcome(engine(own), request, {**error, "data": data}) == {"silent": True}
        assert outcome(engine(own), request, {"data": data}) == {"silent": True}


def test_lists_of_calls_and_forms_are_left_alone(own: Path) -> None:
    body = {"query": "{ user(id: 7) { nmae } }"}
    assert outcome(engine(own), posted([body]), [refused("Cannot query field nmae")]) == {"silent": True}
    form = Request("POST", "/graphql", {}, {}, {"operations": json.dumps(body)}, form=True)
    assert outcome(engine(own), form, refused("Cannot query field nmae")) == {"silent": True}


def test_an_edit_that_no_error_is_about_is_asked_about(own: Path) -> None:
    request = posted({"query": "{ user(id: 7) { nmae } }"})
    sent = {"query": "{ user(id: 7) { name } }"}
    assert outcome(engine(own), request, refused("Query is too complex")) == {"asks": [], "confirms": sent}
    assert outcome(engine(own), request, refused("no", 17)) == {"sends": sent}


def test_what_was_executed_has_no_mistake_in_its_document(own: Path) -> None:
    request = posted({"query": "{ user(id: 7) { nmae } }"})
    answer = refused("Service down", path=["user"], extensions={"code": "INTERNAL_SERVER_ERROR"})
    assert "sends" not in outcome(engine(own), request, answer)


def test_what_follows_a_mutation_of_which_a_part_has_run_is_confirmed() -> None:
    told = json.loads((RECORDED / "yoga.json").read_text("utf-8"))
    judge = engine(RECORDED / told["schema"])
    seen = 0
    for case in told["cases"]:
        if case["id"] == "alone: addSeats (p6a)":
            continue
        decision = decided(judge, posted(case["request"]), case["answer"], case["status"])
        feedback: Mapping[str, Any] = decision.feedback if decision is not None else {}
        suggestions = feedback.get("suggestions", ())
        seen += len(suggestions)
        assert all(one["safety"]["requires_confirmation"] for one in suggestions), case["id"]
        assert not feedback.get("retry", {}).get("same_request"), case["id"]
    assert seen >= len(told["cases"]) - 2


@rows(
    ("text", "path", "is_confirmed"),
    [
        ('mutation { a: remove(id: 1) rename(id: 7, name: "") { id } }', ["rename"], True),
        ('mutation { a: remove(id: 1) rename(id: 7, name: "") { id } }', ["a"], True),
        ('mutation { rename(id: 7, name: "") { friends(first: 0) { id } } }', ["rename", "friends"], True),
        ('mutation { rename(id: 7, name: "") { id } }', ["rename"], False),
        ('mutation { rename(id: 7, name: "") { id } }', ["rename", "name"], False),
        ('mutation { rename(id: 7, name: "") { name } }', ["rename", "name"], True),
        ('mutation { rename(id: 7, name: "") { ...N } } fragment N on User { name }', ["rename", "name"], True),
        ('mutation { rename(id: 7, name: "") { id } }', ["rename", 0], True),
        ('mutation { a: remove(id: 1) rename(id: 7, name: "") { id } }', ["rename", "name"], True),
        ('query { a: user(id: 1) { id } users(name: "") { id } }', ["users"], False),
        ('mutation { a: remove(id: 1) rename(id: 7, name: "") { id } }', None, True),
    ],
)
def test_a_mutation_may_have_run_in_part(own: Path, text: str, path: Json, is_confirmed: bool) -> None:
    more = {} if path is None else {"path": path}
    answer = {**refused("name must not be empty", extensions={"code": "BAD_USER_INPUT"}, **more), "data": None}
    decision = decided(engine(own), posted({"query": text}), answer)
    suggestions: Any = decision.feedback["suggestions"] if decision is not None else ()
    assert all(bool(one["safety"].get("requires_confirmation")) is is_confirmed for one in suggestions)
    assert suggestions or path not in (["rename"], ["users"])


@pytest.mark.parametrize(("data", "is_kept"), [({"rename": None, "a": None}, False), (None, True)])
def test_fields_behind_a_refused_one_have_run_where_there_is_data(own: Path, data: Json, is_kept: bool) -> None:
    """Without data the refused field may not be null, and has ended those behind it."""
    text = 'mutation { rename(id: 7, name: "") { id } a: remove(id: 1) }'
    error: Any = refused("name must not be empty", path=["rename"], extensions={"code": "BAD_USER_INPUT"})
    decision = decided(engine(own), posted({"query": text}), {**error, "data": data})
    suggestions: Any = decision.feedback["suggestions"] if decision is not None else ()
    assert suggestions
    for one in suggestions:
        written = [str(edit["value"]) for edit in one["patch"] if edit["path"] == "/body/query"]
        assert ("remove" in [text, *written][-1]) is is_kept
        assert one["safety"]["requires_confirmation"]


@rows(
    ("text", "variables", "path", "asked"),
    [
        ("query ($i: ID!) { user(id: $i) { name } }", {}, ["variable", "i"], ["/body/variables/i"]),
        ("query ($i: ID!) { variable: user(id: $i) { name } }", {}, ["variable", "i"], None),
        ("query ($n: String!) { users(name: $n) { id } }", {"n": "Ada"}, ["variable", "n"], None),
        (
            "query ($r: Range!) { sold(in: $r) }",
            {"r": {"from": "1", "to": {}}},
            ["variable", "r", "to"],
            ["/body/variables/r/to"],
        ),
        ("query ($r: Range!) { sold(in: $r) }", {"r": {"from": "1", "to": 3}}, ["variable", "r", {"a": 1}, 9], None),
        ("query ($r: Range!) { sold(in: $r) }", {"r": {"from": "1", "to": 3}}, ["variable", "q", "to"], None),
    ],
)
def test_a_path_into_the_variables_is_the_place_of_an_error(
    own: Path, text: str, variables: Json, path: Json, asked: Json
) -> None:
    """A path that begins with the name of a field or that the schema has nothing against sends nothing."""
    found = outcome(
        engine(own), posted({"query": text, "variables": variables}), {**refused("no", path=path), "data": None}
    )
    assert "sends" not in found
    if asked is not None:
        assert found == {"asks": asked, "confirms": 1}


def test_a_document_that_is_not_mended_is_no_unknown_operation(own: Path) -> None:
    exchange = Exchange(
        posted({"query": "{ near { __typename } }"}), 422, {}, orjson.dumps(refused("Cannot plan this"))
    )
    with pytest.raises(StopIteration) as done:
        next(engine(own).decide(exchange))
    assert done.value.value.reason == "no rule matches, and the description gives no correction"


def test_a_header_is_no_argument(own: Path) -> None:
    request = posted({"query": 'mutation { rename(id: 7, name: "") { id } }'})
    answer = refused("name must not be empty", path=["rename"], extensions={"code": "BAD_USER_INPUT"})
    assert outcome(engine(own), request, answer) == {"asks": ["/body/variables/name"], "confirms": 1}


def test_line_ends_and_long_documents_are_no_hindrance(own: Path) -> None:
    error = refused("Cannot query field nmae")
    for before in ("\ufeff", "\r\n", "# long\n" * 350):
        found = outcome(engine(own), posted({"query": f"{before}{{ user(id: 7) {{ nmae }} }}"}), error)
        assert found["sends"]["query"].endswith("{ user(id: 7) { name } }"), before


def test_the_hash_of_a_persisted_document_follows(own: Path) -> None:
    persisted = {"persistedQuery": {"version": 1, "sha256Hash": "0" * 64}}
    request = posted({"query": "{ user(id: 7) { nmae } }", "extensions": persisted})
    changed = outcome(engine(own), request, refused("Cannot query field nmae"))
    sent = changed.get("sends") or changed["confirms"]
    told = hashlib.sha256(sent["query"].encode()).hexdigest()
    assert sent["extensions"]["persistedQuery"]["sha256Hash"] == told


def test_variables_as_text_become_an_object(own: Path) -> None:
    body = {"query": "query($id: ID!) { user(id: $id) { name } }", "variables": '{"id": "7"}'}
    found = outcome(engine(own), posted(body), refused('"variables" must be an object'), 400)
    assert found == {"sends": {**body, "variables": {"id": "7"}}}


def test_a_document_in_the_query_of_a_get_is_mended_there(own: Path) -> None:
    request = Request("GET", "/graphql", {"query": "{ user(id: 7) { nmae } }"}, {}, None)
    found = outcome(engine(own), request, refused("Cannot query field nmae", 17), 400)
    assert found == {"sends": {"query": "{ user(id: 7) { name } }"}}


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ('mutation { renam(id: 7, name: "a") { id } }', 'mutation { rename(id: 7, name: "a") { id } }'),
        ('query Q { users(nam: "a") { id } }', None),
    ],
)
def test_another_call_is_agreed_to(own: Path, text: str, sent: str | None) -> None:
    found = outcome(engine(own), posted({"query": text}), refused(f"wrong: {text.replace('(', ' ')}"))
    assert found == (
        {"asks": [], "confirms": {"query": sent}} if sent else {"sends": {"query": text.replace("nam:", "name:")}}
    )


def test_a_value_of_a_literal_that_is_refused_becomes_a_variable(own: Path) -> None:
    request = posted({"query": '{ user(id: "x") { name } }'})
    answer = refused("id is not valid", path=["user"], extensions={"code": "BAD_USER_INPUT"})
    decision = decided(engine(own), request, answer)
    assert decision is not None
    (suggestion,) = decision.feedback["suggestions"]
    assert suggestion["patch"][-2:] == [
        {"op": "replace", "path": "/body/query", "value": "query ($id: ID!) { user(id: $id) { name } }"},
        {"op": "add", "path": "/body/variables", "value": {}},
    ]
    assert [one["pointer"] for one in suggestion["placeholders"]] == ["/body/variables/id"]


def test_a_schema_is_read_as_sdl_and_as_an_introspection(own: Path, tmp_path: Path) -> None:
    graphql = pytest.importorskip("graphql")
    told = graphql.introspection_from_schema(load(own).schema)
    file = tmp_path / "schema.json"
    for content in (told, {"data": told}):
        file.write_text(json.dumps(content), "utf-8")
        assert load(file).operations.names == load(own).operations.names
        request = posted({"query": "{ user(id: 7) { nmae } }"})
        assert "sends" in outcome(build_engine([], file), request, refused("no nmae"))
    file.write_text("type Query { a: ", "utf-8")
    with pytest.raises(AuthoringError, match=r"schema\.json:1: Syntax Error"):
        load(file)


def asked_places(decision: Annotate | None) -> list[str]:
    assert decision is not None
    return [one["pointer"] for each in decision.feedback["suggestions"] for one in each.get("placeholders", ())]


@rows(
    ("text", "count"),
    [
        ("mutation { rename { id } }", 2),
        ("mutation Two { rename { id } }", 2),
        ('mutation Two($n: String!) { a: rename(name: $n) { id } b: rename(name: "x") { id } }', 2),
        ("{ a: users(role: KING) { id } b: users(role: QUEEN) { id } }", 2),
        ("query ($role: Role) { c: users(role: $role) { id } a: users(role: KING) { id } }", 1),
        ("{ sold(in: {}) }", 2),
        ('{ sold(in: {begin: "1"}) }', 2),
        ("{ user { id } users(role: KING) { id } }", 2),
    ],
)
def test_each_value_that_is_asked_for_has_a_variable_of_its_own(own: Path, text: str, count: int) -> None:
    variables: dict[str, Json] = {"n": "Ada"} if "$n" in text else {"role": "ADMIN"} if "$role" in text else {}
    request = posted({"query": text, "variables": variables})
    decision = decided(engine(own), request, {"errors": [{"message": "required, KING, QUEEN, begin"}]}, 400)
    places = asked_places(decision)
    assert len(places) == len(set(places)) == count, places
    assert decision is not None
    patched = [
        op["value"]
        for one in decision.feedback["suggestions"]
        for op in one.get("patch", ())
        if op["path"] == "/body/query" and op["op"] == "replace"
    ]
    document = graphql.parse(patched[-1])
    problems = graphql.validate(graphql.build_schema(SCHEMA), document)
    assert not [one for one in problems if "Unique" in one.message or "declared" in one.message], patched
    operation = document.definitions[0]
    assert isinstance(operation, graphql.OperationDefinitionNode)
    declared = [one.variable.name.value for one in operation.variable_definitions or ()]
    assert {place.rpartition("/")[2] for place in places} <= set(declared)
    assert len(declared) == len(set(declared))


def test_a_variable_that_is_declared_twice_and_used_twice_is_not_mended_unasked(own: Path) -> None:
    text = "query ($role: Role, $role: Role) { a: users(role: $role) { id } b: users(role: $role) { id } }"
    request = posted({"query": text, "variables": {"role": "ADMIN"}})
    answer: Json = {"errors": [{"message": 'There can be only one variable named "$role".'}]}
    assert "sends" not in outcome(engine(own), request, answer, 400)


def test_a_name_that_the_server_asks_back_about_is_confirmed(own: Path) -> None:
    request = posted({"query": '{ users(limit: "Ada") { id } }'})
    answer: Json = {"errors": [{"message": 'Unknown argument "limit" on field "Query.users". Did you mean "name"?'}]}
    assert outcome(engine(own), request, answer, 400)["confirms"] == {"query": '{ users(name: "Ada") { id } }'}


def test_what_is_left_out_beside_a_question_is_confirmed(own: Path) -> None:
    request = posted({"query": '{ sold(in: {begin: "1"}) }'})
    decision = decided(engine(own), request, {"errors": [{"message": 'Field "begin" is not defined'}]}, 400)
    assert decision is not None
    assert decision.feedback["suggestions"][0]["safety"]["requires_confirmation"]


@rows(
    ("text", "sent"),
    [
        ("{ users(name: 'Ada') { id } }", '{ users(name: "Ada") { id } }'),
        ("{ users(name: \u201cAda\u201d) { id } };", '{ users(name: "Ada") { id } }'),
        ('{ users(name: \\"Ada\\") { id }', '{ users(name: "Ada") { id }}'),
        ('{ sold(in: {"from": "1", "to": "2"}) }', '{ sold(in: {from: "1", to: "2"}) }'),
        ("mutaton { remove(id = 7) }", "mutation { remove(id : 7) }"),
        ("{ users() { id } }", "{ users { id } }"),
        ('{ users(name: "Ada (x" { id } }', '{ users(name: "Ada (x") { id } }'),
        ('{ sold(in: {from: "1", to: "2"} }', ""),
        ("query ($r: Role { users(role: $r) { id } }", "query ($r: Role) { users(role: $r) { id } }"),
        ('mutation { rename(id: 7, name: "a" { id } }', 'mutation { rename(id: 7, name: "a") { id } }'),
        ("{ users(name { id } }", ""),
        ("{ users { id [name] } }", ""),
        ("{ users(name: 'it's') { id } }", ""),
    ],
)
def test_signs_that_can_only_be_meant_in_one_way_are_mended(own: Path, text: str, sent: str) -> None:
    found = outcome(engine(own), posted({"query": text}), refused("Syntax Error: Unexpected character"))
    assert found == ({"sends": {"query": sent}} if sent else {"asks": ["/body/query"], "confirms": 1})


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("{ booked(in: {startHour: 1, lengthHours: 2}) { id } }", "lengthMinutes"),
        ("{ booked(in: {startHour: 1, lengthMinutes: 2, onlyUnpaid: true}) { id } }", "onlyPaid"),
        ("{ booked(in: {startHour: 1, lengthMinutes: 2}, weightG: 4) { id } }", "weightKg"),
        ("{ booked(in: {startHour: 1, lengthMinutes: 2}, notLate: true) { id } }", "late"),
    ],
)
def test_what_is_meant_in_other_terms_is_asked_for(tmp_path: Path, text: str, asked: str) -> None:
    file = tmp_path / "booked.graphql"
    file.write_text(
        "type Query { booked(in: In, weightKg: Float, late: Boolean): [B] } type B { id: ID }"
        " input In { startHour: Int! lengthMinutes: Int! onlyPaid: Boolean }",
        "utf-8",
    )
    words = "Unknown: lengthHours onlyUnpaid weightG notLate"
    found = outcome(engine(file), posted({"query": text}), refused(words), 400)
    assert found["asks"] == [f"/body/variables/{asked}"]


UNIONS = """
type Query { find: [Found!]!  stay(from: Day!): Stay  book(input: In!): Stay  pay(amount: Money!, of: Int): Stay
  paid(amount: Money!): Stay  limits(input: Limits!): Stay }
type Mutation { pay(amount: Money!): Stay }
scalar Day scalar Money
union Found = Room | Guest | Stay
type Room { id: ID! name: String! beds: Int }
type Guest { id: ID! name: String! email: String }
type Stay { id: ID! }
input In { room: ID! weightKg: Float! }
input Limits { guests: Int! nights: Int! }
"""


@pytest.fixture
def inn(tmp_path: Path) -> Engine:
    file = tmp_path / "inn.graphql"
    file.write_text(UNIONS, "utf-8")
    return engine(file)


@rows(
    ("text", "fragments"),
    [
        ("{ find { id name } }", ["{ ... on Room { id name } }", "{ ... on Guest { id name } }"]),
        (
            "{ find { name __typename id } }",
            [f"{{ ... on {one} {{ name id }} __typename }}" for one in ("Room", "Guest")],
        ),
        ("{ find { id } }", ["{ ... on Room { id } ... on Guest { id } ... on Stay { id } }"]),
        ("{ find { id beds } }", ["{ ... on Room { id beds } }"]),
        ("{ find { beds email } }", ["{ ... on Room { beds } ... on Guest { email } }"]),
        ("{ find { beds } }", ["{ ... on Room { beds } }"]),
    ],
)
def test_all_fields_of_a_union_are_selected_in_one_edit(inn: Engine, text: str, fragments: list[str]) -> None:
    """Unasked only where each field is one of a single type."""
    decision = decided(inn, posted({"query": text}), refused("Cannot query field id, name, beds, email"))
    assert decision is not None
    suggestions: Any = decision.feedback["suggestions"]
    sent = [op["value"] for one in suggestions for op in one.get("patch", ()) if op["op"] == "replace"]
    assert [" ".join(one.split()) for one in sent] == [f"{{ find {one} }}" for one in fragments]
    is_unasked = isinstance(apply(decision.feedback, posted({"query": text})), Next)
    assert is_unasked is ("id" not in text)


@rows("number", ["1250.00", "-3", "1e3"])
@rows(("start", "is_write"), [("{ paid", False), ("mutation { pay", True)])
def test_a_number_that_has_to_be_a_text_keeps_its_digits(inn: Engine, number: str, start: str, is_write: bool) -> None:
    text = f"{start}(amount: {number}) {{ id }} }}"
    sent = {"query": text.replace(number, f'"{number}"')}
    column = text.index(number) + 1
    found = outcome(inn, posted({"query": text}), refused("Money must be a string, got: FloatValue", column))
    assert found == ({"asks": [], "confirms": sent} if is_write else {"sends": sent})
    for message, place in (("Money must be a string", column + 1), ("Money must be positive", column)):
        assert "sends" not in outcome(inn, posted({"query": text}), refused(message, place))


def test_a_number_of_a_known_type_is_no_text(inn: Engine) -> None:
    text = '{ pay(amount: "1", of: 3) { id } }'
    found = outcome(inn, posted({"query": text}), refused("It must be a string", text.index("3") + 1))
    assert "sends" not in found and "query" not in str(found.get("confirms"))


def test_the_only_required_argument_takes_the_value_if_that_is_agreed_to(inn: Engine) -> None:
    text = "query ($w: Boolean!) { find { ... on Room { id @skip(when: $w) } } }"
    found = outcome(inn, posted({"query": text, "variables": {"w": True}}), refused("Unknown argument when"), 400)
    assert found["confirms"]["query"] == text.replace("when:", "if:")


def test_a_value_that_may_be_another_one_is_asked_for_beside_the_new_name(inn: Engine) -> None:
    body = posted({"query": '{ stay(when: "2031-01-01") { id } }'})
    found = outcome(inn, body, refused("Unknown argument when"), 400)
    assert found == {"asks": ["/body/variables/from"], "confirms": 2}


@pytest.mark.parametrize("hint", ["", " Did you mean weightKg?"])
def test_what_is_asked_for_takes_the_place_of_what_was_sent(inn: Engine, hint: str) -> None:
    """A value without a unit may be what is asked for, where the server says so and whoever calls agrees."""
    query = "query ($i: In!) { book(input: $i) { id } }"
    request = posted({"query": query, "variables": {"i": {"room": "1", "weight": 2}}})
    answer = refused(f"Field weight is not defined.{hint}")
    decision = decided(inn, request, answer, 400)
    suggestions: Any = decision.feedback["suggestions"] if decision is not None else ()
    assert [one["pointer"] for one in suggestions[-1]["placeholders"]] == ["/body/variables/i/weightKg"]
    assert {"op": "remove", "path": "/body/variables/i/weight"} in suggestions[-1]["patch"]
    agreed = outcome(inn, request, answer, 400)["confirms"]
    assert agreed == ({"query": query, "variables": {"i": {"room": "1", "weightKg": 2}}} if hint else 1)


@pytest.mark.parametrize("is_literal", [True, False])
def test_two_limits_are_kept_in_one_edit(inn: Engine, is_literal: bool) -> None:
    written = "{guests: 9, nights: 60}"
    body: Any = {"query": f"{{ limits(input: {written}) {{ id }} }}"}
    if not is_literal:
        body = {
            "query": "query ($i: Limits!) { limits(input: $i) { id } }",
            "variables": {"i": {"guests": 9, "nights": 60}},
        }
    told = {
        f"input.{name}": [f"The input.{name} must not be greater than {most}."]
        for name, most in (("guests", 6), ("nights", 30))
    }
    answer = refused("Validation failed.", path=["limits"], extensions={"validation": told})
    decision = decided(inn, posted(body), answer)
    assert decision is not None and len(decision.feedback["suggestions"]) == 1
    mended = outcome(inn, posted(body), answer)["confirms"]
    assert str(mended) == str(body).replace("9", "6").replace("60", "30")


def test_values_of_directives_and_defaults_are_mended(own: Path) -> None:
    text = 'query ($n: Int = "2") { user(id: 7, first: $n) { name @include(if: "true") } }'
    found = outcome(engine(own), posted({"query": text}), refused('Int cannot represent "2", nor Boolean "true"'))
    assert found == {"sends": {"query": text.replace('"2"', "2").replace('"true"', "true")}}


def test_a_field_that_nothing_is_near_to_is_left_out_if_that_is_agreed_to(own: Path) -> None:
    text = "{ near { __typname } user(id: 7) { shoes name } }"
    found = outcome(engine(own), posted({"query": text}), refused("Cannot query shoes, nor __typname"))
    assert found["confirms"] == {"query": "{ near { __typename } user(id: 7) { name } }"}


def test_a_mutation_by_get_becomes_a_post(own: Path) -> None:
    request = Request("GET", "/graphql", {"query": "mutation ($i: ID!) { remove(id: $i) }", "variables": '{"i": 7}'})
    decision = decided(engine(own), request, "Mutations are not allowed by GET", 405)
    assert decision is not None
    assert not isinstance(apply(decision.feedback, request), Next)
    agreed = apply(decision.feedback, request, confirm=True)
    assert isinstance(agreed, Next)
    assert (agreed.request.method, agreed.request.query) == ("POST", {})
    assert agreed.request.body == {"query": "mutation ($i: ID!) { remove(id: $i) }", "variables": {"i": 7}}


def test_a_refused_custom_scalar_has_its_place(tmp_path: Path) -> None:
    file = tmp_path / "scalars.graphql"
    file.write_text("scalar Day type Query { on(day: Day!, of: ID): Int  off(day: Day!): Int }", "utf-8")
    body: Json = {"query": 'query ($d: Day!) { on(day: $d, of: 3) off(day: "2031-01-01") }', "variables": {"d": "soon"}}
    found = outcome(engine(file), posted(body), refused('cannot parse "soon" as a day'))
    assert found == {"asks": ["/body/variables/d"], "confirms": 1}


@pytest.mark.parametrize(
    ("code", "message", "asked"),
    [
        ("OUT_OF_STOCK", "No copies are left", []),
        ("ILLEGAL_STATE", "User 7 is locked and cannot be renamed", []),
        ("NAME_TAKEN", "name is taken", ["/body/variables/name"]),
        ("BAD_USER_INPUT", "name is taken", ["/body/variables/name"]),
    ],
)
def test_a_code_of_its_own_that_names_no_argument_is_about_a_state(
    own: Path, code: str, message: str, asked: list[str]
) -> None:
    request = posted({"query": 'mutation { rename(id: 7, name: "a") { id } }'})
    found = outcome(engine(own), request, refused(message, path=["rename"], extensions={"code": code}))
    assert found.get("asks", []) == asked


@rows(
    ("extensions", "message"),
    [
        ({}, "Internal server error"),
        ({}, "internal system error"),
        ({}, "calendar backend: connection reset by peer"),
        ({"exception": {"errcode": "55000"}}, "User 7 has already been renamed"),
        ({"exception": {"errcode": "42501"}}, "A locked name can only be handled by the names team"),
        ({"exception": {"errcode": "53400"}}, "Too many names for this account"),
        ({"exception": {"errcode": "58000"}}, "name printer 4 does not answer"),
    ],
)
def test_faults_rights_and_states_without_a_code_ask_for_no_value(own: Path, extensions: Json, message: str) -> None:
    """Codes as PostGraphile 5 shows those of PostgreSQL."""
    request = posted({"query": 'mutation { rename(id: 7, name: "a") { id } }'})
    answer = refused(message, path=["rename"], extensions=extensions)
    assert not outcome(engine(own), request, answer).get("asks")
    wrong: Json = {"exception": {"errcode": "23514"}}
    found = outcome(engine(own), request, refused("name is too short", path=["rename"], extensions=wrong))
    assert found["asks"] == ["/body/variables/name"]


def test_the_pause_of_an_error_is_told(own: Path) -> None:
    for message, more in (("Slow down. Try again in 30 seconds.", {}), ("Slow down.", {"retryAfter": 30})):
        extensions: Json = {"code": "RATE_LIMITED", **more}
        request = posted({"query": "mutation { remove(id: 7) }"})
        decision = decided(engine(own), request, refused(message, path=["remove"], extensions=extensions))
        assert decision is not None
        assert decision.feedback["retry"] == {"same_request": False, "after_seconds": 30}


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({"mutation": "{ users { id } }"}, {"asks": [], "confirms": {"query": "{ users { id } }"}}),
        (
            {"q": "query A { users { id } }", "note": "x"},
            {"asks": [], "confirms": {"query": "query A { users { id } }", "note": "x"}},
        ),
        ({"q": "{ users { id } }", "mutation": "{ users { name } }"}, {"asks": ["/body/query"], "confirms": 1}),
        ({"q": "users"}, {"silent": True}),
        (
            {"query": "query A($id: ID!) { user(id: $id) { id } }", "variables": "{'id': 1}"},
            {"asks": ["/body/variables"], "confirms": 1},
        ),
    ],
)
def test_the_parts_of_a_body_are_named_as_the_protocol_has_them(own: Path, body: Json, found: Json) -> None:
    told = refused("The body must have a query, not mutation; variables are an object")
    assert outcome(engine(own), posted(body), told, 400) == found


def test_other_words_of_an_error_move_no_document(own: Path) -> None:
    assert outcome(engine(own), posted({"q": "{ users { id } }"}), refused("The service is down"), 400) == {
        "silent": True
    }


def test_a_plain_value_is_compared_only_where_its_operator_takes_it(tmp_path: Path) -> None:
    file = tmp_path / "schema.graphql"
    file.write_text(
        "type Query { sold(w: Where): Int } input Where { n: Ints } input Ints { eq: Int gt: Int }", "utf-8"
    )
    judge = engine(file)
    told = refused("Expected value of type Ints", 12)
    meant = outcome(judge, posted({"query": "{ sold(w: {n: 3}) }"}), told)
    assert meant == {"asks": [], "confirms": {"query": "{ sold(w: {n: {eq: 3}}) }"}}
    assert outcome(judge, posted({"query": '{ sold(w: {n: "x"}) }'}), told) == {
        "asks": ["/body/variables/n"],
        "confirms": 1,
    }


def test_the_first_call_finds_what_was_made_of_the_schema(own: Path) -> None:
    made = build_engine([], own)
    made.warm_up()
    assert "defined" in vars(made.profiles[0].description)


@pytest.mark.parametrize("name", ["NotFound", ["id"], {"id": 1}, None, 7])
def test_the_name_of_the_class_of_an_error_is_no_place(own: Path, name: Json) -> None:
    told = {**refused("Not Found", path=["user"], extensions={"name": name, "statusCode": 404}), "data": {"user": None}}
    assert outcome(engine(own), posted({"query": "{ user(id: 7) { id } }"}), told) == {
        "asks": ["/body/variables/id"],
        "confirms": 1,
    }


def test_a_refused_cursor_is_the_one_that_was_sent(tmp_path: Path) -> None:
    file = tmp_path / "schema.graphql"
    file.write_text("type Query { pages(first: Int, after: String): Int }", "utf-8")
    told = {**refused("invalid cursor", path=["pages"]), "data": None}
    body: Json = {"query": "query P($a: String) { pages(first: 2, after: $a) }", "variables": {"a": "x"}}
    assert outcome(engine(file), posted(body), told) == {"asks": ["/body/variables/a"], "confirms": 1}


def test_an_error_of_a_field_that_the_schema_lacks_is_of_no_call(own: Path) -> None:
    told = {**refused("Access denied", path="x", extensions={"code": "UNAUTHORIZED"}), "data": None}
    assert outcome(engine(own), posted({"query": "mutation { remve(id: 1) }"}), told) == {"silent": True}
