"""The registered actions."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from corrigible.schema import BASE_ACTIONS, TERMINAL_ACTIONS, Action, BaseAction, Vocabulary, VocabularyError
from corrigible.schema.error import did_you_mean
from tests._support.rows import rows

BRAND: dict[str, Any] = {
    "base_action": "MODIFY_PARAMS",
    "description": "Use exactly this brand.",
    "parameters": {
        "type": "object",
        "required": ["with_specific_brand"],
        "properties": {"with_specific_brand": {"type": "string"}},
        "additionalProperties": False,
    },
}


def test_the_base_is_the_seven_words_that_readers_know() -> None:
    base = Vocabulary.base()
    assert list(base.actions) == [action.value for action in BaseAction]
    assert set(base.actions) == BASE_ACTIONS
    assert {name for name, action in base.actions.items() if action.terminal} == TERMINAL_ACTIONS
    for name, action in base.actions.items():
        assert action.name == action.base_action == name
        assert len(action.description) > 20


def test_the_file_and_the_code_agree_on_what_is_terminal() -> None:
    data = yaml.safe_load(files("corrigible.schema").joinpath("vocabulary.yaml").read_text("utf-8"))
    assert data == Vocabulary.base().document()
    for entry in data.values():
        Draft202012Validator.check_schema(entry["parameters"])


@rows(
    ("action", "parameters", "problem"),
    [
        ("MODIFY_PARAMS", {"anything": [1]}, None),
        ("WAIT_AND_RETRY", {}, None),
        ("WAIT_AND_RETRY", {"after": 1}, 'WAIT_AND_RETRY: /parameters: {"after":1} '),
        ("NO_RECOVERY_AVAILABLE", {"reason_code": "GONE"}, None),
        ("NO_RECOVERY_AVAILABLE", {"reason_code": 7}, '/parameters/reason_code: 7 is not of type "string"'),
        ("MODIFY_PARAMS", [], '/parameters: [] is not of type "object"'),
        ("USE_SPECIFIC_BRAND", {}, "USE_SPECIFIC_BRAND is not registered"),
        ("modify_params", {}, "modify_params is not registered"),
    ],
)
def test_check(action: str, parameters: Any, problem: str | None) -> None:
    base = Vocabulary.base()
    if problem is None:
        assert base.check(action, parameters) is base.actions[action]
        return
    with pytest.raises(VocabularyError) as caught:
        base.check(action, parameters)
    assert problem in str(caught.value)


def test_registering_returns_another_vocabulary() -> None:
    base = Vocabulary.base()
    more = base.register("USE_SPECIFIC_BRAND", **BRAND)
    assert "USE_SPECIFIC_BRAND" not in base.actions
    assert list(more.actions) == [*base.actions, "USE_SPECIFIC_BRAND"]
    assert more.check("USE_SPECIFIC_BRAND", {"with_specific_brand": "x"}).terminal is False
    with pytest.raises(VocabularyError, match='"with_specific_brand" is a required property'):
        more.check("USE_SPECIFIC_BRAND", {})


def test_the_same_definition_twice_is_one_and_another_is_an_error() -> None:
    more = Vocabulary.base().extend({"USE_SPECIFIC_BRAND": BRAND})
    assert more.extend({"USE_SPECIFIC_BRAND": BRAND}) == more
    with pytest.raises(VocabularyError, match="USE_SPECIFIC_BRAND is registered already, with another meaning"):
        more.register("USE_SPECIFIC_BRAND", base_action="ESCALATE", description="Ask.")
    with pytest.raises(VocabularyError, match="ESCALATE is registered already"):
        more.register("ESCALATE", base_action="MODIFY_PARAMS", description="Do it anyway.")


def test_a_pack_action_is_terminal_as_its_base_is() -> None:
    more = Vocabulary.base().register("GIVE_UP", base_action="escalate", description="Ask a person.")
    assert more.actions["GIVE_UP"] == Action("GIVE_UP", "Ask a person.", BaseAction.ESCALATE)
    assert more.actions["GIVE_UP"].terminal is True
    assert more.document()["GIVE_UP"] == {
        "description": "Ask a person.",
        "base_action": "ESCALATE",
        "terminal": True,
        "parameters": {"type": "object"},
    }


@rows(
    ("definitions", "problem"),
    [
        ({"use_it": BRAND}, "use_it: not upper snake case"),
        ({"USE__IT": BRAND}, "USE__IT: not upper snake case"),
        ({"USE_IT": None}, "USE_IT: not a mapping"),
        ({"USE_IT": {**BRAND, "base_action": "USE_THAT"}}, "USE_IT: USE_THAT is no base action"),
        ({"USE_IT": {**BRAND, "base_action": None}}, "USE_IT: base_action and description are text"),
        ({"USE_IT": {**BRAND, "description": " "}}, "USE_IT: no description"),
        ({"USE_IT": {**BRAND, "parameters": []}}, "USE_IT: parameters are no JSON Schema: not a mapping"),
        ({"USE_IT": {**BRAND, "parameters": {"type": "map"}}}, 'USE_IT: parameters are no JSON Schema: "map" is not'),
        (
            {"USE_IT": {**BRAND, "parameters": {"$ref": "http://127.0.0.1:9/x"}}},
            "USE_IT: parameters are no JSON Schema: ",
        ),
        ({"USE_IT": {**BRAND, "parameters": {"pattern": "("}}}, "USE_IT: parameters are no JSON Schema: "),
        ({"USE_IT": {"base_action": "ESCALATE", "desc": "x"}}, "USE_IT: unknown desc; missing description"),
        ({"USE_IT": {**BRAND, "desc": "x"}}, "USE_IT: unknown desc"),
        ({"USE_IT": {"base_action": "ESCALATE"}}, "USE_IT: missing description"),
        ({7: BRAND}, "7: not upper snake case"),
    ],
)
def test_a_wrong_definition_says_what_is_wrong(definitions: Any, problem: str) -> None:
    with pytest.raises(VocabularyError) as caught:
        Vocabulary.base().extend(definitions)
    assert str(caught.value).startswith(problem)


def test_a_known_word_is_named_whatever_noughts_and_case_it_has() -> None:
    assert did_you_mean("e00001", ["E1", "F2"]) == '; did you mean "E1"?'
    assert did_you_mean("zzz", ["E1", "F2"]) == ""
