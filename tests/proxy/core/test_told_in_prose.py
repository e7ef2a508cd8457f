"""What is found where a server says in a sentence of its own what is wrong: an API with nothing but a description."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.schema.exchange import Exchange, Request
from corrigible.schema.feedback import parse
from corrigible.schema.reader import NeedsInput, Next, Terminal, apply
from corrigible.schema.writer import validate
from tests._support.rows import rows

DESCRIPTION = """
openapi: 3.0.3
info: {title: Hall, version: '3'}
servers: [{url: /v3}]
paths:
  /halls:
    get:
      parameters: [{name: order, in: query, schema: {type: string}}, {name: near, in: query, schema: {type: string}}]
      responses: &any {default: {description: any}}
    post:
      parameters: [{name: label, in: query, schema: {type: string}}]
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Hall'}}}}
      responses: *any
  /halls/{hall}:
    parameters: [{name: hall, in: path, required: true, schema: {type: string}}]
    get: {responses: *any}
    delete: {responses: *any}
  /halls/{hall}/bookings:
    parameters: [{name: hall, in: path, required: true, schema: {type: string}}]
    post:
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Booking'}}}}
      responses: *any
  /halls/{hall}/plan/{planName}:
    parameters:
    - {name: hall, in: path, required: true, schema: {type: string}}
    - {name: planName, in: path, required: true, schema: {type: string}}
    put: {responses: *any}
  /prices/:
    get: {responses: *any}
  /seasons:
    get: {responses: *any}
  /seasons/open:
    post: {responses: *any}
  /seasons/close:
    post: {responses: *any}
  /seasons/{season}:
    parameters: [{name: season, in: path, required: true, schema: {type: string}}]
    delete: {responses: *any}
  /seasons/{season}/plan:
    parameters: [{name: season, in: path, required: true, schema: {type: string}}]
    get: {responses: *any}
components:
  schemas:
    Hall:
      type: object
      properties:
        title: {type: string}
        seats: {type: integer}
        floor: {type: string}
        extras: {type: object, additionalProperties: {type: string}}
        stage: {type: object, properties: {depth: {type: number}, curtain: {type: string}, force: {type: boolean}}}
    Booking:
      type: object
      properties:
        guest: {type: string}
        opens: {type: string}
        closes: {type: string}
        capacity: {type: integer}
        seat_category: {type: string}
        deposit: {type: object}
"""
BOOK = "/v3/halls/h-1/bookings"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    spec = tmp_path_factory.mktemp("spec") / "halls.json"
    spec.write_bytes(orjson.dumps(yaml.safe_load(DESCRIPTION)))
    return build_engine((), Path(spec))


def feedback(engine: Engine, request: Request, message: str, status: int = 400) -> dict[str, Any] | None:
    exchange = Exchange(request, status, {}, orjson.dumps({"error": message}), "e", 1.0)
    decision = run_with_lookups_sync(engine.decide(exchange), lambda lookup: LookupAnswer(0))
    if not isinstance(decision, Annotate):
        return None
    validate(parse(decision.feedback), vocabulary=decision.pack.vocabulary)
    return dict(decision.feedback)


def asked(engine: Engine, request: Request, message: str, status: int = 400) -> list[str]:
    """Return the places that are asked for; of an edit that wants a confirmation, the place it changes."""
    answer = feedback(engine, request, message, status)
    if answer is None:
        return []
    assert isinstance(apply(answer, request), NeedsInput)
    placeholders = [one["pointer"] for given in answer["suggestions"] for one in given.get("placeholders", ())]
    edited = [op["path"] for given in answer["suggestions"] for op in given.get("patch", ()) if op["op"] != "test"]
    return placeholders + edited


def mended(engine: Engine, request: Request, message: str, status: int = 400) -> Request | None:
    answer = feedback(engine, request, message, status)
    outcome: Next | NeedsInput | Terminal | None = apply(answer, request) if answer is not None else None
    return outcome.request if isinstance(outcome, Next) else None


def post(body: Any, path: str = "/v3/halls", **query: str) -> Request:
    return Request("POST", path, query, {"content-type": "application/json"}, body)


@rows(
    ("body", "message", "status", "places"),
    [
        # A value without quotes: behind a colon, beside its name, as the only one that can be no word of the sentence.
        ({"guest": "g-77"}, "no guest with that reference: g-77", 404, ["/body/guest"]),
        ({"guest": "maria"}, "Unknown guest: maria", 404, ["/body/guest"]),
        ({"guest": "g-77"}, "guest g-77 is not registered", 422, ["/body/guest"]),
        ({"guest": "g-77"}, "we could not find g-77 anywhere", 404, ["/body/guest"]),
        ({"capacity": 900}, "cannot seat that many, got 900", 400, ["/body/capacity"]),
        ({"guest": "maria"}, "Unknown guest: maria:vip", 404, ["/body/guest"]),
        ({"guest": "g-7 7"}, "Invalid reference (/g-7 7), letters only", 400, ["/body/guest"]),
        # Where it was looked for is in the path.
        # Two of them: either may be changed.
        # A word of the message is the name of a member: good for a question.
        ({"capacity": 3}, "the smallest capacity we rent out is twelve", 400, ["/body/capacity"]),
        ({"seat_map_name": "a/b"}, "Illegal characters in seat map", 400, ["/body/seat_map_name"]),
        # The same words in a sentence about something else.
        ({"opens": "18:00", "closes": "18:00"}, "too late: 18:00", 400, []),
        ({"capacity": 3}, "the smallest capacity we rent out is twelve", 409, []),
    ],
)
def test_a_value_or_a_name_in_a_sentence_is_the_place(
    engine: Engine, body: Any, message: str, status: int, places: list[str]
) -> None:
    if places:
        assert asked(engine, post(body, BOOK), message, status) == places
    else:
        answer = feedback(engine, post(body, BOOK), message, status)
        assert answer is None or "/body" not in str(answer["suggestions"])


@pytest.mark.parametrize("message", ["No hall h-1", "hall h-1 not found", "h-1: no such hall"])
def test_a_name_in_the_path_that_is_repeated_is_what_is_not_there(engine: Engine, message: str) -> None:
    assert asked(engine, post({"guest": "h-10"}, "/v3/halls/h-1/bookings"), message, 404) == ["/path"]


def test_a_quoted_word_inside_a_query_text_is_asked_for_there(engine: Engine) -> None:
    request = Request("GET", "/v3/halls", {"order": "-altitude,title", "near": "Ulm"})
    assert asked(engine, request, "cannot sort by 'altitude'") == ["/query/order"]


def test_a_taken_name_may_stand_in_the_query(engine: Engine) -> None:
    request = post({"title": "T"}, label="west-1")
    assert asked(engine, request, 'label "/west-1" is already in use by hall 77', 409) == ["/query/label"]


@pytest.mark.parametrize(
    ("body", "message", "places"),
    [
        ({"Name": "north"}, "hall with name north already exists", ["/body/Name"]),
        ({"title": "T", "name": "n1"}, "the slot n1 is taken, it exists already, duplicate", ["/body/name"]),
        ({"Name": "north"}, "such a hall already exists", ["/body/Name"]),
        ({"username": "mo", "email": "m@x.test"}, "User ID already taken.", ["/body/username"]),
    ],
)
def test_a_taken_name_is_the_one_that_the_message_repeats(
    engine: Engine, body: Any, message: str, places: list[str]
) -> None:
    request = post(body, "/v3/seasons/close")
    assert asked(engine, request, message, 409) == places


def test_of_a_place_and_what_holds_it_the_place_is_asked_for(engine: Engine) -> None:
    request = post({"title": "T", "stage": {"depth": 0.1, "curtain": "red"}})
    assert asked(engine, request, "the depth of a stage is more than a step") == ["/body/stage/depth"]


def test_an_unknown_member_of_a_free_map_is_left_out_only_by_the_caller(engine: Engine) -> None:
    request = post({"title": "T", "extras": {"smoke": "yes"}})
    assert asked(engine, request, 'hall T: invalid option: "smoke"') == ["/body/extras/smoke"]
    answer = feedback(engine, request, 'hall T: invalid option: "smoke"') or {}
    assert [one["safety"]["changes_intent"] for one in answer["suggestions"]] == [True]


def test_a_sentence_behind_another_says_which_field_is_empty(engine: Engine) -> None:
    request = post({"seats": 4})
    assert asked(engine, request, 'refused for kind "hall": field title cannot be empty') == ["/body/title"]


@pytest.mark.parametrize(
    ("message", "is_mended"),
    [
        ("Please provide what the hall is called", True),  # of what is absent
        ("the title has to have letters", True),  # of the name that was meant
        ("Hall refused", True),  # of nothing at all
        ("the architect said that it will not stand", False),
    ],
)
def test_a_near_name_counts_where_something_is_missed(engine: Engine, message: str, *, is_mended: bool) -> None:
    after = mended(engine, post({"titel": "T", "seats": 4}), message)
    assert (after is not None and after.body == {"title": "T", "seats": 4}) is is_mended


def test_a_value_that_only_says_which_thing_it_is_does_not_hide_the_misspelt_name(engine: Engine) -> None:
    after = mended(engine, post({"title": "T-9", "saets": 4}), "title T-9 refused: no seats given")
    assert after is not None
    assert after.body == {"title": "T-9", "seats": 4}


def test_a_403_that_names_no_value_is_for_a_person(engine: Engine) -> None:
    answer = feedback(engine, Request("DELETE", "/v3/halls/main"), "main is the house's own hall and cannot go", 403)
    assert answer is not None and answer["recovery"] == "terminal"


@pytest.mark.parametrize(
    ("method", "path", "paths"),
    [
        ("POST", "/v3/seasons", ["/v3/seasons/open", "/v3/seasons/close"]),
        ("GET", "/v3/seasons/s-1", ["/v3/seasons/s-1/plan"]),
        ("PUT", "/v3/seasons", []),
        # The methods of the path itself come first.
        ("PUT", "/v3/halls", []),
    ],
)
def test_a_method_that_only_paths_below_have_leads_to_them(
    engine: Engine, method: str, path: str, paths: list[str]
) -> None:
    request = Request(method, path, body={} if method != "GET" else None)
    answer = feedback(engine, request, "no such page", 404)
    offered = [op for one in (answer or {"suggestions": []})["suggestions"] for op in one.get("patch", ())]
    assert [op["value"] for op in offered if op["op"] == "replace" and op["path"] == "/path"] == paths
    assert not paths or isinstance(apply(answer or {}, request), NeedsInput)


@pytest.mark.parametrize("path", ["/v3/halls/h-1/notes", "/v3/halls/h-1/bookings/7/notes/2"])
def test_what_the_server_misses_is_named_where_the_description_has_no_such_operation(engine: Engine, path: str) -> None:
    request = mended(engine, post({"txet": "hello"}, path), "'text' not in body")
    assert request is not None
    assert request.body == {"text": "hello"}
    assert asked(engine, post({"to": "hello"}, path), "'text' not in body") == ["/body/text"]


@pytest.mark.parametrize(
    ("method", "path", "message", "status", "is_asked"),
    [
        ("PUT", "/v3/halls/.hid/plan/ground", "plan_names may not begin with '.'", 400, True),
        ("DELETE", "/v3/halls/main", "hall parameter's length is over 3 bytes", 400, True),
    ],
)
def test_a_value_of_the_path_that_is_refused_is_asked_for(
    engine: Engine, method: str, path: str, message: str, status: int, is_asked: bool
) -> None:
    assert asked(engine, Request(method, path), message, status) == ["/path"] * is_asked


@pytest.mark.parametrize(
    ("body", "message", "places"),
    [
        ({"seat_category": "royal"}, "We don't support this category", ["/body/seat_category"]),
        ({"seat_category": "royal", "row": 1}, "We don't support this category", ["/body/seat_category"]),
    ],
)
def test_the_only_member_is_what_a_message_with_a_word_of_its_name_is_about(
    engine: Engine, body: Any, message: str, places: list[str]
) -> None:
    assert asked(engine, post(body, BOOK), message) == places


@pytest.mark.parametrize(
    ("path", "wanted"),
    [("/halls", "/apis/hall/v3/halls"), ("/halls/h-1/bookings", "/apis/hall/v3/halls/h-1/bookings"), ("/h-1", None)],
)
def test_a_path_without_the_base_path_of_the_api_gets_it(
    tmp_path_factory: pytest.TempPathFactory, path: str, wanted: str | None
) -> None:
    document = yaml.safe_load(DESCRIPTION)
    document["servers"] = []
    document["paths"] = {f"/apis/hall/v3{one}": item for one, item in document["paths"].items()}
    spec = tmp_path_factory.mktemp("based") / "halls.json"
    spec.write_bytes(orjson.dumps(document))
    request = mended(build_engine((), Path(spec)), post({"guest": "x"}, path), "<h1>Not Found</h1>", 404)
    assert (request.path if request is not None else None) == wanted


@rows(
    ("body", "message", "places"),
    [
        ({"opens": "1"}, "Bad parameter: guest", ["/body/guest"]),  # it was not sent
        ({"guest": "g"}, "Invalid parameter: guest", ["/body/guest"]),
        # The only value of the kind that is told to have been met.
        ({"by": 5, "guest": "g"}, "expected a text, got number", ["/body/by"]),
        ({"by": None, "to": None}, "unexpected null", []),
        # Of an object that is named, the member that is named besides.
        ({"deposit": {"kind": "cash", "value": "x"}}, "Unknown deposit kind", ["/body/deposit/kind"]),
        ({"deposit": {"kind": "cash", "value": "x"}}, "Unknown deposit", ["/body/deposit"]),
    ],
)
def test_a_place_that_a_short_sentence_names(engine: Engine, body: Any, message: str, places: list[str]) -> None:
    assert asked(engine, post(body, BOOK), message) == places


def test_a_value_of_the_path_is_not_asked_for_where_a_message_is_about_its_state(engine: Engine) -> None:
    request = Request("DELETE", "/v3/halls/main")
    answer = feedback(engine, request, "main must be closed first", 400)
    assert answer is not None
    assert isinstance(apply(answer, request), Terminal)
