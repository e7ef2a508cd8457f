"""Mistakes of packs that load: what a rule lacks, what is too long, what no case would notice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from corrigible.proxy.pack_tools.lint import lint_pack

WritePack = Callable[..., Path]
RULE = "match: {code: bad}\nsuggest: [{message: m, changes_intent: true, parameters: {amount: 300}}]\n"
OTHER = """\
- name: another
  origin: synthetic
  request: {path: /v1/x}
  response: {status: 400, body: {error: {code: other, message: m}}}
  no_match: true
"""
CASE = """\
- name: n
  origin: synthetic
  request: {path: /v1/x, body: {amount: 500}}
  response: {status: 400, body: {error: {code: bad, message: m}}}
  expect: {suggestions: [{parameters: {amount: 300}%s}]}
"""


def linted(folder: Path, claim: str = ", safety: {changes_intent: true}") -> list[str]:
    (folder / "x.cases.yaml").write_text(CASE % claim + OTHER, "utf-8")
    return mistakes(folder)


def mistakes(folder: Path) -> list[str]:
    return [str(problem).replace(f"{folder}/", "") for problem in lint_pack(folder).mistakes]


def test_a_pack_in_order(write_pack: WritePack) -> None:
    assert linted(write_pack(x=RULE)) == []


def test_a_map_of_the_pack_that_is_wrong(write_pack: WritePack) -> None:
    folder = write_pack(x=RULE)
    (folder / "maps").mkdir()
    (folder / "maps" / "siblings.json").write_text("{}")
    assert linted(folder) == ["maps/siblings.json:1: not a map: method: Field required"]


def test_a_change_of_intent_that_no_case_claims(write_pack: WritePack) -> None:
    assert linted(write_pack(x=RULE), "") == [
        "x.yaml:1: the rule has changes_intent: true, and none of its cases claims it"
    ]


def test_an_expression_is_200_characters_long_at_most(write_pack: WritePack) -> None:
    fits, long = f"'{'x' * 198}'", f"'{'x' * 199}'"
    manifest = f'functions: {{"f(n)": "n + {long}"}}\n'
    folder = write_pack(manifest=manifest, x=RULE + f'let:\n  fits: "{fits}"\n  long: "{long}"\n')
    assert [problem.partition(", 200")[0] for problem in linted(folder)] == [
        "pack.yaml:6: an expression of 205 characters",
        "x.yaml:10: an expression of 201 characters",
    ]


@pytest.mark.parametrize(
    ("status", "manifest", "problems"),
    [
        ("stable", "", ['"author", here or in pack.yaml', '"date"']),
        ("stable", "author: Us\n", ['"date"']),
        ("draft", "", []),
    ],
)
def test_a_stable_rule_says_who_wrote_it_and_when(
    write_pack: WritePack, status: str, manifest: str, problems: list[str]
) -> None:
    folder = write_pack(manifest=manifest, x=RULE)
    text = (folder / "x.yaml").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith(("author", "date"))]
    (folder / "x.yaml").write_text("\n".join(lines).replace("status: stable", f"status: {status}"), "utf-8")
    assert linted(folder) == [f"x.yaml:3: a stable rule needs {problem}" for problem in problems]


def test_a_file_that_readers_disagree_about(write_pack: WritePack) -> None:
    folder = write_pack(x=RULE + "let: {'off': 1}\n")
    assert linted(folder) == []
    (folder / "x.yaml").write_text((folder / "x.yaml").read_text("utf-8").replace("'off'", "off"), "utf-8")
    assert linted(folder) == ['x.yaml:8: "off" is a boolean in YAML 1.1 and text in YAML 1.2: quote it']


def test_no_case_is_too_few(write_pack: WritePack) -> None:
    assert mistakes(write_pack(x=RULE))[:2] == [
        "x.cases.yaml:1: the rule has 0 cases: it needs a case that it matches (expect)",
        "x.cases.yaml:1: the rule has 0 cases: it needs a case with no_match: true",
    ]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("when: captures.whta == 'a'", '8: match.message has no group "whta"; did you mean "what"?'),
        ("when: \"captures['other'] == 'a'\"", '8: match.message has no group "other"; it has what'),
        ("when: captures.what == 'a'", ""),
        ("when: size(error.message)", "8: the expression gives a number, expected a boolean"),
        ("when: size(error.message) > 2 && error.code == 'a'", ""),
        ('let: {n: "captures.none"}', '8: match.message has no group "none"; it has what'),
        ("when: request.bdy == null", '8: request has no member "bdy"; did you mean "body"?'),
        ("when: response.code == 400", '8: response has no member "code"; it has status, headers, body'),
        ('when: "exchange.?elapsd.orValue(0) > 1"', '8: exchange has no member "elapsd"; did you mean "elapsed"?'),
        ("when: request.body.request.bdy == 'response.code' && response.headers.size() > 0", ""),
        ("let: {n: tables.limts.a}", "8: there is no tables/limts.yaml"),
        ("also_resolves: \"{'a': 1}\"", "8: the expression gives a map, expected a list"),
        ('lookup: {a: {get: "1"}}', "8: the expression gives a number, expected a text"),
        (
            "lookup: {a: {get: \"'/v1/' + request.body.id + '/'\"}}",
            "8: a path that ends with a slash is never looked up",
        ),
    ],
)
def test_an_expression_that_compiles_and_is_wrong(write_pack: WritePack, change: str, problem: str) -> None:
    rule = RULE.replace("code: bad}", "message: '^m(?P<what>.*)'}")
    folder = write_pack(manifest="lookups: ['/v1/{id}']\n", x=f"{rule}{change}\n")
    assert [one.removeprefix("x.yaml:") for one in linted(folder)] == ([problem] if problem else [])


def test_results_of_the_wrong_kind_under_suggest(write_pack: WritePack) -> None:
    entries = [
        "{message: m, set: \"'text'\"}",
        "{message: m, ask: \"['/body/a']\"}",
        "{message: m, ask: {pointer: /body/a, each: \"'b'\"}}",
        "{message: m, ask: [{pointer: /body/a/, schema_from: \"'b'\"}]}",
        "{action: WAIT_AND_RETRY, message: m, retry: {after_seconds: \"'soon'\"}}",
    ]
    listed = "\n".join(f"  - {entry}" for entry in entries)
    folder = write_pack(x=f"match: {{code: bad}}\nsuggest:\n{listed}\n")
    assert [one for one in mistakes(folder) if "cases" not in one] == [
        "x.yaml:8: the expression gives a text, expected a list",
        "x.yaml:9: the expression gives a list, expected a text",
        "x.yaml:10: the expression gives a text, expected a list",
        'x.yaml:11: "/body/a/" ends with a slash: that is a member without a name',
        "x.yaml:11: the expression gives a text, expected a map",
        "x.yaml:12: the expression gives a text, expected a number",
    ]


def test_a_slash_at_the_end_of_what_pack_yaml_lists(write_pack: WritePack) -> None:
    manifest = "lookups: [/v1/things/, /v1/ok]\nbases: [/api/]\nredact: [/error/]\nmirror: /error/\n"
    assert [one.partition(": ")[2] for one in linted(write_pack(manifest=manifest, x=RULE))] == [
        '"/v1/things/" ends with a slash: no look-up fits it',
        '"/api/" ends with a slash: no look-up fits it',
        '"/error/" ends with a slash: that is a member without a name',
        '"/error/" ends with a slash: that is a member without a name',
    ]


def test_an_operation_that_nobody_knows(write_pack: WritePack) -> None:
    manifest = "operations: {POST /v1/x: CreateThing}\n"
    folder = write_pack(manifest=manifest, x=RULE.replace("code: bad", "operation: [CreateThing, CreateThnig, Other]"))
    assert [one for one in linted(folder) if "operation" in one] == [
        'x.yaml:6: "CreateThnig" is no operation of pack.yaml or of the API\'s adapter; did you mean "CreateThing"?',
        'x.yaml:6: "Other" is no operation of pack.yaml or of the API\'s adapter '
        "(of a description: give it with --spec)",
    ]
    # Nothing is known of the operations of an API that lists none.
    assert linted(write_pack(x=RULE.replace("code: bad", "code: bad, operation: CreateThing"))) == []


def test_an_operation_that_requests_name_and_the_pack_does_not_list(write_pack: WritePack) -> None:
    rule = RULE.replace("code: bad", "code: bad, operation: [PutItem, put_item, Other]")
    names = "operation: [{header: x-target}]\n"
    assert linted(write_pack(manifest=f"{names}operations: {{put_item: PutItem}}\n", x=rule)) == [
        'x.yaml:6: "put_item" is no operation of pack.yaml or of the API\'s adapter; did you mean "PutItem"?',
        'x.yaml:6: "Other" is no operation of pack.yaml or of the API\'s adapter (of requests: add it to operations)',
    ]


def test_a_pack_that_lists_no_operation_may_name_any_of_requests(write_pack: WritePack) -> None:
    rule = RULE.replace("code: bad", "code: bad, operation: PutItem")
    assert linted(write_pack(manifest="operation: [{header: x-target}]\n", x=rule)) == []


def test_a_mistake_in_one_rule_does_not_stop_the_others(write_pack: WritePack) -> None:
    manifest = 'functions: {"f(": "1"}\n'
    folder = write_pack(manifest=manifest, a=RULE + "wen: 1\n", x=RULE)
    (folder / "tables").mkdir()
    (folder / "tables" / "t.yaml").write_text("a: [\n", "utf-8")
    (folder / "x.cases.yaml").write_text(CASE % ", safety: {changes_intent: true}", "utf-8")
    assert mistakes(folder) == [
        'pack.yaml:6: "f(" is no signature such as remaining(charge)',
        'a.yaml:8: unknown key "wen"; did you mean "when"?',
        "tables/t.yaml:2: expected the node content, but found '<stream end>'",
        "x.cases.yaml:1: the rule has 1 case: it needs a case with no_match: true",
    ]


def test_cases_without_a_rule(write_pack: WritePack) -> None:
    folder = write_pack(x=RULE)
    (folder / "xx.cases.yaml").write_text(OTHER, "utf-8")
    assert linted(folder) == ['xx.cases.yaml:1: these cases have no rule: xx.yaml does not exist; did you mean "x"?']
