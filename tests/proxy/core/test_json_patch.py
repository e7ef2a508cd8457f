"""Refusals of JSON patches whose description has another kind of body."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Request
from corrigible.schema.reader import NeedsInput
from tests._support.by_description import engine_of, feedback_about, followed

MEDIA = "application/vnd.images.v2.1-json-patch"
OTHER = "application/vnd.images.v2.0-json-patch"
DESCRIPTION = f"""
openapi: 3.1.0
info: {{title: Images, version: '1'}}
paths:
  /images/{{id}}:
    parameters: [{{name: id, in: path, required: true, schema: {{type: string}}}}]
    patch: {{requestBody: {{content: {{{MEDIA}: {{schema: {{type: string, format: RFC 6902}}}}}}}}}}
"""
WRONG_TYPE = (
    "The object does not match: '4' is not of type 'integer'\n\nFailed validating 'type' in"
    " schema['properties']['min_disk']:\n    {'type': 'integer'}\n\nOn instance['min_disk']:\n    '4'<br /><br />\n"
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("images"), DESCRIPTION)


def refused(
    engine: Engine, status: int, message: str, operation: Any, media: str = MEDIA, headers: Any = None
) -> tuple[Any, dict[str, Any] | None]:
    request = Request("PATCH", "/images/1", headers={"content-type": media}, body=[operation])
    feedback = feedback_about(engine, request, status, {"message": message}, headers)
    return followed(feedback, request), feedback


def asked(feedback: dict[str, Any] | None) -> tuple[str, Any]:
    assert feedback is not None
    (suggestion,) = feedback["suggestions"]
    (place,) = suggestion["placeholders"]
    return place["pointer"], place["schema"].get("enum")


def test_of_several_media_types_none_of_them_described_one_is_asked_for(engine: Engine) -> None:
    listed = f"{OTHER}, application/json-patch+json"
    operation = {"op": "remove", "path": "/name"}
    following, feedback = refused(engine, 415, "", operation, "application/json", {"accept-patch": listed})
    assert isinstance(following, NeedsInput)
    assert asked(feedback)[0] == "/headers/content-type"
