"""Which violations of a request an error is about: an API with nothing but a description."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from corrigible.proxy.build import build_engine, load_profiles
from corrigible.proxy.core.api_profile import RefusalCase, match_with
from corrigible.proxy.core.decision import Annotate, Decision, PassThrough
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.violation_finder import ViolationFinder
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Request
from corrigible.schema.feedback import parse
from corrigible.schema.reader import NeedsInput, Next, Terminal, apply
from corrigible.schema.writer import validate
from tests._support.repaired import agrees
from tests._support.rows import rows

DESCRIPTION = """
openapi: 3.0.3
info: {title: Jobs, version: '1'}
servers: [{url: 'https://jobs.example/api'}]
paths:
  /jobs:
    post:
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Job'}}}}
      responses: {'201': {description: made}}
    get:
      parameters:
      - {name: page_size, in: query, schema: {type: integer, maximum: 100}}
      - {name: sort, in: query, schema: {type: string, enum: ['title:asc', 'title:desc']}}
      responses: {'200': {description: all}}
  /jobs/{id}:
    get:
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses: {'200': {description: one}}
    patch:
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      requestBody: {content: {application/json: {schema: {type: object, properties: {title: {type: string}}}}}}
      responses: {'200': {description: changed}}
  /jobs/search:
    post:
      requestBody: {content: {application/json: {schema: {type: object}}}}
      responses: {'200': {description: found}}
  /jobs/purge:
    post:
      responses: {'204': {description: gone}}
  /people/{name}/:
    get:
      parameters: [{name: name, in: path, required: true, schema: {type: string}}]
      responses: {'200': {description: one}}
  /moves:
    post:
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Move'}}}}
      responses: {'201': {description: made}}
  /logs:
    post:
      requestBody:
        required: true
        content:
          application/json:
            schema: {type: array, items: {type: object, required: [level], properties: {level: {type: integer}}}}
      responses: {'201': {description: made}}
components:
  schemas:
    Job:
      type: object
      required: [title]
      properties:
        title: {type: string}
        steps: {type: array, items: {$ref: '#/components/schemas/Step'}}
        state: {$ref: '#/components/schemas/State'}
        is_paused: {type: boolean}
        size: {type: integer, maximum: 50}
    Step: {type: object, required: [label], properties: {label: {type: string}, wait: {type: integer}}}
    State: {type: object, required: [type], properties: {type: {type: string, enum: [OPEN, DONE]}}}
    Move:
      type: object
      required: [state]
      properties: {state: {$ref: '#/components/schemas/State'}}
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    spec = tmp_path_factory.mktemp("spec") / "jobs.json"
    spec.write_bytes(orjson.dumps(yaml.safe_load(DESCRIPTION)))
    return Engine(load_profiles([], Path(spec)))


def post(body: Any, path: str = "/api/jobs") -> Request:
    return Request("POST", path, headers={"content-type": "application/json"}, body=body)


def get(path: str, **query: str) -> Request:
    return Request("GET", path, query=query)


def case(engine: Engine, request: Request, status: int) -> RefusalCase:
    match = match_with(engine.profiles[0], request)
    return RefusalCase(Exchange(request, status, {}, b"{}"), match, {}, {}, ())


def about(engine: Engine, request: Request, error: Violation, status: int = 400) -> list[tuple[str, str]]:
    finder = ViolationFinder(case(engine, request, status))
    return [(violation.pointer, violation.keyword) for violation in finder.candidates(error)]


def decided(
    engine: Engine, request: Request, body: Any, status: int = 400, headers: Mapping[str, str] | None = None
) -> Decision:
    data = body if isinstance(body, bytes) else orjson.dumps(body)
    exchange = Exchange(request, status, headers or {}, data, "e", 1.0)
    decision = run_with_lookups_sync(engine.decide(exchange), lambda lookup: LookupAnswer(0))
    if isinstance(decision, Annotate):
        validate(parse(decision.feedback), vocabulary=decision.pack.vocabulary)
    return decision


def after(
    engine: Engine, request: Request, body: Any, status: int = 400, headers: Mapping[str, str] | None = None
) -> Next | NeedsInput | Terminal | None:
    decision = decided(engine, request, body, status, headers)
    return apply(decision.feedback, request, confirm=agrees) if isinstance(decision, Annotate) else None


UNREAD = {"ok": False, "nr": 17}
"""An error that no format reads."""


@rows(
    ("error", "expected"),
    [
        # no place: all that is wrong, the places that the message mentions first
        (Violation(message="bad request"), [("/body/size", "maximum"), ("/body/title", "required")]),
        (Violation(message="title is wrong"), [("/body/title", "required"), ("/body/size", "maximum")]),
        # a place: that place only
        (Violation(message="m", pointer="/body/size"), [("/body/size", "maximum")]),
        # a place where nothing is: as without
        (Violation(message="m", pointer="/body/gone"), [("/body/size", "maximum"), ("/body/title", "required")]),
        # a missing member, whatever the description says
        (Violation(pointer="/body/state", constraint="required"), [("/body/state", "required")]),
        # the server's word beats the description's
        (Violation(pointer="/body/size", stated={"maximum": 20}), [("/body/size", "maximum")]),
        (Violation(pointer="/body/size", stated={"type": "string"}), [("/body/size", "type")]),
        # about what the server holds
    ],
)
def test_what_an_error_is_about(engine: Engine, error: Violation, expected: list[tuple[str, str]]) -> None:
    found = about(engine, post({"size": 90}), error)
    assert sorted(found) == sorted(expected)
    if error.message == "title is wrong":
        assert found == expected


def test_beside_a_mistake_a_name_is_respelt_only_where_a_member_is_missing(engine: Engine) -> None:
    wrong = Violation(message="bad request")
    assert about(engine, post({"title": "t", "size": 90, "is-paused": True}), wrong) == [("/body/size", "maximum")]
    assert ("/body/titel", "additionalProperties") in about(engine, post({"titel": "t", "size": 90}), wrong)


@rows("status", [401, 403, 409, 412, 423, 429, 503])
def test_no_description_repairs_what_is_not_about_the_request(engine: Engine, status: int) -> None:
    decision = decided(engine, post({"titel": "t"}), UNREAD, status)
    assert not isinstance(decision, Annotate) or "the description" not in decision.rules


@rows("status", [403, 409, 412, 423, 429, 503])
def test_what_is_not_read_is_judged_under_statuses_about_the_request_only(engine: Engine, status: int) -> None:
    decision = decided(engine, post({"titel": "t"}), UNREAD, status)
    assert isinstance(decision, PassThrough)
    assert decision.reason == "no known error format"


JOB = {"title": "t"}


@rows("status", [400, 422])
@rows(
    ("body", "mended", "path"),
    [
        ({"titel": "t"}, JOB, "/api/jobs"),
        ({"titel": "t", "isPaused": True}, {**JOB, "is_paused": True}, "/api/jobs"),
        ({"job": JOB}, JOB, "/api/jobs"),
        ([JOB], JOB, "/api/jobs"),
        ({**JOB, "state": {"type": "done"}}, {**JOB, "state": {"type": "DONE"}}, "/api/jobs"),
        ({**JOB, "state": '{"type": "DONE"}'}, {**JOB, "state": {"type": "DONE"}}, "/api/jobs"),
        ({**JOB, "steps": {"label": "a"}}, {**JOB, "steps": [{"label": "a"}]}, "/api/jobs"),
        ({"type": "DONE"}, {"state": {"type": "DONE"}}, "/api/moves"),
        ({"level": 3}, [{"level": 3}], "/api/logs"),
        ([{"level": "3"}], [{"level": 3}], "/api/logs"),
    ],
)
def test_an_unread_refusal_is_judged_by_the_description(
    engine: Engine, status: int, body: Any, mended: Any, path: str
) -> None:
    outcome = after(engine, post(body, path), UNREAD, status)
    assert isinstance(outcome, Next)
    assert outcome.request.body == mended


@pytest.mark.parametrize(
    ("body", "places"),
    [
        ({"name": "t"}, {"/body/title"}),  # the only stranger may be the only missing one: the caller knows
        ({"steps": []}, {"/body/title"}),
        ({**JOB, "steps": [7]}, {"/body/steps/0"}),
    ],
)
def test_what_only_the_caller_knows_is_asked(engine: Engine, body: Any, places: set[str]) -> None:
    outcome = after(engine, post(body), UNREAD)
    assert isinstance(outcome, NeedsInput)
    assert {one.pointer for one in outcome.placeholders} >= places


def test_the_only_stranger_is_offered_for_the_only_missing_member(engine: Engine) -> None:
    decision = decided(engine, post({"name": "t"}), UNREAD)
    assert isinstance(decision, Annotate)
    renamed, asked = decision.feedback["suggestions"]
    assert [op["op"] for op in renamed["patch"]] == ["test", "move"]
    assert renamed["safety"]["requires_confirmation"] is True
    assert asked["placeholders"][0]["pointer"] == "/body/title"
    assert decision.feedback["type"] == "recovery_guidance"


def test_nothing_is_said_where_the_description_finds_nothing(engine: Engine) -> None:
    assert not isinstance(decided(engine, post(JOB), UNREAD), Annotate)
    assert not isinstance(decided(engine, post({**JOB, "colour": "red"}), UNREAD), Annotate)


def test_one_undeclared_member_that_is_nearly_a_declared_one_is_renamed(engine: Engine) -> None:
    outcome = after(engine, post({**JOB, "is-paused": True}), UNREAD)
    assert isinstance(outcome, Next)
    assert outcome.request.body == {**JOB, "is_paused": True}


def test_a_place_with_one_misspelt_member_below_it(engine: Engine) -> None:
    request = post({**JOB, "steps": [{"label": "a", "wiat": 3}]})
    assert about(engine, request, Violation(message="m", pointer="/body/steps")) == [
        ("/body/steps/0/wiat", "additionalProperties")
    ]
    request = post({**JOB, "steps": [{"label": "a", "wiat": 3}, {"label": "b", "wati": 3}]})
    assert about(engine, request, Violation(message="m", pointer="/body/steps")) == []


@pytest.mark.parametrize(
    ("message", "is_renamed"),
    [
        ("Bad Request", True),
        ("Validation failed for the object", True),
        ("The balance of Ann is not enough", False),
        ("Only on Mondays", False),
        ("Mondays only", True),
    ],
)
def test_a_message_about_something_else_renames_nothing(engine: Engine, message: str, is_renamed: bool) -> None:
    outcome = after(engine, post({**JOB, "is-paused": True}), {"message": message})
    assert isinstance(outcome, Next) is is_renamed


@rows(
    ("member", "message", "edit"),
    [
        ("project", "project is archived", None),
        ("project", "invalid project", None),
        ("project", "project 'apollo' must be one of yours", None),
        ("user", "User is not allowed to do this", None),
        ("project", "unknown field 'project'", "remove"),
        ("project", "'project' is not allowed", "remove"),
        ("titel", "titel is invalid", "move"),
    ],
)
def test_only_what_the_server_does_not_know_is_left_out(
    engine: Engine, member: str, message: str, edit: str | None
) -> None:
    job = {**JOB, member: "apollo"}
    if edit == "move":
        del job["title"]
    exchange = Exchange(post(job), 400, {}, orjson.dumps({"message": message}), "e", 1.0)
    decision = run_with_lookups_sync(engine.decide(exchange), lambda _: LookupAnswer(0))
    assert isinstance(decision, Annotate)
    operations = [op["op"] for one in decision.feedback["suggestions"] for op in one.get("patch", [])]
    assert [op for op in operations if op != "test"] == ([] if edit is None else [edit])


@rows(
    ("request_", "message", "path"),
    [
        (post(JOB, "/jobs"), "Not Found", "/api/jobs"),
        (post(JOB, "/jobs"), "", "/api/jobs"),
        (get("/jobs/7"), "404 Not Found", "/api/jobs/7"),
        (get("/api/people/ann"), "not found", "/api/people/ann/"),
        (get("/people/ann"), "Cannot GET /people/ann", "/api/people/ann/"),
        (post(JOB, "/api/job"), "Not Found", "/api/jobs"),
        (get("/jobs/7"), "no such route", "/api/jobs/7"),
        (get("/jobs/7"), "Nothing here", "/api/jobs/7"),
    ],
)
def test_a_404_that_names_nothing_may_be_another_path_of_the_operation(
    engine: Engine, request_: Request, message: str, path: str
) -> None:
    outcome = after(engine, request_, {"message": message} if message else UNREAD, 404)
    assert isinstance(outcome, Next)
    assert outcome.request.path == path


@rows(
    ("status", "headers", "answer"),
    [
        (404, {"content-type": "text/html"}, b"<!doctype html><html><h1>Not Found</h1></html>"),
        (404, {}, b""),
        (405, {}, {"detail": "Method Not Allowed"}),
        (405, {"allow": "GET"}, b""),
    ],
)
@rows(
    ("method", "path", "right"),
    [
        ("POST", "/api/jobs/", "/api/jobs"),
        ("PATCH", "/api/jobs/7/", "/api/jobs/7"),
        ("GET", "/api/people/ann", "/api/people/ann/"),
    ],
)
def test_a_slash_too_many_or_too_few_is_put_right(
    engine: Engine, method: str, path: str, right: str, status: int, headers: Mapping[str, str], answer: Any
) -> None:
    request = Request(method, path, headers={"content-type": "application/json"}, body=JOB if method != "GET" else None)
    outcome = after(engine, request, answer, status, headers)
    assert isinstance(outcome, Next)
    assert (outcome.request.method, outcome.request.path) == (method, right)


@rows("allow", ["GET", "get", "GET, HEAD", "GET,HEAD,OPTIONS", "OPTIONS, GET", ""])
@rows("request_", [Request("PATCH", "/api/jobs/7", body={"title": "a"}), Request("DELETE", "/api/jobs/7"), post(JOB)])
def test_the_only_method_that_an_answer_allows_proves_nothing_about_others(
    engine: Engine, request_: Request, allow: str
) -> None:
    """Starlette, Werkzeug's blueprints and others list the methods of the first route that fits."""
    outcome = after(engine, request_, {"detail": "Method Not Allowed"}, 405, {"allow": allow})
    assert isinstance(outcome, NeedsInput | None), outcome


@pytest.mark.parametrize(
    ("path", "message", "pattern"),
    [
        ("/api/jobs/7", "Not Found", "^/api/jobs/[^/]+$"),
        ("/api/jobs/7", "job 7 was not found", "^/api/jobs/[^/]+$"),
        ("/jobs/7", "job 7 was not found", "^/jobs/[^/]+$"),
        ("/jobs/7", "Cannot find the job", "^/jobs/[^/]+$"),
        ("/people/ann/", "there is no ann", "^/people/[^/]+/$"),
    ],
)
def test_a_name_under_which_there_is_nothing_is_asked_for(
    engine: Engine, path: str, message: str, pattern: str
) -> None:
    outcome = after(engine, get(path), {"message": message}, 404)
    assert isinstance(outcome, NeedsInput)
    (question,) = outcome.placeholders
    assert (question.pointer, (question.schema_ or {}).get("pattern")) == ("/path", pattern)


def test_a_read_of_what_only_post_reads_becomes_that_post(engine: Engine) -> None:
    decision = decided(engine, get("/api/jobs/search"), {"detail": "Method Not Allowed"}, 405)
    assert isinstance(decision, Annotate)
    outcome = apply(decision.feedback, get("/api/jobs/search"), confirm=agrees)
    assert isinstance(outcome, Next)
    assert outcome.request.method == "POST"
    assert all(one["safety"]["changes_intent"] for one in decision.feedback["suggestions"])


def test_what_the_server_states_takes_no_required_member_away(engine: Engine) -> None:
    request = post({**JOB, "title": None})
    detail = [{"type": "string_type", "loc": ["body", "title"], "msg": "Input should be a valid string", "input": None}]
    decision = decided(engine, request, {"detail": detail})
    assert isinstance(decision, Annotate)
    assert [op for one in decision.feedback["suggestions"] for op in one.get("patch", ())] == []
    assert [one["placeholders"][0]["pointer"] for one in decision.feedback["suggestions"]] == ["/body/title"]


def test_a_method_is_offered_though_what_it_needs_is_missing_as_well(engine: Engine) -> None:
    decision = decided(engine, get("/api/moves"), {"detail": "Method Not Allowed"}, 405)
    assert isinstance(decision, Annotate)
    (suggestion,) = decision.feedback["suggestions"]
    assert suggestion["patch"][-1] == {"op": "replace", "path": "/method", "value": "POST"}
    assert decision.feedback["type"] == "intent_disambiguation"
    assert suggestion["safety"]["changes_intent"] is True


@pytest.mark.parametrize(("status", "answer"), [(405, {"detail": "Method Not Allowed"}), (404, UNREAD), (422, UNREAD)])
def test_a_read_never_becomes_a_write_by_itself(engine: Engine, status: int, answer: Any) -> None:
    outcome = after(engine, get("/api/jobs/purge"), answer, status)
    assert not isinstance(outcome, Next)


def test_what_the_server_lists_beats_what_the_description_lists(engine: Engine) -> None:
    (profile,) = engine.profiles
    request = post({**JOB, "state": {"type": "Paused"}})
    error = Violation(pointer="/body/state/type", constraint="enum", stated={"enum": ["PAUSED", "RUNNING"]})
    assert about(engine, request, error) == [("/body/state/type", "enum")]
    assert profile.described is not None


@pytest.mark.parametrize(
    "answer",
    [
        {"message": "size must be at most 50"},
        {"message": "90 is not a size"},
        {"errors": [{"field": "size", "message": "too large"}]},
    ],
)
def test_an_error_that_names_the_place_leaves_no_doubt_about_it(engine: Engine, answer: Any) -> None:
    decision = decided(engine, post({"title": "a", "size": 90}), answer)
    assert isinstance(decision, Annotate)
    assert not any("confidence" in one for one in decision.feedback["suggestions"])


MEMBERS = """
openapi: 3.0.3
info: {title: Members, version: "1"}
paths:
  /members/{id}:
    patch:
      operationId: change
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      requestBody: {content: {application/json: {schema: {type: object, properties: {
        name: {type: string}, active: {type: boolean, readOnly: true}, notes: {type: string}}}}}}
      responses: {default: {description: any}}
"""


@pytest.mark.parametrize(
    ("member", "message", "place"),
    [
        ("active", "active should not exist", "/body/active"),
        # The description does not say so, the server does.
        # That may be about the value.
        ("notes", "notes is not allowed", None),
    ],
)
def test_what_only_the_server_writes_is_left_out(tmp_path: Path, member: str, message: str, place: str | None) -> None:
    path = tmp_path / "members.yaml"
    path.write_text(MEMBERS, "utf-8")
    value = False if member == "active" else "x"
    request = Request("PATCH", "/members/m-1", {}, {"content-type": "application/json"}, {"name": "Ann", member: value})
    exchange = Exchange(request, 400, {}, orjson.dumps({"message": [message]}), "e", 1.0)
    decision = run_with_lookups_sync(build_engine((), path).decide(exchange), lambda lookup: LookupAnswer(0))
    suggestions = decision.feedback["suggestions"] if isinstance(decision, Annotate) else []
    removed = [op["path"] for one in suggestions for op in one.get("patch", ()) if op["op"] == "remove"]
    assert removed == ([] if place is None else [place])
    for one in suggestions if place else ():
        assert one["safety"]["requires_confirmation"] is True
        assert one["safety"]["loses"] == [place]
