"""JSON under the media type of a text: what an error misses is there, so the server has not read it."""

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
    post:
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [data]
              properties: {data: {type: object, properties: {title: {type: string}}}}
"""
MISSING = 'Missing "data" payload in the request body'


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("books"), DESCRIPTION)


@pytest.mark.parametrize(
    ("media", "body", "message", "is_renamed"),
    [
        ("text/plain", {"data": {"title": "Dune"}}, MISSING, True),
        ("application/json", {"data": {"title": "Dune"}}, MISSING, False),
        ("text/plain", {"dta": {"title": "Dune"}}, "Title is too short", False),
    ],
)
def test_the_media_type_is_what_is_wrong(engine: Engine, media: str, body: Any, message: str, is_renamed: bool) -> None:
    request = Request("POST", "/books", headers={"content-type": media}, body=body)
    outcome = followed(feedback_about(engine, request, 400, {"error": {"message": message}}), request)
    sent = outcome.request if isinstance(outcome, Next) else None
    assert (
        sent is not None and sent.headers["content-type"] == "application/json" and media != "application/json"
    ) is (is_renamed)
    assert not is_renamed or (sent is not None and sent.body == body)
