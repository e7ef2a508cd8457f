"""A body is sent in another form only where that loses nothing; whatever else is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.pointer import MISSING
from corrigible.rules.schema_repair.body import (
    BOUNDARY,
    FORM,
    JSON_PATCH,
    MALFORMED,
    MEDIA_TYPE,
    MERGE_PATCH,
    is_json,
    repair_body,
)
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.schema.exchange import Request
from tests._support.rows import rows

JSON = "application/json"
OCTETS = "application/octet-stream"
A, B = "application/a+json", "application/b+json"
PATCH = [{"op": "add", "path": "/size", "value": 1}]
NAMED = {"type": "object", "properties": {"size": {"type": "integer"}, "name": {"type": "string"}}}


def sent_as(
    body: Any, *taken: str, method: str = "POST", form: bool = False, media: str = "text/plain", files: str = ""
) -> tuple[Any, Any]:
    """Return the media type that is suggested, and the body in it; or the media types of a question."""
    request = Request(method, "/x", {}, {"content-type": media}, body, form, frozenset(filter(None, [files])))
    schema = {"enum": [*taken], "properties": dict.fromkeys(taken, NAMED)}
    violation = SchemaViolation("/headers/content-type", MEDIA_TYPE, schema, media)
    (suggestion,) = repair_body(violation, request, "1.f").suggestions
    if "placeholders" in suggestion:
        (place,) = suggestion["placeholders"]
        assert place["ask"] == "agent"
        return None, place["schema"]["enum"]
    values = {one["path"]: one["value"] for one in suggestion["patch"] if one["op"] in ("add", "replace")}
    return values["/headers/content-type"], values.get("/body", MISSING)


@rows(
    ("body", "taken", "more", "media", "value"),
    [
        # JSON is sent as it is; of several forms that fit JSON goes first.
        ({"size": 1}, [JSON], {"media": "application/x+json"}, JSON, MISSING),
        ({"size": 1}, [JSON], {}, JSON, {"size": 1}),
        ({"size": 1}, [FORM, JSON], {"media": "application/x+json"}, JSON, MISSING),
        ({"size": 1}, [A, "text/csv", B], {}, None, [A, B]),
        ({"size": 1}, [A, JSON], {"media": "application/x+json"}, JSON, MISSING),
        (
            {"size": 1},
            [A, B],
            {},
            None,
            [A, B],
        ),
        # A form has the types of the description as JSON, and JSON is a form where it is flat.
        ({"size": "1", "name": "2"}, [JSON], {"form": True}, JSON, {"size": 1, "name": "2"}),
        ({"size": 1, "name": "a"}, [FORM], {"media": JSON}, FORM, {"size": "1", "name": "a"}),
        # A secret is not repeated: the same texts are the same document, and a number would be another.
        ({"name": "a", "password": "s3cret-12"}, [FORM], {"media": JSON}, FORM, MISSING),
        ({"size": 1, "password": "s3cret-12"}, [FORM], {"media": JSON}, None, [FORM]),
        ({"size": {"a": 1}}, [FORM], {"media": JSON}, None, [FORM]),
        ({"size": None}, [FORM], {"media": JSON}, None, [FORM]),
        ({"size": [1]}, [FORM], {"media": JSON}, None, [FORM]),
        ({"name": ["a", "b"]}, [FORM], {"form": True}, FORM, MISSING),
        # Texts that hold JSON, and texts that do not.
        ('{"size": 1}', [JSON], {}, JSON, {"size": 1}),
        ("size: 1", [JSON], {}, None, [JSON]),
        ("size: 1", [OCTETS], {}, OCTETS, MISSING),
        ({"size": 1}, ["text/csv"], {}, None, ["text/csv"]),
        # Kinds of patches.
        (PATCH, [MERGE_PATCH], {"method": "PATCH"}, None, [MERGE_PATCH]),
        (
            PATCH,
            [JSON_PATCH],
            {"method": "PATCH", "media": JSON},
            JSON_PATCH,
            MISSING,
        ),
        ([1, 2], [MERGE_PATCH], {"method": "PATCH"}, None, [MERGE_PATCH]),
        ([1, 2], [JSON], {"media": "application/x+json"}, JSON, MISSING),
        ([1, 2], [JSON_PATCH], {"method": "PATCH"}, None, [JSON_PATCH]),
        # What is in files is not at hand.
        ({"size": "1", "photo": "a.png"}, [JSON], {"form": True, "files": "photo"}, None, [JSON]),
    ],
)
def test_the_same_values_in_a_media_type_that_is_taken(
    body: Any, taken: list[str], more: dict[str, Any], media: str | None, value: Any
) -> None:
    assert sent_as(body, *taken, **more) == (media, value)


def test_a_boundary_that_nobody_knows_is_asked_for() -> None:
    request = Request("POST", "/x", {}, {"content-type": "multipart/form-data"}, {"a": "1"}, True)
    violation = SchemaViolation("/headers/content-type", BOUNDARY, {}, "multipart/form-data")
    (suggestion,) = repair_body(violation, request, "1.f").suggestions
    (place,) = suggestion["placeholders"]
    assert (place["ask"], place["schema"]) == ("agent", {"type": "string", "pattern": "boundary="})


def test_what_json_is() -> None:
    assert [is_json(one) for one in (JSON, "application/problem+json", "text/json", "application/jsonl")] == [
        *(True, True, False, False)
    ]


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ('{"name": "a", "sizes": [{"of": "b"}', {"name": "a", "sizes": [{"of": "b"}]}),
        ('{"name": "a", "size": 3', None),
        ('{"name": "a", "size":', None),
        ('{"name": "a', None),
        ('{"name": "a", "password": "s3cret-12"', None),  # which is not repeated
    ],
)
def test_what_lacks_only_its_end_is_closed_once_that_is_confirmed(text: str, body: Any) -> None:
    violation = SchemaViolation("/body", MALFORMED, NAMED, text)
    repaired = repair_body(violation, Request("POST", "/x", body=text), "1.f")
    *closed, question = repaired.suggestions
    assert question["placeholders"][0]["pointer"] == "/body"
    assert [one["patch"] for one in closed] == (
        [[{"op": "replace", "path": "/body", "value": body}]] if body is not None else []
    )
    assert all(one["safety"]["requires_confirmation"] for one in closed)
