"""The body of a JSON patch, whatever kind of value the description has for it."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.openapi.compiler import with_form_of_patch
from tests._support.rows import rows

MEDIA = "application/vnd.images.v2.1-json-patch"
REFERENCE = {"$ref": "#/$defs/s0"}


@pytest.mark.parametrize("media", ["application/json-patch+json", MEDIA])
@pytest.mark.parametrize(
    ("schema", "definition"),
    [({"type": "string", "format": "RFC 6902"}, {}), (REFERENCE, {"type": "string"})],
)
def test_a_text_is_a_list_of_operations(media: str, schema: Any, definition: Any) -> None:
    found = with_form_of_patch(media, schema, [definition])
    assert isinstance(found, dict)
    assert found["type"] == "array"
    assert found["items"]["required"] == ["op", "path"]


def test_of_an_object_without_members_nothing_is_said() -> None:
    assert with_form_of_patch(MEDIA, REFERENCE, [{"type": "object"}]) == {}


@rows(
    ("media", "schema"),
    [
        (MEDIA, {"type": "object", "properties": {"name": {}}}),  # frameworks have the media type for any JSON
        (MEDIA, {"type": "array", "items": {"type": "object"}}),
        (MEDIA, {"type": ["array", "string"]}),
        (MEDIA, {}),
        ("application/merge-patch+json", {"type": "string"}),
        ("application/json", {"type": "object"}),
    ],
)
def test_what_may_be_is_left(media: str, schema: Any) -> None:
    assert with_form_of_patch(media, schema, []) == schema
