"""A description that contradicts its server: the text is about another member than the one it finds wrong."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Request
from corrigible.schema.reader import NeedsInput
from tests._support.by_description import engine_of, feedback_about, followed

DESCRIPTION = """
openapi: 3.0.3
info: {title: Notes, version: '1'}
paths:
  /notes:
    post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Note'}}}}}
components:
  schemas:
    Note:
      type: object
      properties:
        title: {type: object, properties: {raw: {type: string}}}
        author: {type: integer}
        parent: {type: integer}
        folder: {type: object, properties: {owner: {type: integer}}}
        pinned: {type: boolean}
        secret: {type: string}
"""
NOTE = {"title": "Hay", "author": 4711, "parent": 8}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("notes"), DESCRIPTION)


def asked(engine: Engine, body: Any, message: str) -> set[str]:
    request = Request("POST", "/notes", headers={"content-type": "application/json"}, body=body)
    outcome = followed(feedback_about(engine, request, 400, {"message": message}), request)
    return {one.pointer for one in outcome.placeholders} if isinstance(outcome, NeedsInput) else set()


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("Invalid author ID.", "/body/author"),
        ("Invalid parent note.", "/body/parent"),
        ("The author does not exist.", "/body/author"),
    ],
)
def test_what_the_text_names_was_meant(engine: Engine, message: str, place: str) -> None:
    assert asked(engine, NOTE, message) == {place}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (NOTE, "Invalid title."),  # it names the violation
        (NOTE, "Invalid note."),  # it names nothing that was sent
    ],
)
def test_else_the_violation_is_asked_about(engine: Engine, body: Any, message: str) -> None:
    assert asked(engine, body, message) == {"/body/title"}


def test_a_violation_inside_what_is_named_is_the_answer(engine: Engine) -> None:
    assert asked(engine, {"folder": {"owner": "ann"}}, "Invalid folder.") == {"/body/folder/owner"}
