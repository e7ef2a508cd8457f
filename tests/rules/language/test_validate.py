"""Every complaint about a file has its line, its key, and the word that was likely meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from corrigible.rules.errors import AuthoringError
from corrigible.rules.language.file_model import checked
from corrigible.rules.language.pack_model import PackText
from corrigible.rules.language.rule_model import RuleText
from corrigible.rules.language.yaml_source import read_source
from tests._support.rows import rows

HEAD = "id: apex.x\ntitle: T\nstatus: stable\nreferences: [r]\ndiagnosis: D\n"
SAID = "suggest: [{action: ESCALATE, actor: somebody_else, message: m}]\n"


def authoring_errors(tmp_path: Path, text: str, model: type[RuleText] | type[PackText] = RuleText) -> list[str]:
    path = tmp_path / "x.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(AuthoringError) as caught:
        checked(model, read_source(path))
    assert str(caught.value) == "\n".join(f"{error.place}: {error.problem}" for error in caught.value.all_errors())
    return [f"{error.place.line}: {error.problem}" for error in caught.value.all_errors()]


@rows(
    ("text", "expected_message"),
    [
        (SAID + "wehn: 'true'\n", ['7: unknown key "wehn"; did you mean "when"?']),
        (SAID + "on: {status: 400}\n", ['7: "on" is now called "match"']),
        (SAID + "also: errors\n", ['7: "also" is now called "also_resolves"']),
        (SAID + "zzz: 1\n", ['7: unknown key "zzz"']),
        (SAID + "when: 5\n", ['7: "when" is 5, expected text or true or false']),
        (SAID + "when: [a]\n", ['7: "when" is a list, expected text or true or false']),
        (SAID + "match: {statsu: 4}\n", ['7: unknown key "statsu" in match; did you mean "status"?']),
        (SAID + "match: {status: [400, abc]}\n", ['7: "status" is abc, expected a whole number']),
        (SAID + "match: {code: 7}\n", ['7: "code" is 7, expected text']),
        (SAID + "match: [a]\n", ['7: "match" is a list, expected a map']),
        (SAID + "match:\n", ['7: "match" is empty, expected a map']),
        (SAID + "lookup: {a: '/v1'}\n", ['7: "a" is /v1, expected a map']),
        (SAID + "lookup:\n  a: {gt: x}\n", ['8: unknown key "gt" in a; did you mean "get"?']),
        (SAID + "lookup:\n  a: {optional: true}\n", ["8: a says exactly one of get, post"]),
        (SAID + "lookup:\n  a: {get: x, body: {b: 1}}\n", ["8: a has a body: that needs post"]),
        (SAID + "lookup:\n  a: {post: x, message: {b: 1}}\n", ["8: a has a message: that needs get"]),
        (SAID + "priority: 1.5\n", ['7: "priority" is 1.5, expected a whole number']),
        (SAID + "lookup: {a: {get: true}}\n", ['7: "get" is true, expected text']),
        (SAID + "references: {a: 1}\n", ['7: key "references" stands twice']),
        (SAID + "lookup: [a]\n", ['7: "lookup" is a list, expected a map']),
        (SAID + "lookup: {a: {get: x, optional: often}}\n", ['7: "optional" is often, expected true or false']),
        (SAID + "lookup: {a: {get: x, optional: {b: 1}}}\n", ['7: "optional" is a map, expected true or false']),
        (SAID + "priority: high\n", ['7: "priority" is high, expected a whole number']),
        ("suggest: []\n", ['6: "suggest": list should have at least 1 item after validation, not 0']),
        ("suggest:\n  - message: m\n", ["7: suggest says exactly one of action, all, one_of"]),
        ("suggest:\n  - {action: ESCALATE}\n", ["7: suggest an action needs a message"]),
        (
            "suggest:\n  - action: ESCALATE\n    mesage: m\n",
            ['8: unknown key "mesage" in suggest; did you mean "message"?'],
        ),
        (
            "suggest:\n  - action: MODIFY_PARAMS\n    message: m\n    applicability: MACHINE_APPLICABLE\n",
            ['9: "applicability" is MACHINE_APPLICABLE, expected MAYBE_INCORRECT, HAS_PLACEHOLDERS or UNSPECIFIED'],
        ),
        (
            "suggest:\n  - action: MODIFY_PARAMS\n    message: m\n    patch:\n      - {op: replce, path: /body/x}\n",
            [
                '10: "op" is replce, expected add, remove, replace, move, copy or test; did you mean "replace"?',
            ],
        ),
        (
            "suggest:\n  - one_of:\n      - {action: ESCALATE, mesage: m}\n",
            ['8: unknown key "mesage" in one_of; did you mean "message"?'],
        ),
        (
            "suggest:\n  - one_of: {eachh: '[1]', suggest: {action: ESCALATE, mesage: m}}\n",
            [
                '7: "each" is missing',
                '7: unknown key "mesage" in suggest; did you mean "message"?',
                '7: unknown key "eachh" in one_of; did you mean "each"?',
            ],
        ),
        ("suggest:\n  - one_of: 5\n", ['7: "one_of" is 5, expected a list or a map']),
        (
            "suggest:\n  - {action: MODIFY_PARAMS, message: m, ask: [{pointr: /body/x}]}\n",
            ['7: "pointer" is missing', '7: unknown key "pointr" in ask; did you mean "pointer"?'],
        ),
    ],
)
def test_a_rule_that_is_wrong(tmp_path: Path, text: str, expected_message: list[str]) -> None:
    assert authoring_errors(tmp_path, HEAD + text) == expected_message


def test_several_mistakes_come_at_once_in_the_order_of_their_lines(tmp_path: Path) -> None:
    text = "titel: T\nid: Apex.x\nstatus: stabel\nreferences: []\nsuggest: [{action: ESCALATE, message: m}]\n"
    assert authoring_errors(tmp_path, text) == [
        '1: "title" is missing',
        '1: "diagnosis" is missing',
        '1: unknown key "titel"; did you mean "title"?',
        "2: \"id\": string should match pattern '^[a-z][a-z0-9-]*\\.[a-z0-9]+(-[a-z0-9]+)*$'",
        '3: "status" is stabel, expected draft, stable or deprecated; did you mean "stable"?',
        '4: "references": list should have at least 1 item after validation, not 0',
    ]


@pytest.mark.parametrize("text", ["", "- a\n", "text\n"])
def test_a_file_that_is_no_map(tmp_path: Path, text: str) -> None:
    (expected_message,) = authoring_errors(tmp_path, text, PackText)
    assert expected_message.startswith("1: expected a map of name, title, version, api, license,")


def test_a_scalar_is_as_good_as_a_list_of_one(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(HEAD + SAID + "match: {operation: A, status: 400, code: [a, b]}\n", "utf-8")
    match = checked(RuleText, read_source(path)).match
    assert (match.operation, match.status, match.code, match.param) == (["A"], [400], ["a", "b"], [])
