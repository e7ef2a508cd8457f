"""A thing is given a name that exists already: another is asked for, where the thing is known to be another one."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.proxy.core.engine import Engine
from corrigible.schema.exchange import Json, Request
from corrigible.schema.reader import NeedsInput
from tests._support.by_description import engine_of, feedback_about, followed

DESCRIPTION = """
openapi: 3.0.3
info: {title: Tags, version: '1'}
paths:
  /tags/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get: {}
    put: {requestBody: {required: true, content: {application/json: {schema: {type: object}}}}}
"""
HERE: dict[str, Json] = {"/tags/7": {"id": "7", "name": "old", "key": "k"}}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(tmp_path_factory.mktemp("tags"), DESCRIPTION)


def told(engine: Engine, body: Json, state: dict[str, Json]) -> dict[str, Any] | None:
    request = Request("PUT", "/tags/7", headers={"content-type": "application/json"}, body=body)
    return feedback_about(engine, request, 409, {"message": "Tag already exists"}, state=state)


@pytest.mark.parametrize(
    "body",
    [
        {"name": "new"},
        {"name": "new", "colour": "red"},
        {"name": "new", "id": "7", "key": "k"},  # of these only the name is changed
        {"tag": {"name": "new"}},
    ],
)
def test_another_name_is_asked_for(engine: Engine, body: dict[str, Any]) -> None:
    feedback = told(engine, body, HERE)
    request = Request("PUT", "/tags/7", headers={"content-type": "application/json"}, body=body)
    outcome = followed(feedback, request)
    assert isinstance(outcome, NeedsInput)
    place = "/body/tag/name" if "tag" in body else "/body/name"
    assert [(one.pointer, one.schema_) for one in outcome.placeholders] == [(place, {"not": {"const": "new"}})]


@pytest.mark.parametrize(
    ("body", "state"),
    [
        ({"name": "new"}, {}),  # nothing is there: the path may be what would be created
        ({"name": "new", "key": "other"}, HERE),  # either may be taken
        ({"name": "old"}, HERE),  # it is called that
        ({"title": "new"}, HERE),  # it has no title
        ({"colour": "red"}, HERE),
    ],
)
def test_nothing_is_asked_where_another_thing_may_be_meant(
    engine: Engine, body: dict[str, Any], state: dict[str, Json]
) -> None:
    feedback = told(engine, body, state)
    places = [
        one["pointer"] for each in (feedback or {}).get("suggestions", ()) for one in each.get("placeholders", ())
    ]
    assert not [one for one in places if one.startswith("/body/")]
