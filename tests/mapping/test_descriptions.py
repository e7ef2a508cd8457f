"""The cut descriptions hold together, and are read as what they say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests._support.rows import rows
from tests.mapping import described
from tests.mapping.make_descriptions import Cut

FOLDER = Path(__file__).parent / "descriptions"
DOCUMENTS = sorted(path for path in FOLDER.glob("*.json") if path.name != "index.json")


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for child in value.values():
            yield from references(child)
    elif isinstance(value, list):
        for child in value:
            yield from references(child)


@rows("path", DOCUMENTS, ids=lambda path: path.stem)
def test_all_references_resolve(path: Path) -> None:
    document = json.loads(path.read_text("utf-8"))
    for reference in set(references(document)):
        found: Any = document
        for part in reference.removeprefix("#/").split("/"):
            found = found[part.replace("~1", "/").replace("~0", "~")]
        assert isinstance(found, dict), reference


@pytest.mark.nightly
@pytest.mark.parametrize("api", list(described.index()))
def test_operations_have_fields_and_names_of_their_own(api: str) -> None:
    operations = described.operations(api)
    assert all(one.api == api and one.key == key for key, one in operations.items())
    assert len({one.name for one in operations.values()}) == len(operations)
    for one in operations.values():
        for fields in (one.arguments, one.results):
            pointers = [field.pointer for field in fields]
            assert len(set(pointers)) == len(pointers), one.key
        placeholders = set(re.findall(r"\{([^}]*)\}", one.path))
        given = {field.pointer.removeprefix("/path/") for field in one.arguments if field.pointer.startswith("/path/")}
        assert placeholders <= given, one.key


def document() -> dict[str, Any]:
    deep = {"type": "object", "properties": {"below": {"$ref": "#/components/schemas/Deep"}}}
    thing = {
        "type": "object",
        "required": ["id"],
        "example": {"id": 1},
        "properties": {"id": {"type": "integer"}, "deep": {"$ref": "#/components/schemas/Deep"}},
    }
    answer = {
        "description": "done",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}},
    }
    return {
        "openapi": "3.0.3",
        "info": {"title": "Things", "version": "1", "contact": {"name": "x"}},
        "paths": {
            "/things": {
                "get": {
                    "operationId": "list",
                    "tags": ["a"],
                    "responses": {"404": {"description": "no"}, "200": answer},
                },
                "post": {"operationId": "make", "tags": ["b"], "responses": {"201": answer}},
            }
        },
        "components": {"schemas": {"Thing": thing, "Deep": deep, "Unused": {"type": "object"}}},
    }


def test_a_cut_keeps_what_is_wanted_with_what_it_refers_to() -> None:
    made = Cut(document(), lambda _path, operation: "a" in operation["tags"], 4).made()
    assert list(made["paths"]["/things"]) == ["get"]
    assert list(made["paths"]["/things"]["get"]["responses"]) == ["200"]
    assert made["components"]["schemas"].keys() == {"Thing", "Deep"}
    assert "example" not in made["components"]["schemas"]["Thing"]
    assert "contact" not in made["info"]


def test_a_shallow_cut_leaves_out_what_is_below() -> None:
    made = Cut(document(), lambda _path, _operation: True, 1).made()
    assert made["components"]["schemas"].keys() == {"Thing"}
    assert made["components"]["schemas"]["Thing"]["properties"]["deep"] == {"type": "object"}


def test_fields_of_a_schema_that_contains_itself_end() -> None:
    (one,) = described.Document("things", Cut(document(), lambda path, one: "a" in one["tags"], 4).made()).operations()
    assert [(field.pointer, field.type, field.required) for field in one.results] == [
        ("/result/id", "integer", True),
        ("/result/deep", "object", False),
        ("/result/deep/below", "object", False),
    ]
