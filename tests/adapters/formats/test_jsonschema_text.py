"""Errors as jsonschema 4.26 prints them, also of a part of the request."""

from __future__ import annotations

from typing import Any

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


def test_two_places_with_the_value_are_none() -> None:
    twins = {"owner": {"name": "ann"}, "user": {"name": "ann"}}
    assert all(place not in ("/body/owner/email", "/body/user/email") for place, _, _ in read(MISSING, twins))


def read(text: str, body: Any) -> list[tuple[str, str, Any]]:
    request = Request("POST", "/users", {}, {"content-type": "application/json"}, body)
    errors = GenericFormat().read(Exchange(request, 400, {}, b""), {"error": {"message": text}})
    return [(one.pointer, one.constraint, dict(one.stated)) for one in errors]
