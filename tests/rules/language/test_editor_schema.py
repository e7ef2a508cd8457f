"""The editors' JSON Schemas take what an author may write, under the names that the author writes."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from corrigible.rules.language.rule_model import editor_schemas

RULE = {
    "id": "a.b",
    "title": "T",
    "status": "draft",
    "references": ["r"],
    "diagnosis": "d",
    "suggest": [{"if": "true", "action": "ESCALATE", "message": "m"}],
}
PACK = {"name": "a", "title": "t", "version": "1.2.3", "api": {"name": "A"}, "license": "MIT"}
CASE = {"name": "n", "origin": "recorded", "request": {}, "response": {"status": 400}, "no_match": True}


@pytest.mark.parametrize(
    ("name", "fitting", "other"),
    [
        ("rule", RULE, {**RULE, "suggest": [{"condition": "true", "action": "ESCALATE", "message": "m"}]}),
        ("rule", {**RULE, "match": {"status": 400}}, {**RULE, "match": {"status": "400"}}),
        ("pack", PACK, {**PACK, "versoin": "1"}),
        ("cases", [CASE], CASE),
    ],
)
def test_a_file_fits_its_schema(name: str, fitting: Any, other: Any) -> None:
    schema = editor_schemas()[name]
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(schema)
    assert Draft202012Validator(schema).is_valid(fitting)
    assert not Draft202012Validator(schema).is_valid(other)


def test_there_is_one_for_each_kind_of_file() -> None:
    assert set(editor_schemas()) == {"rule", "pack", "cases"}
