"""A word for the kind of a fault that is a member's name as well: the fault of that kind is what is meant."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Request
from corrigible.schema.reader import Next
from tests._support.by_description import engine_of, feedback_about, followed

DESCRIPTION = """
openapi: 3.0.3
info: {title: Books, version: '1'}
paths:
  /books:
    post: {requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Book'}}}}}
components:
  schemas:
    Book:
      type: object
      properties:
        format: {type: string, enum: [ebook, hardcover]}
        published: {type: string, format: date}
        bought: {type: string, format: date}
        type: {type: string}
        pages: {type: integer}
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("books"), DESCRIPTION)


@pytest.mark.parametrize(
    ("body", "message", "expected"),
    [
        (
            {"format": "ebook", "published": "31.08.1965"},
            "Invalid format, expected yyyy-MM-dd",
            {"format": "ebook", "published": "1965-08-31"},
        ),
        ({"type": "novel", "pages": "412"}, "Invalid type", {"type": "novel", "pages": 412}),
        (
            {"format": "ebook", "published": "31.08.1965", "bought": "31.08.1999"},
            "Invalid format, expected a date",
            {"format": "ebook", "published": "1965-08-31", "bought": "1999-08-31"},
        ),
        # The member of this name is what is wrong.
        (
            {"format": "Ebook", "published": "31.08.1965"},
            "Invalid format",
            {"format": "ebook", "published": "31.08.1965"},
        ),
    ],
)
def test_what_is_wrong_is_mended(engine: Engine, body: Any, message: str, expected: Any) -> None:
    request = Request("POST", "/books", headers={"content-type": "application/json"}, body=body)
    outcome = followed(feedback_about(engine, request, 400, {"message": message}), request)
    assert (outcome.request.body if isinstance(outcome, Next) else None) == expected
