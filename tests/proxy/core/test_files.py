"""Of files in a multipart form only the names are known: no suggestion edits them, what is beside them is repaired."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Request
from tests._support.by_description import engine_of, feedback_about

DESCRIPTION = """
openapi: 3.0.3
info: {title: t, version: '1'}
paths:
  /pictures:
    post:
      requestBody:
        content:
          multipart/form-data:
            schema:
              type: object
              required: [photo]
              additionalProperties: false
              properties:
                photo: {type: string, format: binary}
                colour: {type: string, enum: [red, green]}
"""
MULTIPART = {"content-type": "multipart/form-data; boundary=b"}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("spec"), DESCRIPTION)


def suggested(engine: Engine, file: str, **fields: str) -> list[dict[str, Any]]:
    request = Request("POST", "/pictures", {}, MULTIPART, {file: "a.png", **fields}, True, frozenset({file}))
    feedback = feedback_about(engine, request, 422, {"message": "bad request"})
    assert feedback is not None
    return list(feedback["suggestions"])


@pytest.mark.parametrize(
    ("fields", "last"),
    [
        ({"colour": "rde"}, {"op": "replace", "path": "/body/colour", "value": "red"}),
        ({"color": "red"}, {"op": "move", "from": "/body/color", "path": "/body/colour"}),
    ],
)
def test_a_field_beside_a_file_is_repaired(engine: Engine, fields: dict[str, str], last: dict[str, str]) -> None:
    (suggestion,) = suggested(engine, "photo", **fields)
    assert suggestion["patch"][-1] == last
