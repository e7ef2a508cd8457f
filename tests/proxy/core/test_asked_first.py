"""What is near, or stands in the description, and is still not the caller's wish: it is flagged, or asked for."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Json, Request
from corrigible.schema.reader import Next
from tests._support.by_description import engine_of, feedback_about, followed
from tests._support.rows import rows

DESCRIPTION = """
openapi: 3.0.3
info: {title: Desk, version: '1'}
paths:
  /signup:
    post:
      parameters:
      - {name: X-Confirm, in: header, required: true, schema: {type: string, enum: ['true']}}
      - {name: Accept, in: header, required: true, schema: {type: string, enum: [application/json]}}
      requestBody: &signup
        content:
          application/json:
            schema:
              type: object
              required:
                [accept_terms, gdprConsent, kind, language, pages, private, dry_run, mode, to, role, skip_checks]
              properties:
                accept_terms: {type: boolean, enum: [true]}
                gdprConsent: {type: string, enum: ['I agree']}
                kind: {type: string, enum: [person]}
                language: {type: string, default: en}
                pages: {type: integer, default: 1}
                private: {type: boolean, default: false}
                dry_run: {type: boolean, default: false}
                mode: {type: string, default: public}
                to: {type: string, default: all@example.org}
                role: {type: string, enum: [admin, guest], default: guest}
                skip_checks: {type: boolean, default: true}
  /drafts/{id}/erase:
    post:
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      requestBody: &confirmed
        content:
          application/json:
            schema:
              type: object
              required: [confirm]
              properties: {confirm: {type: boolean, enum: [true]}, reason: {type: string}}
  /drafts/{id}:
    delete:
      parameters:
      - {name: id, in: path, required: true, schema: {type: string}}
      - {name: force, in: query, required: true, schema: {type: boolean, default: true}}
    get:
      parameters:
      - {name: id, in: path, required: true, schema: {type: string}}
      - {name: force, in: query, required: true, schema: {type: boolean, default: true}}
  /transfers:
    post:
      requestBody:
        content:
          application/json:
            schema:
              type: object
              required: [amount, speed, object]
              properties:
                amount: {type: integer, default: 1000}
                speed: {type: string, default: instant}
                object: {type: string, enum: [transfer]}
  /orders:
    post:
      requestBody:
        content:
          application/json:
            schema:
              type: object
              required: [quantity, colour, plan, wrapping, packing]
              properties:
                quantity: {type: integer, default: 1}
                colour: {type: string, default: red}
                plan: {type: string, default: pro}
                wrapping: {type: object, default: {paper: red, shared: true}}
                packing: {type: object, default: {paper: red, tight: true}}
  /users/{id}/roles:
    put:
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      requestBody:
        content:
          application/json:
            schema:
              type: object
              required: [level]
              properties: {level: {type: integer, default: 9}, note: {type: string}}
  /reports:
    get:
      parameters: [{name: X-Accept-Terms, in: header, required: true, schema: {type: string, enum: ['yes']}}]
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("asked"), DESCRIPTION)


def request_of(method: str, path: str, body: Json = None, query: dict[str, Any] | None = None) -> Request:
    media = {"content-type": "application/json"} if body is not None else {}
    return Request(method, path, query or {}, media, body)


def suggested(engine: Engine, request: Request, message: Any, status: int = 422) -> list[dict[str, Any]]:
    answer = message if isinstance(message, dict) else {"message": message}
    feedback = feedback_about(engine, request, status, answer)
    return [] if feedback is None else list(feedback["suggestions"])


def is_silent(engine: Engine, request: Request, message: Any, status: int = 422) -> bool:
    """Whether something is sent that nobody was asked about."""
    answer = message if isinstance(message, dict) else {"message": message}
    return isinstance(followed(feedback_about(engine, request, status, answer), request), Next)


FULL: dict[str, Any] = {
    "accept_terms": True,
    "gdprConsent": "I agree",
    "kind": "person",
    "language": "en",
    "pages": 1,
    "private": True,
    "dry_run": True,
    "mode": "shared",
    "to": "kim@example.org",
    "role": "guest",
    "skip_checks": False,
}


@rows("message", ["{} is required", "Bad Request"])
@rows("name", sorted(FULL))
def test_what_nobody_said_is_filled_in_only_where_it_decides_nothing(engine: Engine, name: str, message: str) -> None:
    body = {one: value for one, value in FULL.items() if one != name}
    request = Request(
        "POST", "/signup", {}, {"content-type": "application/json", "x-confirm": "true", "accept": "x/y"}, body
    )
    decides_nothing = name in ("kind", "language", "pages")
    assert is_silent(engine, request, message.format(name)) is decides_nothing
    first = suggested(engine, request, message.format(name))[0]
    assert [op["path"] for op in first["patch"] if op["op"] == "add"] == [f"/body/{name}"]


ORDER: dict[str, Any] = {"quantity": 2, "colour": "red", "plan": "free", "wrapping": {}, "packing": {}}


def without(name: str) -> dict[str, Any]:
    return {one: value for one, value in ORDER.items() if one != name}


@rows(
    ("request_", "message"),
    [
        (request_of("POST", "/drafts/7/erase", {"reason": "x"}), "confirm is required"),
        (request_of("POST", "/drafts/7/erase", {"reason": "x"}), "Bad Request"),
        (request_of("DELETE", "/drafts/7"), "force is required"),
        (request_of("POST", "/transfers", {"speed": "slow", "object": "transfer"}), "amount is required"),
        (request_of("POST", "/transfers", {"amount": 5, "object": "transfer"}), "speed is required"),
        (request_of("POST", "/orders", without("quantity")), "quantity is required"),
        (request_of("POST", "/orders", without("plan")), "plan is required"),
        (request_of("POST", "/orders", without("wrapping")), "wrapping is required"),
        (request_of("PUT", "/users/7/roles", {"note": "x"}), "level is required"),
        (request_of("GET", "/reports"), "X-Accept-Terms header is required"),
    ],
)
def test_what_deletes_pays_grants_or_agrees_is_confirmed(engine: Engine, request_: Request, message: str) -> None:
    assert not is_silent(engine, request_, message, 400)
    first = suggested(engine, request_, message, 400)[0]
    assert first["safety"]["requires_confirmation"] is True
    assert first["patch"]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (request_of("POST", "/orders", without("colour")), "colour is required"),
        (request_of("POST", "/orders", without("packing")), "packing is required"),
        (request_of("GET", "/drafts/7"), "force is required"),
    ],
)
def test_what_says_only_what_is_called_is_filled_in(engine: Engine, request_: Request, message: str) -> None:
    assert is_silent(engine, request_, message, 400)


def test_the_form_of_an_answer_is_no_consent(engine: Engine) -> None:
    request = Request("POST", "/signup", {}, {"content-type": "application/json", "x-confirm": "true"}, FULL)
    for one in suggested(engine, request, "Missing header: Accept", 400):
        assert "requires_confirmation" not in one["safety"]


VERBS = """
openapi: 3.0.3
info: {title: Verbs, version: '1'}
paths:
  /projects/{id}/close: {post: {parameters: &id [{name: id, in: path, required: true, schema: {type: string}}]}}
  /motors/{id}/stop: {post: {parameters: *id}, get: {parameters: *id}}
  /contracts: {post: {}}
  /settings: {post: {}}
  /users: {post: {}}
  /jobs/{id}/cancelled: {post: {parameters: *id}}
  /subscription-items: {post: {}}
  /notifications: {post: {}}
  /moves:
    post:
      requestBody:
        content:
          application/json:
            schema:
              type: object
              additionalProperties: false
              properties:
                action: {type: string, enum: [close, reopen]}
                state: {type: string, enum: [opened, archived]}
                priority: {type: string, enum: [low, normal, high]}
                colour: {type: string, enum: [Gray, Amber]}
    get:
      parameters: [{name: action, in: query, schema: {type: string, enum: [close, reopen]}}]
"""


@pytest.fixture(scope="module")
def verbs(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("verbs"), VERBS)


@pytest.mark.parametrize(
    ("method", "path", "meant"),
    [
        ("POST", "/projects/7/clone", "/projects/7/close"),
        ("POST", "/motors/7/step", "/motors/7/stop"),
        ("POST", "/contacts", "/contracts"),
    ],
)
def test_another_verb_is_called_only_if_it_is_confirmed(verbs: Engine, method: str, path: str, meant: str) -> None:
    request = request_of(method, path)
    (suggestion,) = suggested(verbs, request, "Not Found", 404)
    assert suggestion["patch"][-1]["value"] == meant
    assert suggestion["safety"]["requires_confirmation"] is True
    assert not is_silent(verbs, request, "Not Found", 404)


@rows(
    ("method", "path", "meant"),
    [
        ("POST", "/projects/7/Close", "/projects/7/close"),
        ("POST", "/projects/7/colse", "/projects/7/close"),
        ("POST", "/user", "/users"),
        ("POST", "/setings", "/settings"),
        ("POST", "/jobs/7/canceled", "/jobs/7/cancelled"),
        ("POST", "/subscription_items", "/subscription-items"),
        ("POST", "/notificatons", "/notifications"),
        ("GET", "/motors/7/step", "/motors/7/stop"),
    ],
)
def test_a_misspelt_verb_is_put_right(verbs: Engine, method: str, path: str, meant: str) -> None:
    request = request_of(method, path)
    outcome = followed(feedback_about(verbs, request, 404, {"message": "Not Found"}), request)
    assert isinstance(outcome, Next)
    assert outcome.request.path == meant


@rows(
    ("member", "value", "silent"),
    [
        ("action", "clone", False),
        ("action", "CLOSE", True),
        ("action", "colse", True),
        ("action", "closed", True),
        ("state", "open", True),
        ("state", "archive", True),
        ("priority", "hihg", True),
        ("priority", "formal", False),
        ("colour", "grey", True),
    ],
)
def test_a_word_is_taken_for_another_one_only_if_it_is_confirmed(
    verbs: Engine, member: str, value: str, silent: bool
) -> None:
    assert is_silent(verbs, request_of("POST", "/moves", {member: value}), f"{member} is invalid") is silent


def test_who_reads_is_not_asked_which_word_was_meant(verbs: Engine) -> None:
    assert is_silent(verbs, request_of("GET", "/moves", query={"action": "clone"}), "action is invalid", 400)


NAMES = """
openapi: 3.0.3
info: {title: Names, version: '1'}
paths:
  /accounts/{email}/email:
    put: &change
      parameters: [{name: email, in: path, required: true, schema: {type: string}}]
      requestBody:
        content:
          application/json:
            schema: {type: object, required: [email], properties: {email: {type: string}, reason: {type: string}}}
  /accounts/{email}/contact: {put: *change}
  /repos/{name}:
    patch: &repo
      parameters: [{name: name, in: path, required: true, schema: {type: string}}]
      requestBody:
        content:
          application/json:
            schema: {type: object, required: [name], properties: {name: {type: string}, public: {type: boolean}}}
    put: *repo
  /o/{owner}/files/{path}:
    put:
      parameters:
      - {name: owner, in: path, required: true, schema: {type: string}}
      - {name: path, in: path, required: true, schema: {type: string}}
      requestBody:
        content:
          application/json:
            schema: {type: object, required: [owner], properties: {owner: {type: string}, size: {type: integer}}}
  /users/{username}:
    put:
      parameters: [{name: username, in: path, required: true, schema: {type: string}}]
      requestBody:
        content:
          application/json:
            schema: {type: object, required: [username], properties: {username: {type: string}, age: {type: integer}}}
  /mail:
    post:
      requestBody:
        content:
          application/json:
            schema:
              type: object
              additionalProperties: false
              properties:
                from: {type: string}
                subject: {type: string}
                model: {type: string}
                text: {type: string}
                date: {type: string}
                country: {type: string}
                displayName: {type: string}
                tags: {type: array, items: {type: string}}
                color: {type: string}
                quantity: {type: integer}
    get:
      parameters: [{name: model, in: query, schema: {type: string}}]
"""


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("names"), NAMES)


def test_what_the_path_sets_is_not_sent_as_it_was(names: Engine) -> None:
    request = request_of("PUT", "/accounts/old@x.org/email", {"reason": "typo"})
    (asked,) = suggested(names, request, "email is required")
    assert [one["pointer"] for one in asked["placeholders"]] == ["/body/email"]
    assert "old@x.org" not in str(asked)


@pytest.mark.parametrize(
    ("path", "member", "body"), [("/repos/old", "name", {"public": True}), ("/users/old", "username", {"age": 7})]
)
def test_what_replaces_a_thing_has_its_name(names: Engine, path: str, member: str, body: dict[str, Json]) -> None:
    request = request_of("PUT", path, body)
    outcome = followed(feedback_about(names, request, 422, {"message": f"{member} is required"}), request)
    assert isinstance(outcome, Next)
    assert outcome.request.body == {**body, member: "old"}


@rows(
    ("name", "meant", "silent"),
    [
        ("form", "from", False),
        ("mode", "model", False),
        ("test", "text", False),
        ("data", "date", False),
        ("county", "country", False),
        ("subjcet", "subject", True),
        ("display_name", "displayName", True),
        ("displaynmae", "displayName", True),
        ("tag", "tags", True),
        ("colour", "color", True),
        ("quantiyt", "quantity", True),
        ("From", "from", False),  # a word of any sentence
    ],
)
def test_another_word_is_renamed_only_if_it_is_confirmed(names: Engine, name: str, meant: str, silent: bool) -> None:
    value: Json = 3 if meant == "quantity" else ["x"] if meant == "tags" else "x"
    request = request_of("POST", "/mail", {"subject": "s", name: value} if meant != "subject" else {name: value})
    (suggestion,) = suggested(names, request, f"unknown field {name}", 400)
    assert suggestion["patch"][-1] == {"op": "move", "from": f"/body/{name}", "path": f"/body/{meant}"}
    assert ("requires_confirmation" not in suggestion["safety"]) is silent


def test_who_reads_is_not_asked_which_name_was_meant(names: Engine) -> None:
    assert is_silent(names, request_of("GET", "/mail", query={"mode": "fast"}), "unknown parameter mode", 400)


REST = """
openapi: 3.0.3
info: {title: Rest, version: '1'}
paths:
  /carts:
    post:
      requestBody:
        content:
          application/json:
            schema:
              type: object
              properties:
                skus: {type: array, uniqueItems: true, items: {type: string}}
                events: {type: array, uniqueItems: true, items: {type: string, enum: [push, pull]}}
  /charges:
    post:
      requestBody:
        content:
          application/json:
            schema:
              type: object
              properties:
                {amount: {type: integer}, note: {type: string}, charge_id: {type: integer}, key: {type: string}}
  /login:
    post:
      requestBody:
        content:
          application/json:
            schema:
              type: object
              properties:
                user: {type: string}
                api_token: {type: string}
                access_token: {type: string}
                signature: {type: string}
                phone: {type: string}
"""


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("rest"), REST)


def test_which_units_are_meant_is_asked(rest: Engine) -> None:
    request = request_of("POST", "/carts", {"skus": ["A", "A", "B"]})
    (suggestion,) = suggested(rest, request, "skus: items must be unique")
    assert [one["pointer"] for one in suggestion["placeholders"]] == ["/body/skus"]


@pytest.mark.parametrize(
    ("body", "places"),
    [
        ({"charge_id": 7}, ["/body/charge_id"]),
        ({"key": "k-1"}, ["/body/key"]),
    ],
)
def test_an_amount_refers_to_nothing(rest: Engine, body: Json, places: list[str]) -> None:
    asked = suggested(rest, request_of("POST", "/charges", body), "Not found", 404)
    assert [one["pointer"] for suggestion in asked for one in suggestion.get("placeholders", ())] == places


@pytest.mark.parametrize("name", ["api_token", "access_token", "signature"])
def test_a_number_under_the_name_of_a_secret_is_not_repeated(rest: Engine, name: str) -> None:
    request = request_of("POST", "/login", {"user": "a", name: 98765432})
    asked = suggested(rest, request, f"{name} must be a string")
    assert asked
    assert "98765432" not in str(asked)
    assert is_silent(rest, request_of("POST", "/login", {"phone": 98765432}), "phone must be a string")
