"""Refusals that stand elsewhere in the answer, or are worded otherwise, than those of most APIs."""

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
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.schema.exchange import Exchange, Json, Request
from corrigible.schema.feedback import parse
from corrigible.schema.reader import NeedsInput, Next, Terminal, apply
from corrigible.schema.writer import validate
from tests._support.rows import rows

DESCRIPTION = """
openapi: 3.0.3
info: {title: Harbour, version: '1'}
paths:
  /ships:
    get:
      parameters: [{name: limit, in: query, schema: {type: integer}}, {name: since, in: query, schema: {type: integer}}]
      responses: &any {default: {description: any}}
    post:
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Ship'}}}}
      responses: *any
  /ships/{ship}:
    parameters: [{name: ship, in: path, required: true, schema: {type: string}}]
    get: {responses: *any}
    put:
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Ship'}}}}
      responses: *any
  /ships/{ship}/moor:
    parameters: [{name: ship, in: path, required: true, schema: {type: string}}]
    post: {responses: *any}
  /piers/{pier}/berths/{berth}:
    parameters:
    - {name: pier, in: path, required: true, schema: {type: string}}
    - {name: berth, in: path, required: true, schema: {type: string}}
    post:
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Ship'}}}}
      responses: *any
  /login:
    post:
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Login'}}}}
      responses: *any
  /pilots:
    post:
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Login'}}}}
      responses: *any
  /course:
    put:
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Course'}}}}
      responses: *any
  /signal:
    put: {requestBody: {content: {text/plain: {schema: {type: string}}}}, responses: *any}
components:
  schemas:
    Login:
      type: object
      required: [username, password]
      properties: {username: {type: string}, password: {type: string}}
    Position:
      type: object
      required: [latitude, longitude]
      properties: {latitude: {type: number}, longitude: {type: number}, note: {type: string}}
    Course:
      oneOf:
      - {type: object, required: [href], properties: {href: {type: string}}}
      - {type: object, required: [position], properties: {position: {$ref: '#/components/schemas/Position'}}}
    Ship:
      properties:
        Name: {type: string}
        Port: {type: integer}
        Crew: {type: integer}
        Force: {type: boolean}
        Flag: {type: string}
        Papers: {type: string}
        Tags: {type: object}
        Cargo: {type: array, items: {type: string}}
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    spec = tmp_path_factory.mktemp("spec") / "harbour.json"
    spec.write_bytes(orjson.dumps(yaml.safe_load(DESCRIPTION)))
    return build_engine((), Path(spec))


def feedback(
    engine: Engine, request: Request, answer: Json, status: int = 400, found: Json | None = None
) -> dict[str, Any] | None:
    """Return what is said about an answer; `found` is what look-ups show."""

    def fetch(lookup: Lookup) -> LookupAnswer:
        return LookupAnswer(0) if found is None else LookupAnswer(200, orjson.dumps(found))

    exchange = Exchange(request, status, {}, orjson.dumps(answer) if answer != "" else b"", "e", 1.0)
    decision = run_with_lookups_sync(engine.decide(exchange), fetch)
    if not isinstance(decision, Annotate):
        return None
    validate(parse(decision.feedback), vocabulary=decision.pack.vocabulary)
    return dict(decision.feedback)


def asked(engine: Engine, request: Request, answer: Json, status: int = 400) -> list[str]:
    """Return the places that are asked for, none where nothing is said."""
    given = feedback(engine, request, answer, status)
    if given is None:
        return []
    assert isinstance(apply(given, request), NeedsInput), given
    return [one["pointer"] for suggestion in given["suggestions"] for one in suggestion.get("placeholders", ())]


def mended(engine: Engine, request: Request, answer: Json, status: int = 400) -> Request | None:
    given = feedback(engine, request, answer, status)
    outcome: Next | NeedsInput | Terminal | None = apply(given, request) if given is not None else None
    return outcome.request if isinstance(outcome, Next) else None


def post(body: Any, path: str = "/ships", **query: str) -> Request:
    return Request("POST", path, query, {"content-type": "application/json"}, body)


@rows(
    "answer",
    [
        {"Message": "Bad format", "Details": "Missing field Name in the JSON body", "HttpError": "Bad Request"},
        {"message": "Validation failed", "details": "Missing field Name in the JSON body"},
        {"error": "invalid_request", "error_description": "Missing field Name in the JSON body"},
        {"error": "Bad Request", "Reason": "Missing field Name in the JSON body"},
        {"message": "The request was refused", "cause": "Missing field Name in the JSON body", "hint": "See the docs"},
        {"error": {"message": "Refused", "Details": "Missing field Name in the JSON body"}},
        {"message": "HTTP 400: bad request", "detail": "Missing field Name in the JSON body"},
    ],
)
def test_the_sentence_may_stand_beside_a_general_text(engine: Engine, answer: Json) -> None:
    after = mended(engine, post({"name": "Ada", "Crew": 3}), answer)
    assert after is not None
    assert after.body == {"Name": "Ada", "Crew": 3}


@pytest.mark.parametrize(
    "beside",
    [
        {"error": "Bad Request", "statusCode": 400},
        {"details": "The request of 10:04 with the trace 77 was refused"},
        {"details": "Crew"},
        {"hint": "See https://example.test/errors/400 for 'Flag'"},
        {"cause": "at Harbour.Flag (harbour.js:17)\n at main"},
    ],
)
def test_a_text_that_names_something_is_the_sentence(engine: Engine, beside: dict[str, Json]) -> None:
    answer = {"message": "Missing field Name in the JSON body", **beside}
    after = mended(engine, post({"name": "Ada", "Crew": 3}), answer)
    assert after is not None
    assert after.body == {"Name": "Ada", "Crew": 3}


def test_the_phrase_of_a_status_is_no_sentence(engine: Engine) -> None:
    answer = {"message": "we dislike a crew of three", "error": "Bad Request", "details": "Unprocessable Entity"}
    assert asked(engine, post({"Crew": 3, "Flag": "SE"}), answer) == ["/body/Crew"]


@pytest.mark.parametrize(
    ("name", "is_lowered"), [("Port", False), ("uid", False), ("vlan_id", False), ("Crew", True), ("support", True)]
)
def test_a_number_that_names_something_is_asked_for(engine: Engine, name: str, *, is_lowered: bool) -> None:
    request = post({"Name": "Ada", name: 70000})
    answer = {"Message": "Out of range", "Details": f"{name} must be in range [1..65534], but found: 70000"}
    given = feedback(engine, request, answer)
    assert given is not None
    outcome = apply(given, request, confirm=True)
    assert isinstance(outcome, Next) is is_lowered
    if not is_lowered:
        assert asked(engine, request, answer) == [f"/body/{name}"]


@pytest.mark.parametrize(
    ("request_", "message", "places"),
    [
        (Request("GET", "/ships", {"limit": "5"}), 'Missing "since" argument', ["/query/since"]),
        (post({"Name": "A"}), 'Renaming requires the "Force" option to be set to true', ["/body/Force"]),
    ],
)
def test_what_is_missing_is_asked_for(engine: Engine, request_: Request, message: str, places: list[str]) -> None:
    assert asked(engine, request_, message) == places


def test_what_can_be_something_is_no_closed_list(engine: Engine) -> None:
    assert asked(engine, post({"Flag": "x"}), "Flag can be 'SE' for ships of the harbour: x") == ["/body/Flag"]
    given = feedback(engine, post({"Flag": "x"}), "Flag can be 'SE' for ships of the harbour: x")
    assert "enum" not in str(given)


UUID = "0b9f3f1c-77aa-4d5e-9c1b-1f2e3d4c5b6a"


@rows(
    ("request_", "message", "status", "places"),
    [
        # Of the path: what is repeated, else the only name.
        (Request("POST", "/ships/s-1/moor"), "Pilot not found!", 400, ["/path"]),
        (Request("GET", "/ships/s-1"), "Unable to check the ship: not found", 500, ["/path"]),
        (Request("POST", "/piers/p-1/berths/b-1"), "Berth b-1 not found", 400, ["/path"]),
        (Request("POST", "/piers/p-1/berths/b-1"), "No such berth at p-1", 400, ["/path"]),
        # Of the body: what is repeated, else the only reference.
        (post({"Name": "A", "Papers": "/etc/a.pem"}), "Cannot open the papers: /etc/a.pem", 404, ["/body/Papers"]),
        (post({"href": "/ships/s-9"}), "Error retrieving and validating /ships/s-9", 400, ["/body/href"]),
        # A PUT creates what its path names.
    ],
)
def test_what_is_not_there(engine: Engine, request_: Request, message: str, status: int, places: list[str]) -> None:
    assert asked(engine, request_, message, status) == places


def test_a_name_that_the_message_does_not_repeat_is_asked_for_with_doubt(engine: Engine) -> None:
    given = feedback(engine, Request("POST", "/ships/s-1/moor"), "Pilot not found!")
    assert given is not None
    (confidence,) = [one["confidence"] for one in given["suggestions"]]
    assert confidence["basis"] == "corpus" and confidence["value"] < 1


def test_a_login_that_lacks_a_member_is_told_so(engine: Engine) -> None:
    request = post({"user": "mo", "password": "p"}, "/login")
    given = feedback(engine, request, "Invalid username/password", 401)
    assert given is not None
    renamed = apply(given, request, confirm=True)
    assert isinstance(renamed, Next)
    assert renamed.request.body == {"username": "mo", "password": "p"}
    assert asked(engine, post({"password": "p"}, "/login"), "Invalid username/password", 401) == ["/body/username"]


@pytest.mark.parametrize(
    "request_",
    [
        post({"username": "mo", "password": "p"}, "/login"),  # nothing is missing
        post({"user": "mo", "password": "p"}, "/pilots"),  # no login: the caller's own credentials may be missing
    ],
)
def test_other_401_are_about_credentials(engine: Engine, request_: Request) -> None:
    given = feedback(engine, request_, "Invalid username/password", 401)
    assert given is not None
    assert [one["action"] for one in given["suggestions"]] == ["ESCALATE"]


def put(body: Any) -> Request:
    return Request("PUT", "/course", {}, {"content-type": "application/json"}, body)


def ajv(passing: list[int] | None) -> Json:
    return [
        {
            "keyword": "oneOf",
            "dataPath": "",
            "schemaPath": "#/oneOf",
            "params": {"passingSchemas": passing},
            "message": "should match exactly one schema in oneOf",
        }
    ]


@pytest.mark.parametrize(
    ("position", "is_mended"),
    [
        ({"lat": 1, "lon": 2}, True),
        ({"lat": 1, "lng": 2}, True),
        ({"lat": 1, "long": 2}, True),
        ({"lat": 1, "lo": 2}, False),  # too short to say anything
        ({"lat": "north", "lon": 2}, False),  # not what belongs there
    ],
)
def test_short_forms_of_missing_members_are_known(engine: Engine, position: Json, *, is_mended: bool) -> None:
    answer = {"errors": [{"field": f"position.{one}", "message": "is required"} for one in ("latitude", "longitude")]}
    after = mended(engine, put({"position": position}), answer)
    assert (after is not None and after.body == {"position": {"latitude": 1, "longitude": 2}}) is is_mended


@pytest.mark.parametrize(
    ("message", "places"),
    [
        ("Unsupported MIME type for the papers of a ship", ["/body/Papers"]),
        ("Invalid papers", ["/body/Papers"]),
    ],
)
def test_a_fault_of_the_server_that_refuses_a_value_is_a_question(
    engine: Engine, message: str, places: list[str]
) -> None:
    request = post({"Name": "A", "Papers": "data:image/gif;base64,R0lGODlhAQABAAAAACw="})
    assert asked(engine, request, message, 500) == places
    given = feedback(engine, request, message, 500)
    assert given is None or all("patch" not in one for one in given["suggestions"])  # no value is guessed


def test_what_is_not_offered_is_said(engine: Engine) -> None:
    given = feedback(engine, Request("GET", "/ships/s-1"), "No provider of ships is configured", 501)
    assert given is not None
    assert [one["action"] for one in given["suggestions"]] == ["ESCALATE"]


@pytest.mark.parametrize(
    ("body", "message", "after"),
    [
        # What has members is an object, whether or not a type says so.
        ([{"Name": "A"}], "The crane is too small", None),
        # A near name, where the text is about the form of values, rests on the description alone.
        ({"tags": {"pier": "A"}}, "Only string values are supported when ships are made", None),
        ({"tags": {"pier": "A"}}, "Only letters are supported when ships are made", None),
    ],
)
def test_what_only_the_description_shows(engine: Engine, body: Any, message: str, after: Any) -> None:
    request = mended(engine, post(body), message)
    assert (None if request is None else request.body) == after


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ({"Tags": {"Pier": 7, "Berth": 8}}, None),  # either
        ({"Tags": {"Pier": True}}, None),  # it may be a number that is wanted
        ({"Crew": 7}, None),  # declared as a number
    ],
)
def test_the_only_number_of_a_map_is_what_has_the_wrong_type(engine: Engine, body: Any, after: Any) -> None:
    request = mended(engine, post(body), "Bad parameter type for tag 0020,0011")
    assert (None if request is None else request.body) == after
