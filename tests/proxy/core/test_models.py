"""Refusals of frameworks with models: bodies under the name of the model, labels and associations for members.

Rails says "Author must exist" of `author_id`, and "Due on is invalid" of `due_date` where that is its label.
"""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.schema.exchange import Exchange, Json, Request
from corrigible.schema.feedback import parse
from corrigible.schema.writer import validate
from tests._support.farm import Api, asked

DESCRIPTION = """
openapi: 3.0.3
info: {title: Library, version: "1"}
paths:
  /books:
    get: {responses: &any {default: {description: any}}}
    post:
      requestBody: {content: {application/json: {schema: {type: object, required: [book], properties: {book: {
        type: object, required: [title], properties: {
          title: {type: string}, author_id: {type: integer}, shelf_ids: {type: array, items: {type: integer}},
          due_date: {type: string}, mail_to: {type: string}, pages: {type: integer},
          password: {type: string}, note: {type: string},
          publisher_id: {type: integer}}}}}}}}
      responses: *any
  /books/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
    get: {responses: *any}
    put:
      requestBody: {content: {application/json: {schema: {type: object, properties: {book: {
        type: object, properties: {title: {type: string}, parent_id: {type: integer}}}}}}}}
      responses: *any
"""
BOOKS = {"books": [{"id": 3, "title": "Emma", "author": {"id": 7, "name": "Jane"}, "shelves": [{"id": 1}]}]}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    file = tmp_path_factory.mktemp("spec") / "library.yaml"
    file.write_text(DESCRIPTION, "utf-8")
    return build_engine([], file)


def feedback(engine: Engine, body: Json, *errors: str, media: str = "application/json", **more: Any) -> dict[str, Any]:
    request = Request(more.get("method", "POST"), more.get("path", "/books"), {}, {"content-type": media}, body)
    exchange = Exchange(request, 422, {}, orjson.dumps({"errors": list(errors)}), "e", 1.0)
    decision = run_with_lookups_sync(engine.decide(exchange), Api({"/books": BOOKS}).fetch)
    if not isinstance(decision, Annotate):
        return {}
    validate(parse(decision.feedback), vocabulary=decision.pack.vocabulary)
    return dict(decision.feedback)


def book(**members: Json) -> dict[str, Json]:
    return {"book": {"title": "Emma", **members}}


@pytest.mark.parametrize(
    ("body", "error", "place"),
    [
        (book(author_id=99), "Author must exist", "/body/book/author_id"),
        (book(author_id=99), "Author is invalid", "/body/book/author_id"),
        (book(due_date="soon", pages=3), "Due on is invalid", "/body/book/due_date"),
    ],
)
def test_a_label_leads_to_the_member(engine: Engine, body: Json, error: str, place: str) -> None:
    assert [where for where, _ in asked(feedback(engine, body, error))] == [place]


@pytest.mark.parametrize(
    "error", ["Author is not allowed to publish", "Author must be logged in", "Author must have access to the shelf"]
)
def test_what_the_caller_may_do_is_not_about_a_member(engine: Engine, error: str) -> None:
    assert "author_id" not in str(feedback(engine, book(author_id=7, pages=3), error))


def test_the_only_value_of_a_body_is_what_is_refused(engine: Engine) -> None:
    answer = feedback(engine, {"book": {"parent_id": 3}}, "Sequel of is invalid", method="PUT", path="/books/3")
    assert asked(answer) == [("/body/book/parent_id", {"type": "integer"})]


def test_what_a_server_misses_though_it_was_sent_belongs_under_the_name_of_the_model(engine: Engine) -> None:
    (suggestion,) = feedback(engine, {"title": "Emma", "pages": 3}, "Title cannot be blank")["suggestions"]
    moved = {op["path"] for op in suggestion["patch"] if op["op"] == "move"}
    assert moved == {"/body/book/title", "/body/book/pages"}


def test_another_name_for_the_model_is_corrected(engine: Engine) -> None:
    suggestion, _ = feedback(engine, {"data": {"title": "Emma", "pages": 3}}, "Title can't be blank")["suggestions"]
    assert suggestion["patch"] == [{"op": "move", "from": "/body/data", "path": "/body/book"}]
    assert suggestion["safety"]["requires_confirmation"] is True
    for body in ({"data": {"title": "Emma", "colour": 3}}, {"where": {"title": "Emma"}}, {"old": {"title": "Emma"}}):
        other = feedback(engine, body, "Title can't be blank")["suggestions"]
        assert all(one["safety"].get("requires_confirmation") for one in other if "patch" in one)


@pytest.mark.parametrize(
    ("sent", "error", "place"),
    [
        ({"author": 7, "title": "Emma"}, "Author must exist", "/body/book/author_id"),
        ({"subtitle": "Emma"}, "Subtitle can't be blank", "/body/book/title"),
    ],
)
def test_what_a_server_misses_under_the_name_that_was_sent_has_another(
    engine: Engine, sent: dict[str, Json], error: str, place: str
) -> None:
    suggestion = feedback(engine, {"book": sent}, error)["suggestions"][0]
    assert suggestion["patch"][-1]["path"] == place


@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded"])
def test_what_a_server_misses_though_it_was_sent_was_in_another_media_type(engine: Engine, media: str) -> None:
    answer = feedback(engine, book(), "Title cannot be blank", media=media)
    assert {"op": "add", "path": "/headers/content-type", "value": "application/json"} in answer["suggestions"][0][
        "patch"
    ]


def test_what_is_repaired_comes_before_what_the_server_misses_because_of_it(engine: Engine) -> None:
    body = book(pages="#12")
    answer = feedback(engine, body, "Author must exist", "Publisher can't be blank", "Pages is invalid")
    assert answer["suggestions"][0]["patch"][-1] == {"op": "replace", "path": "/body/book/pages", "value": 12}


def test_what_exists_under_the_name_of_the_model_is_done(engine: Engine) -> None:
    taken = "Title has already been taken"
    same = feedback(engine, book(author_id=7), taken)
    assert same["suggestions"][0]["action"] == "ALREADY_DONE"
    assert same["suggestions"][0]["parameters"] == {"path": "/books/3"}
    other, update = feedback(engine, book(author_id=8), taken)["suggestions"]
    assert other["placeholders"][0]["pointer"] == "/body/book/title"
    assert update["patch"][1] == {"op": "replace", "path": "/method", "value": "PUT"}
    assert update["safety"]["requires_confirmation"] is True


@pytest.mark.parametrize("word", ["short", "password", "string", "user", "Tr0ub4dor"])
def test_a_password_may_be_a_word_of_ours(engine: Engine, word: str) -> None:
    answer = feedback(engine, book(password=word), "Password is too short (minimum is 12 characters)")
    assert [place for place, _ in asked(answer)] == ["/body/book/password"]
    assert word not in str([op.get("value") for one in answer["suggestions"] for op in one.get("patch", ())])


def test_a_password_is_not_repeated_as_a_value(engine: Engine) -> None:
    assert feedback(engine, book(password="pages", note="pages"), "Note is too short (minimum is 12 characters)") != {}
    same = book(password="hunter2", pages="hunter2")
    assert "hunter2" not in str(feedback(engine, same, "Pages is invalid"))
