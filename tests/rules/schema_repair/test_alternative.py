"""Objects that have none of several forms."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.schema_repair.names import of_forms
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.schema.exchange import Request
from tests._support.rows import rows

REQUEST = Request("POST", "/x", body={"a": 1})


def form(*required: str, **properties: Any) -> dict[str, Any]:
    return {"required": [*required], "properties": properties}


def violation(*forms: Any, value: Any = None, keyword: str = "anyOf") -> SchemaViolation:
    return SchemaViolation("/body", keyword, {keyword: [*forms]}, {"a": 1} if value is None else value)


@rows(
    ("forms", "pointer", "schema"),
    [
        ([form("k", k={"const": 1}), form("k", k={"enum": [2, 1]})], "/body/k", {"enum": [1, 2]}),
        ([form("k", k={"enum": [1, [2]]}), form("k", k={"const": {}})], "/body/k", {"enum": [1]}),
        ([form("k", k={"type": "string"}), form("k", k={"type": "string"})], "/body/k", {"type": "string"}),
        ([form("k", k={"type": "string"}), form("k", k={"type": "null"})], "/body/k", {}),
        ([form("k", k={"const": 1}), form("k")], "/body/k", {}),
        ([form("a", "x", "k/l"), form("k/l", "y")], "/body/k~1l", {}),
    ],
)
def test_a_member_that_every_form_wants(forms: list[Any], pointer: str, schema: dict[str, Any]) -> None:
    proposal = of_forms(violation(*forms, keyword="oneOf"), REQUEST, "1.")
    assert proposal is not None
    (suggestion,) = proposal.suggestions
    if len(schema.get("enum", [])) == 1:
        assert suggestion["patch"][-1] == {"op": "add", "path": pointer, "value": schema["enum"][0]}
    else:
        assert suggestion["placeholders"] == [{"pointer": pointer, "ask": "user", "schema": schema}]


def test_the_names_of_all_forms_are_declared() -> None:
    forms = [form("key", key={}, kye={}), form("key", bey={})]
    proposal = of_forms(violation(*forms, value={"kye": 1, "bey": 2}), Request("POST", "/x", body={"kye": 1}), "1.")
    assert proposal is not None
    assert "placeholders" in proposal.suggestions[0]  # none of the two is the missing one under another name


@pytest.mark.parametrize(
    ("forms", "value"),
    [([form("a")], None), ([form("k"), {"required": "k"}], None), ([], None), ([form("k")], "text"), ([True], None)],
)
def test_no_member_is_wanted_by_all(forms: list[Any], value: Any) -> None:
    assert of_forms(violation(*forms, value=value), REQUEST, "1.") is None


def test_what_is_missing_of_each_form_the_shortest_first() -> None:
    forms = [form("x", "y", "z"), form("p/q", a={}), form("s", "t"), form("u", "v", "w")]
    proposal = of_forms(violation(*forms), REQUEST, "1.")
    assert proposal is not None
    assert [[p["pointer"] for p in one["placeholders"]] for one in proposal.suggestions] == [
        ["/body/p~1q"],
        ["/body/s", "/body/t"],
        ["/body/x", "/body/y", "/body/z"],
    ]


def test_what_is_missing_has_its_schema() -> None:
    proposal = of_forms(violation(form("k", k={"type": "string", "title": "x"}), form("l", l=True)), REQUEST, "1.")
    assert proposal is not None
    assert [one["placeholders"][0]["schema"] for one in proposal.suggestions] == [{"type": "string"}, {}]


@pytest.mark.parametrize("forms", [[], [form("k"), form("a")], [form("k"), {}]])
def test_there_is_no_choice_where_a_form_misses_nothing(forms: list[Any]) -> None:
    assert of_forms(violation(*forms), REQUEST, "1.") is None
