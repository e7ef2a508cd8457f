"""Trying a pack on its own cases: what holds, what does not, and what is wrong with the pack as a whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corrigible.proxy.pack_tools.lint import answer_lookup, run_cases
from corrigible.rules.lookup import Lookup, LookupAnswer
from tests._support.rows import rows

WritePack = Callable[..., Path]
RULE = "match: {code: bad}\nsuggest: [{action: MODIFY_PARAMS, message: m, parameters: {amount: 300}}]\n"
LIVE = "lookup: {x: {get: \"'/v1/' + request.body.id\"}}\nlet: {left: x.left}\n" + RULE.replace("300", "left")


def case(name: str, claim: str, *, code: str = "bad", body: str = "{amount: 500, id: a}", more: str = "") -> str:
    return (
        f"- name: {name}\n  origin: synthetic\n  request: {{path: /v1/x, body: {body}}}\n"
        f"  response: {{status: 400, body: {{error: {{code: {code}, message: m}}}}}}\n  {claim}\n{more}"
    )


SPEAKS = "expect: {recovery: correctable, suggestions: [{parameters: {amount: 300}}]}"
SILENT = case("another", "no_match: true", code="other")


def tried(folder: Path, cases: dict[str, str]) -> tuple[list[str], list[str], int]:
    for name, text in cases.items():
        (folder / f"{name}.cases.yaml").write_text(text, "utf-8")
    result = run_cases(folder)
    complaints = [f"{v.case.text.name}: {complaint}" for v in result.cases for complaint in v.failures]
    return complaints, [str(problem).replace(f"{folder}/", "") for problem in result.problems], result.passed


def test_a_pack_in_order(write_pack: WritePack) -> None:
    after = "  after: {method: POST, body: {amount: 300, id: a}}\n"
    assert tried(write_pack(x=RULE), {"x": case("it speaks", SPEAKS, more=after) + SILENT}) == ([], [], 2)


@rows(
    ("text", "complaint"),
    [
        (case("n", SPEAKS.replace("300", "301")), "n: /suggestions/0/parameters/amount: expected 301, got 300"),
        (case("n", SPEAKS, code="other"), "n: expected a match, got none"),
        (case("n", "no_match: true"), 'n: expected no match, got {"schema":"self-reflective-api/0.1",'),
        (
            case("n", SPEAKS, body="[1]"),
            "n: expected a match, the rule failed: apex.x: the request's body is no object, write the patch",
        ),
        (case("n", "no_match: true", body="[1]"), "n: expected no match, the rule failed: apex.x: the request's body"),
        (case("n", SPEAKS, more="  after: {body: {amount: 1}}\n"), "n: after/body/amount: expected 1, got 300"),
    ],
)
def test_a_case_that_does_not_hold(write_pack: WritePack, text: str, complaint: str) -> None:
    complaints, _, passed = tried(write_pack(x=RULE), {"x": text})
    assert len(complaints) == 1 and complaints[0].startswith(complaint)
    assert passed == 0


def test_what_a_case_shows_must_keep_the_contract(write_pack: WritePack) -> None:
    actions = """\
        actions:
          PICK:
            base_action: MODIFY_PARAMS
            description: Pick one.
            parameters: {type: object, required: [brand]}
        """
    rule = "suggest: [{action: PICK, message: m, parameters: {brnd: 1}, patch: [{op: add, path: /body/a, value: 1}]}]\n"
    complaints, _, _ = tried(write_pack(manifest=actions, x=rule), {"x": case("n", "expect: {recovery: correctable}")})
    assert complaints == ['n: invalid feedback: suggestion 0: PICK: /parameters: "brand" is a required property']


def test_a_reader_that_stops(write_pack: WritePack) -> None:
    text = case("n", "expect: {recovery: terminal}", more="  after: {}\n")
    complaints, _, _ = tried(write_pack(x="suggest: [{action: ESCALATE, actor: you, message: m}]\n"), {"x": text})
    assert complaints == [
        "n: after: no next request: Terminal(action='ESCALATE', message='m', parameters={'actor': 'you'})"
    ]


def test_look_ups_are_answered_from_the_case(write_pack: WritePack) -> None:
    folder = write_pack(manifest="lookups: ['/v1/{id}']\n", x=LIVE)
    live = case("n", SPEAKS, more='  lookups: {"GET /v1/a": {left: 300}}\n')
    gone = case("gone", SPEAKS, more='  lookups: {"GET /v1/a": {answer: {status: 404}}}\n')
    none = case("none", SPEAKS, more='  lookups: {"GET /v1/a": null}\n')
    complaints, problems, passed = tried(folder, {"x": live + gone + none + SILENT})
    assert complaints == [
        f"{name}: expected a match, the rule failed: apex.x: look-up x gave nothing" for name in ("gone", "none")
    ]
    assert (problems, passed) == ([], 2)


def test_a_case_lists_the_look_ups_that_are_made_and_no_others(write_pack: WritePack) -> None:
    folder = write_pack(manifest="lookups: ['/v1/{id}']\n", x=LIVE.replace("'}", "', optional: true}"))
    misspelt = case("n", "no_match: true", code="other", more='  lookups: {"GET /v1/b": {left: 300}}\n')
    unlisted = case("unlisted", "no_match: true")
    complaints, _, _ = tried(folder, {"x": misspelt + unlisted})
    assert 'n: lookups has "GET /v1/b", which nothing looks up' in complaints
    assert (
        'unlisted: the rule looks up "GET /v1/a", which the case does not list (null: nothing is there)' in complaints
    )


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/a", LookupAnswer(200, b'{"n":1}')),
        ("/b", LookupAnswer(500, b'{"e":1}')),
        ("/c", LookupAnswer(404, b"null")),
        ("/d", LookupAnswer(404, b'{"error": {"message": "not found"}}')),
    ],
)
def test_answers(path: str, said: LookupAnswer) -> None:
    recorded: dict[str, Any] = {
        "GET /a": {"n": 1},
        "GET /b": {"answer": {"status": 500, "body": {"e": 1}}},
        "GET /c": {"answer": {"status": 404}},
    }
    assert answer_lookup(recorded, Lookup(path)) == said


def test_both_polarities_and_a_rule_are_needed(write_pack: WritePack) -> None:
    folder = write_pack(a=RULE, b=RULE.replace("bad", "worse"))
    _, problems, _ = tried(folder, {"a": case("n", SPEAKS), "stray": SILENT})
    assert problems == [
        "a.cases.yaml:1: the rule has 1 case: it needs a case with no_match: true",
        "b.cases.yaml:1: the rule has 0 cases: it needs a case that it matches (expect)",
        "b.cases.yaml:1: the rule has 0 cases: it needs a case with no_match: true",
        "stray.cases.yaml:1: these cases have no rule: stray.yaml does not exist",
    ]


def test_two_rules_that_speak_on_one_case(write_pack: WritePack) -> None:
    cases = {"a": case("n", SPEAKS) + SILENT, "b": case("m", SPEAKS) + SILENT}
    _, problems, _ = tried(write_pack(a=RULE, b=RULE), cases)
    assert problems == [
        'a.cases.yaml:1: "n": apex.b matches too, with the same rank (set priority)',
        'b.cases.yaml:1: "m": apex.a matches first, so apex.b is not used',
        'b.cases.yaml:1: "m": apex.a matches too, with the same rank (set priority)',
    ]
    _, problems, _ = tried(write_pack(a="priority: 1\n" + RULE, b=RULE), cases)
    assert problems == ['b.cases.yaml:1: "m": apex.a matches first, so apex.b is not used']


def test_a_deprecated_rule_is_not_tried(write_pack: WritePack) -> None:
    folder = write_pack(a=RULE, b=RULE)
    old = folder / "b.yaml"
    old.write_text(old.read_text("utf-8").replace("status: stable", "status: deprecated"), "utf-8")
    cases = case("n", SPEAKS) + SILENT
    assert tried(folder, {"a": cases, "b": cases}) == ([], [], 2)
