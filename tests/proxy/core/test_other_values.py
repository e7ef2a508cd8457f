"""What only looks like the value that was sent is another one: signs, digits and how often it was sent count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.proxy.http.request_reader import read_request
from corrigible.schema.exchange import Request
from corrigible.schema.reader import NeedsInput, Next
from tests._support.by_description import engine_of, feedback_about, followed
from tests._support.rows import rows

DESCRIPTION = """
openapi: 3.0.3
info: {title: t, version: "1"}
paths:
  /snippets:
    get:
      operationId: listSnippets
      parameters: [{name: sort, in: query, schema: {type: string, enum: [name, created_at]}}]
    post:
      operationId: createSnippet
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              additionalProperties: false
              properties:
                language: {type: string, enum: [C, Java, Go]}
                version: {type: string, enum: [v11, v2]}
                blood: {type: string, enum: [A, B, AB]}
                bits: {type: integer, enum: [1, 2, 15]}
                state: {type: string, enum: [in_progress, done, re-opened]}
                charset: {type: string, enum: [UTF-8, ISO-8859-1]}
                event: {type: string, enum: [user.created, user.deleted]}
                release: {type: string, enum: ["1.1", "1.10"]}
                zip: {type: string}
                name: {type: string}
                sku: {type: string}
                ref: {type: string}
                refs: {type: array, items: {type: string}}
  /messages:
    post:
      operationId: send
      requestBody:
        required: true
        content: {application/json: {schema: {type: object, properties: {to: {type: string}, media: {}}}}}
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(Path(tmp_path_factory.mktemp("other")), DESCRIPTION)


def outcome_of(engine: Engine, request: Request, status: int, answer: Any) -> Any:
    return followed(feedback_about(engine, request, status, answer), request)


@rows(
    ("name", "value"),
    [
        *(("language", value) for value in ("C++", "C#", "c--", "!C", "~Java", "Go*", "@Go", "$Java", "Java!")),
        *(("blood", value) for value in ("A-", "A+", "-B", "AB-", "B+")),
        *(("version", value) for value in ("v1.1", "v1-1", "v1 1", "v-11+", ">v11")),
        *(("bits", value) for value in (-1, -15, "+-1", "-2")),
        *(("state", value) for value in ("-done", "!done", "done-", "+done")),
        *(("event", value) for value in ("user.created*", "-user.created")),
    ],
)
def test_another_sign_is_another_value_and_asks_with_all_that_is_allowed(engine: Engine, name: str, value: Any) -> None:
    request = Request("POST", "/snippets", headers={"content-type": "application/json"}, body={name: value})
    outcome = outcome_of(engine, request, 422, {"message": f"{name} is not valid"})
    assert isinstance(outcome, NeedsInput)
    assert [one.pointer for one in outcome.placeholders] == [f"/body/{name}"]
    assert (outcome.placeholders[0].model_dump()["schema_"] or {})["enum"]


def test_the_other_order_is_no_spelling_of_an_order(engine: Engine) -> None:
    for value in ("-name", "+name", "name-", "!created_at"):
        request = Request("GET", "/snippets", {"sort": value})
        assert isinstance(outcome_of(engine, request, 400, {"message": "invalid sort"}), NeedsInput), value


@rows(
    ("name", "value", "meant"),
    [
        *(("language", value, "Java") for value in ("JAVA", " java ", '"Java"', "jaav", "Javas")),
        *(("state", value, "in_progress") for value in ("In Progress", "in-progress", "inProgress", "IN_PROGRESS")),
        *(("state", value, "re-opened") for value in ("reopened", "re_opened", "Reopened", "re opened")),
        *(("charset", value, "UTF-8") for value in ("utf8", "utf_8", "utf-8", "Utf 8")),
        *(
            ("event", value, "user.created")
            for value in ("user_created", "user-created", "USER.CREATED", "user/created")
        ),
        ("bits", "15", 15),
        ("bits", " 1 ", 1),
    ],
)
def test_another_spelling_is_repaired_in_silence(engine: Engine, name: str, value: Any, meant: Any) -> None:
    request = Request("POST", "/snippets", headers={"content-type": "application/json"}, body={name: value})
    outcome = outcome_of(engine, request, 422, {"message": f"{name} is not valid"})
    assert isinstance(outcome, Next)
    assert outcome.request.body == {name: meant}


@rows(
    ("written", "name", "repaired"),
    [
        ("5", "sku", "5"),
        ("-7", "sku", "-7"),
        ("12345678901234567890", "sku", "12345678901234567890"),
        ("1.5", "sku", "1.5"),
        ("5.0", "sku", "5.0"),
        ("5", "ref", None),  # what a reference begins with is not said
        ("1.10", "sku", None),
        ("1e3", "sku", None),
        ("20000000000000000000", "sku", None),
        ("123456789012345678901234", "sku", None),
        ("20000000000000000000", "refs", None),
        ("1.10", "refs", None),
        ("5", "refs", None),  # mended, and put into a list: both have to be confirmed
        ("1.10", "release", None),
        ("1.1", "release", "1.1"),
    ],
)
def test_a_number_becomes_a_text_only_where_its_text_is_known(
    engine: Engine, written: str, name: str, repaired: Any
) -> None:
    body = f'{{"{name}": {written}}}'.encode()
    request = read_request("POST", "/snippets", [("content-type", "application/json")], body)
    kind = "an array" if name == "refs" else "a string"
    outcome = outcome_of(engine, request, 422, {"message": f"{name} must be {kind}"})
    assert isinstance(outcome, NeedsInput if repaired is None else Next)
    if isinstance(outcome, Next):
        assert outcome.request.body == {name: repaired}


@pytest.mark.parametrize(
    ("form", "body"),
    [
        (b"to=bob&media=a.png&media=b.png", {"to": "bob", "media": ["a.png", "b.png"]}),
        (b"to=bob&media=a.png", {"to": "bob", "media": "a.png"}),
        (b"to=bob&media[]=a&media[]=b", {"to": "bob", "media": ["a", "b"]}),
        (b"to=bob&media=a&media[b]=2", None),
    ],
)
def test_a_form_is_written_as_json_with_all_that_was_sent_or_not_at_all(engine: Engine, form: bytes, body: Any) -> None:
    headers = [("Content-Type", "application/x-www-form-urlencoded")]
    request = read_request("POST", "/messages", headers, form)
    outcome = outcome_of(engine, request, 415, {"message": "Unsupported Media Type: use application/json"})
    assert isinstance(outcome, NeedsInput if body is None else Next)
    if isinstance(outcome, Next):
        assert outcome.request.body == body


@pytest.mark.parametrize(("sent", "there", "same"), [("02134", 2134, False), ("2134", 2134, True)])
def test_what_is_there_is_what_was_sent_only_with_its_digits(engine: Engine, sent: str, there: Any, same: bool) -> None:
    request = Request(
        "POST", "/snippets", headers={"content-type": "application/json"}, body={"name": "Ada", "zip": sent}
    )
    state = {"/snippets": [{"id": 1, "name": "Ada", "zip": there}]}
    feedback = feedback_about(engine, request, 409, {"message": "'Ada' already exists"}, state=state)
    done = feedback is not None and feedback["suggestions"][0]["action"] == "ALREADY_DONE"
    assert done is same
