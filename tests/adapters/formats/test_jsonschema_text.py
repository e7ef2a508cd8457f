"""Errors as jsonschema 4.26 prints them, also of a part of the request."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.formats.generic import GenericFormat
from corrigible.schema.exchange import Exchange, Request

MISSING = """'email' is a required property

Failed validating 'required' in schema:
    {'type': 'object',
     'properties': {'email': {'type': 'string', 'title': 'Mail'},
                    'name': {'type': 'string'}},
     'required': ['email', 'name'],
     'additionalProperties': False}

On instance:
    {'name': 'ann'}"""
UNKNOWN = """Additional properties are not allowed ('nmae' was unexpected)

Failed validating 'additionalProperties' in schema['properties']['user']:
    {'type': 'object', 'properties': {'name': {'type': 'string'}}}

On instance['user']:
    {'nmae': 'ann'}"""

ITEM = """The object does not match: 'small' is not of type 'object'

Failed validating 'type' in schema['properties']['sizes']['items']:
    {'type': 'object', 'properties': {'name': {'type': 'string'}}}

On instance['sizes'][1]:
    'small'<br /><br />
"""


@pytest.mark.parametrize(
    ("text", "body", "wanted"),
    [
        (MISSING, {"user": {"name": "ann"}}, [("/body/user/email", "required", {"type": "string"})]),
        (MISSING, {"name": "ann"}, [("/body/email", "required", {"type": "string"})]),
        (MISSING, [{"name": "bob"}, {"name": "ann"}], [("/body/1/email", "required", {"type": "string"})]),
        (UNKNOWN, {"data": {"user": {"nmae": "ann"}}}, [("/body/data/user/nmae", "additionalProperties", {})]),
        (
            UNKNOWN,
            {"owner": {"nmae": "ann"}, "user": {"nmae": "ann"}},
            [("/body/user/nmae", "additionalProperties", {})],
        ),
        (ITEM, {"sizes": ["small", "small"]}, [("/body/sizes/1", "", {"type": "object"})]),
        (ITEM, {"data": {"sizes": ["large", "small"]}}, [("/body/data/sizes/1", "", {"type": "object"})]),
        (
            ITEM.replace("'small' is", "The value is"),
            {"sizes": ["", "small"]},
            [("/body/sizes/1", "", {"type": "object"})],
        ),
        (ITEM.replace("'small'", "1"), {"sizes": [True, 1]}, [("/body/sizes/1", "", {"type": "object"})]),
    ],
)
def test_the_place_is_the_one_with_the_value_that_failed(text: str, body: Any, wanted: Any) -> None:
    assert read(text, body) == wanted


def test_two_places_with_the_value_are_none() -> None:
    twins = {"owner": {"name": "ann"}, "user": {"name": "ann"}}
    assert all(place not in ("/body/owner/email", "/body/user/email") for place, _, _ in read(MISSING, twins))


def read(text: str, body: Any) -> list[tuple[str, str, Any]]:
    request = Request("POST", "/users", {}, {"content-type": "application/json"}, body)
    errors = GenericFormat().read(Exchange(request, 400, {}, b""), {"error": {"message": text}})
    return [(one.pointer, one.constraint, dict(one.stated)) for one in errors]
