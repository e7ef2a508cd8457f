"""Mistakes of packs that load: what a rule lacks, what is too long, what no case would notice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from corrigible.proxy.build import described
from corrigible.proxy.pack_tools.lint import lint_pack
from tests._support.rows import rows

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


def noted(folder: Path) -> list[str]:
    return [str(note).replace(f"{folder}/", "") for note in lint_pack(folder).notes]


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
    uses = "also_resolves: 'fits == long ? [0] : []'\n"
    manifest = f'functions: {{"f(n)": "n + {long}"}}\n'
    folder = write_pack(manifest=manifest, x=RULE + f'let:\n  fits: "{fits}"\n  long: "{long}"\n{uses}')
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
    folder = write_pack(x=RULE + "let: {'off': 1}\nalso_resolves: \"[off]\"\n")
    assert linted(folder) == []
    (folder / "x.yaml").write_text((folder / "x.yaml").read_text("utf-8").replace("'off'", "off"), "utf-8")
    assert linted(folder) == ['x.yaml:8: "off" is a boolean in YAML 1.1 and text in YAML 1.2: quote it']


def test_no_case_is_too_few(write_pack: WritePack) -> None:
    assert mistakes(write_pack(x=RULE))[:2] == [
        "x.cases.yaml:1: the rule has 0 cases: it needs a case that it matches (expect)",
        "x.cases.yaml:1: the rule has 0 cases: it needs a case with no_match: true",
    ]


@rows(
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
        ("when: request.body.request.other == 'response.code' && response.headers.size() > 0", ""),
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
    found = [one.removeprefix("x.yaml:") for one in linted(folder) if "is used by nothing" not in one]
    assert found == ([problem] if problem else [])


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


DESCRIPTION = {
    "openapi": "3.0.3",
    "info": {"title": "Apex", "version": "1"},
    "paths": {
        "/v1/x": {
            "post": {
                "operationId": "createX",
                "parameters": [{"name": "limit", "in": "query", "schema": {"type": "integer"}}],
                "requestBody": {
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "properties": {
                                    "amount": {"type": "integer"},
                                    "buyer": {"type": "object", "properties": {"name": {"type": "string"}}},
                                    "lines": {
                                        "type": "array",
                                        "items": {"type": "object", "properties": {"sku": {"type": "string"}}},
                                    },
                                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                                    "free": {"type": "object"},
                                },
                            }
                        }
                    }
                },
                "responses": {"200": {"description": "made"}},
            }
        },
        "/v1/y": {
            "get": {
                "operationId": "listY",
                "parameters": [{"name": "cursor", "in": "query", "schema": {"type": "string"}}],
                "responses": {"200": {"description": "listed"}},
            }
        },
    },
}


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A description that is compiled once."""
    folder = tmp_path_factory.mktemp("spec")
    (folder / "openapi.json").write_text(json.dumps(DESCRIPTION), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CORRIGIBLE_CACHE", str(folder / "cache"))
        yield folder / "openapi.json"


@rows("operation", ["", "CreateX"])
@rows(
    ("edit", "named", "near"),
    [
        ("parameters: {amount: 1}", "", ""),
        ("parameters: {amuont: 1}", "amuont", '; did you mean "amount"?'),
        ("parameters: {limit: 1}", "", ""),
        ("set: {/body/buyer/nmae: \"'x'\"}", "/body/buyer/nmae", '; did you mean "name"?'),
        ("set: {/body/buyer/name: \"'x'\"}", "", ""),
        ("set: {'buyer[nmae]': \"'x'\"}", "nmae", '; did you mean "name"?'),
        ("set: {/body/byer/name: \"'x'\"}", "/body/byer/name", '; did you mean "buyer"?'),
        ("set: {/body/labels/any: \"'x'\"}", "", ""),
        ("set: {/body/free/any: \"'x'\"}", "", ""),
        ("ask: /body/lines/0/sku", "", ""),
        ("ask: [/body/lines/0/sk]", "/body/lines/0/sk", '; did you mean "sku"?'),
        ("ask: {pointer: /query/limti, each: \"['a']\"}", "/query/limti", '; did you mean "limit"?'),
        ("patch: [{op: add, path: /body/amonut, value: 1}]", "/body/amonut", '; did you mean "amount"?'),
        ("patch: [{op: move, from: /body/total, path: /body/amount}]", "", ""),  # a case sends the old name
        ("patch: [{op: remove, path: /body/gone}]", "/body/gone", ""),
        ("if: body.amuont == null, ask: /body/amount", "/body/amuont", '; did you mean "amount"?'),
        ("if: body.total != null, ask: /body/amount", "", ""),
        ("if: error.pointer != '/body/amuont', ask: /body/amount", "/body/amuont", '; did you mean "amount"?'),
        (
            "patch: [{op: replace, path: /path, value: \"'/v1/y'\"}, {op: add, path: /query/cursor, value: \"'x'\"}]",
            "",
            "",
        ),
    ],
)
def test_places_that_no_operation_has(
    write_pack: WritePack, spec: Path, operation: str, edit: str, named: str, near: str
) -> None:
    match = f"match: {{code: bad{f', operation: {operation}' if operation else ''}}}\n"
    folder = write_pack(
        manifest="operations: {POST /v1/x: CreateX}\n", x=f"{match}suggest:\n  - {{message: m, {edit}}}\n"
    )
    (folder / "x.cases.yaml").write_text((CASE % "").replace("amount: 500", "total: 500") + OTHER, "utf-8")
    found = [one for one in lint_pack(folder, described(spec)).mistakes if one.kind == "undescribed-place"]
    if not named:
        assert found == []
        return
    assert [(one.place.path.name, one.place.line) for one in found] == [("x.yaml", 8)]
    assert f'"{named}" in the description' in found[0].problem
    assert found[0].problem.endswith(near)


def test_an_entry_that_no_case_reaches(write_pack: WritePack) -> None:
    rule = """\
        match: {code: bad}
        suggest:
          - {if: body.amount > 400, message: m, changes_intent: true, parameters: {amount: 300}}
          - if: body.amount > 100
            all:
              - {message: m, ask: /body/amount}
              - {if: body.amount > 200, message: m, ask: /body/note}
          - {message: m, ask: /body/other}
        """
    folder = write_pack(x=rule)
    assert linted(folder) == []
    assert noted(folder) == [
        "x.yaml:9: no case reaches suggest[1] (if: body.amount > 100)",
        "x.yaml:12: no case reaches suggest[1].all[1] (if: body.amount > 200)",
        "x.yaml:13: no case reaches suggest[2]",
    ]
    claims = "{suggestions: [{parameters: {amount: 300}, safety: {changes_intent: true}}]}"
    case = CASE % ", safety: {changes_intent: true}"
    more = "".join(case.replace("name: n", f"name: n{n}").replace("500", n).replace(claims, "{}") for n in ("150", "1"))
    (folder / "x.cases.yaml").write_text(case + more + OTHER, "utf-8")
    assert noted(folder) == ["x.yaml:12: no case reaches suggest[1].all[1] (if: body.amount > 200)"]


@rows(
    ("more", "problem"),
    [
        ("let: {left: 1}\nwhen: true", '8: "left" is used by nothing'),
        ("let: {left: 1, more: left}", '8: "more" is used by nothing'),
        ("let: {left: 1, more: left}\nalso_resolves: '[more]'", ""),
        (
            "let: {left: 1}\nlookup: {left: {get: \"'/v1/x/1'\"}}\nalso_resolves: '[left]'",
            '8: "left" hides the look-up',
        ),
        ("let: {e: 1}\nalso_resolves: errors.map(e, e.number + 0)", '9: "e" is a name of the rule and of an element'),
        ("also_resolves: errors.map(body, body.number)", '8: "body" is a name of the rule and of an element'),
        ("let: {e: '[1]'}\nalso_resolves: e.map(n, n)", ""),
        ("let: {n: 'body.?amuont.orValue(0)'}\nalso_resolves: '[n]'", '8: no case has a member "amuont", which may be'),
        ("let: {n: body.amuont}\nalso_resolves: '[n]'", 'here; did you mean "amount"?'),
        ("let: {n: 'body.?amount.orValue(0)'}\nalso_resolves: '[n]'", ""),
        ("let: {n: has(error.mesage)}\nalso_resolves: '[n]'", 'here; did you mean "message"?'),
        ("let: {n: \"at(response, '/body/eror/code')\"}\nalso_resolves: '[n]'", 'here; did you mean "error"?'),
        ("when: body.?amuont.orValue(0) == 0", 'here; did you mean "amount"?'),
        ("when: body.?unlike.orValue(0) == 0", ""),
        ("let: {n: 'body.?unlike.orValue(0)'}\nalso_resolves: '[n]'", '8: no case has a member "unlike"'),
        ("when: \"at(spec, '/properties/amuont') == null\"", ""),
    ],
)
def test_a_name_that_hides_a_mistake(write_pack: WritePack, more: str, problem: str) -> None:
    folder = write_pack(manifest="lookups: ['/v1/x/{id}']\n", x=f"{RULE}{more}\n")
    found = [one.removeprefix("x.yaml:") for one in [*linted(folder), *noted(folder)]]
    assert len(found) == bool(problem)
    assert all(problem in one for one in found)
