"""What lint finds in a rule: each mistake with its line, and the likely word."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from corrigible.rules.errors import AuthoringError
from corrigible.rules.language.rule import SuggestionSpec
from corrigible.rules.lookup import uncovered
from corrigible.rules.pack.load import load_pack
from tests._support.rows import rows

ESCALATE = "suggest: [{action: ESCALATE, actor: somebody_else, message: m}]\n"
MANIFEST = """\
lookups: ["/v1/things/{id}", /v1/things]
actions:
  PICK_BRAND: {base_action: MODIFY_PARAMS, description: Take another brand.}
  CALL_US: {base_action: ESCALATE, description: Call the vendor.}
"""
QUOTES = "; a text has quotes of its own: \"'x'\""


def suggest(entry: str) -> str:
    return f"suggest:\n  - {{message: m, {entry}}}\n"


@rows(
    ("text", "expected_message"),
    [
        (
            "when: reqest.method == 'GET'",
            "7: CEL: column 1: undeclared reference to 'reqest'; did you mean \"request\"?",
        ),
        ("when: 1 +", "7: CEL: column 4: a value is missing at the end"),
        (
            "when: thing.x\nlookup: {thing: {get: \"'/v1/things'\"}}",
            "7: CEL: column 1: undeclared reference to 'thing'",
        ),
        ("match: {message: '(?=x)'}", "7: not an RE2 pattern: invalid perl operator: (?="),
        ("match: {message: '('}", "7: not an RE2 pattern: missing ): ("),
        ("match: {message: '(?P<a-b>x)'}", "7: not an RE2 pattern: invalid named capture group: (?P<a-b>"),
        ("let: {request: '1'}", '7: "request" hides a name that every rule has'),
        ("let: {in: '1'}", '7: "in" is a word of CEL itself'),
        ("let: {a-b: '1'}", '7: "a-b" is no name for CEL: letters, digits and "_"'),
        ("let:\n  a: b + 1\n  b: '1'", '8: "b" is not known yet: it comes later'),
        ("let:\n  a: {x: [a]}", '8: "a" is not known yet: it comes later'),
        (
            "lookup:\n  a: {get: \"'/v1/things/' + b.id\"}\n  b: {get: \"'/v1/things'\"}",
            '8: "b" is not known yet: it comes later',
        ),
        ("lookup:\n  a: {get: \"'/v1/things'\", if: b}\nlet: {b: '1'}", '8: "b" is not known yet: it comes later'),
        (
            "lookup:\n  a:\n    get: \"'/v1/thing/' + request.body.id\"",
            '9: "/v1/thing/" fits none of the lookups of pack.yaml',
        ),
    ],
)
def test_a_rule_that_is_wrong(write_pack: Callable[..., Path], text: str, expected_message: str) -> None:
    folder = write_pack(manifest=MANIFEST, x=ESCALATE + text)
    with pytest.raises(AuthoringError) as caught:
        load_pack(folder)
    assert str(caught.value).startswith(f"{folder / 'x.yaml'}:{expected_message}")
    assert len(caught.value.all_errors()) == 1


@rows(
    ("entry", "expected_message"),
    [
        ("action: MODIFY_PARAM", 'action "MODIFY_PARAM" is not registered in pack.yaml; did you mean "MODIFY_PARAMS"?'),
        ("action: ZZZ", 'action "ZZZ" is not registered in pack.yaml'),
        (
            "action: ESCALATE, actor: somebody_else, patch: [{op: remove, path: /body/x}]",
            "ESCALATE is terminal: it has no set, patch, steps or ask",
        ),
        (
            "action: ESCALATE, actor: somebody_else, set: {/body/x: 1}",
            "ESCALATE is terminal: it has no set, patch, steps or ask",
        ),
        (
            "action: CALL_US, steps: [{method: \"'GET'\"}]",
            "CALL_US is terminal: it has no set, patch, steps or ask",
        ),
        ("action: ESCALATE", '"actor" is missing: ESCALATE says who can act, nobody, somebody_else or you'),
        (
            "action: NO_RECOVERY_AVAILABLE",
            '"actor" is missing: NO_RECOVERY_AVAILABLE says who can act, nobody, somebody_else or you',
        ),
        ("action: ESCALATE, actor: nobody", "where nobody can act, the action is NO_RECOVERY_AVAILABLE"),
        ("action: MODIFY_PARAMS, actor: you", "only ESCALATE and NO_RECOVERY_AVAILABLE say who can act"),
        ("action: ESCALATE, actor: you, parameters: {actor: \"'you'\"}", "actor stands beside action"),
        ("action: ESCALATE, actor: somebody_else, recovery: correctable", "ESCALATE is always terminal"),
        ("action: MODIFY_PARAMS, recovery: terminal", "MODIFY_PARAMS is never terminal"),
        (
            "action: WAIT_AND_RETRY, parameters: {seconds: 5}",
            "WAIT_AND_RETRY has no parameters: the wait belongs into retry",
        ),
        (
            "action: PICK_BRAND, parameters: {brand: \"'x'\"}",
            "PICK_BRAND needs set or patch: its parameters are not members of the request",
        ),
        (
            "action: MODIFY_PARAMS, applicability: MAYBE_INCORRECT, ask: [{pointer: /body/x}]",
            "with ask it is HAS_PLACEHOLDERS",
        ),
        ("action: MODIFY_PARAMS, patch: [{op: add, path: /body/x}]", '"add" needs a value'),
        ("action: MODIFY_PARAMS, patch: [{op: move, path: /body/x}]", '"from" belongs to move and copy'),
        (
            "action: MODIFY_PARAMS, patch: [{op: remove, path: /body/x, from: /body/y}]",
            '"from" belongs to move and copy',
        ),
        (
            "action: MODIFY_PARAMS, patch: [{op: remove, path: /bdy/x}]",
            '"/bdy/x" points to no member of the request document',
        ),
        (
            "action: MODIFY_PARAMS, patch: [{op: remove, path: /headers/Authorization}]",
            '"/headers/Authorization" points to no header that may change',
        ),
        (
            "action: MODIFY_PARAMS, patch: [{op: copy, path: /body/x, from: /headers/cookie}]",
            '"/headers/cookie" points to no header that may change',
        ),
        (
            "action: MODIFY_PARAMS, patch: [{op: remove, path: nowhere.x}]",
            "CEL: column 1: undeclared reference to 'nowhere'",
        ),
        ("action: MODIFY_PARAMS, ask: [{pointer: /body/~2}]", '"/body/~2" is no JSON pointer'),
        (
            "action: MODIFY_PARAMS, ask: {each: errors, as: error, pointer: /body/x}",
            '"error" hides a name that every rule has',
        ),
        ("action: MODIFY_PARAMS, parameters: {a: {b: [1, x]}}", f"CEL: column 1: undeclared reference to 'x'{QUOTES}"),
        (
            "action: MODIFY_PARAMS, parameters: {a: hello world}",
            'CEL: column 7: "world" does not fit here; a text has quotes of its own: "\'hello world\'"',
        ),
        (
            "if: request.body.a = 3, action: MODIFY_PARAMS, parameters: {a: 1}",
            "CEL: column 16: whether two values are equal is asked by ==",
        ),
        (
            "if: true and false, action: MODIFY_PARAMS, parameters: {a: 1}",
            'CEL: column 6: "and" does not fit here; and, or, not are written &&, ||, !',
        ),
        ("action: WAIT_AND_RETRY, retry: {after_seconds: x}", f"CEL: column 1: undeclared reference to 'x'{QUOTES}"),
        (
            "one_of: [{action: ESCALATE, actor: somebody_else, message: m}, {action: MODIFY_PARAMS, message: m}]",
            "ESCALATE stands alone, not in a group",
        ),
        ("all: [{one_of: [{action: MODIFY_PARAMS, message: m}]}]", "a group has no groups inside"),
        ("one_of: {each: '[1]', suggest: {action: CALL_US, message: m}}", "CALL_US stands alone, not in a group"),
        (
            "one_of: {each: '[1]', suggest: {all: [{action: MODIFY_PARAMS, message: m}]}}",
            "what is suggested for each element is one action",
        ),
        (
            "one_of: {each: '[1]', as: request, suggest: {action: MODIFY_PARAMS, message: m}}",
            '"request" hides a name that every rule has',
        ),
        (
            "one_of: {each: '[1]', as: c, suggest: {action: MODIFY_PARAMS, message: m, parameters: {a: choice}}}",
            "CEL: column 1: undeclared reference to 'choice'" + QUOTES.replace("'x'", "'choice'"),
        ),
    ],
)
def test_a_suggestion_that_is_wrong(write_pack: Callable[..., Path], entry: str, expected_message: str) -> None:
    folder = write_pack(manifest=MANIFEST, x=suggest(entry))
    with pytest.raises(AuthoringError) as caught:
        load_pack(folder)
    assert expected_message in [error.problem.partition(" (in container")[0] for error in caught.value.all_errors()]
    assert {str(error.place) for error in caught.value.all_errors()} == {f"{folder / 'x.yaml'}:7"}


@pytest.mark.parametrize(
    "text",
    [
        "lookup: {charge: {get: \"'/v1/things/' + request.body.charge\"}}",  # a member of its own name
        "lookup:\n  a: {get: \"'/v1/things'\"}\n  b: {get: \"'/v1/things/' + a.id\"}\nlet: {c: a.x + b.x, d: c}",
        "let: {note: \"'the word later'\", later: '1'}",
        "lookup: {a: {get: request.path}}",
        "when: true",
    ],
)
def test_what_is_fine(write_pack: Callable[..., Path], text: str) -> None:
    (rule,) = load_pack(write_pack(manifest=MANIFEST, x=ESCALATE + text)).rules
    assert (rule.id, rule.version, rule.verbose_code) == ("apex.x", "apex.x@2", "X")


def test_what_asks_may_say_that_it_has_placeholders(write_pack: Callable[..., Path]) -> None:
    text = suggest("action: MODIFY_PARAMS, applicability: HAS_PLACEHOLDERS, ask: [{pointer: /body/a, schema: {}}]")
    (rule,) = load_pack(write_pack(x=text)).rules
    (entry,) = rule.entries
    assert isinstance(entry, SuggestionSpec) and entry.applicability == "HAS_PLACEHOLDERS"


def test_the_name_of_a_file_and_the_pack_are_the_id(write_pack: Callable[..., Path]) -> None:
    folder = write_pack(x=ESCALATE)
    (folder / "x.yaml").rename(folder / "y.yaml")
    text = (folder / "y.yaml").read_text("utf-8")
    (folder / "z.yaml").write_text(text.replace("apex.x", "acne.z"), "utf-8")
    with pytest.raises(AuthoringError) as caught:
        load_pack(folder)
    assert str(caught.value).splitlines() == [
        f'{folder / "y.yaml"}:1: id "apex.x" belongs in x.yaml: a file is named after its rule',
        f'{folder / "z.yaml"}:1: id "acne.z" must begin with the pack\'s name, "apex."',
    ]


TEMPLATES = [["v1", "things"], ["v1", "things", "{id}"], ["v1", "{kind}", "{id}", "parts"]]


@rows(
    ("expression", "beginning"),
    [
        ("'/v1/things'", None),
        ("'/v1/things?limit=3'", None),
        ("'/v1/things?id=' + x", None),
        ("'/v1/things/' + x", None),
        ('"/v1/" + x', None),
        ("'/v1/thi' + x", None),
        ("'/v1/other/' + x + '/parts'", None),
        ("'/v1/other/a/' + x", None),
        ("request.path", None),
        ("x ? '/v1/a' : '/v1/b'", None),
        ("'/v1/thing'", "/v1/thing"),
        ("'/v2/things/' + x", "/v2/things/"),
        ("'/v1/things/a/b/' + x", "/v1/things/a/b/"),
        ("'/v1/things/a/x' + x", "/v1/things/a/x"),
        ("'/v1/a?b=' + x", "/v1/a?b="),
        ("'//host/' + x", "//host/"),
        ("''", ""),
    ],
)
def test_the_beginning_of_a_look_up_that_no_template_fits(expression: str, beginning: str | None) -> None:
    assert uncovered(expression, TEMPLATES) == beginning


@rows(
    ("expression", "beginning"),
    [
        ("'/files/' + x", None),
        ("'/files/a/b/' + x", None),
        ("'/fil' + x", None),
        ("'/files/a/b'", None),
        ("'/files'", "/files"),
        ("'/folders/' + x", "/folders/"),
    ],
)
def test_the_beginning_of_a_look_up_that_goes_on(expression: str, beginning: str | None) -> None:
    assert uncovered(expression, (("files", "{+path}"),)) == beginning


EVERYWHERE = """\
when: n01
lookup:
  a:
    get: n02
    if: n03
    message:
      k: [n04]
let:
  b:
    c: n05
also_resolves: n06
suggest:
  - if: n07
    action: ALREADY_DONE
    message: m
    differs: n08
    parameters:
      p: n09
  - action: MODIFY_PARAMS
    message: m
    retry:
      after_seconds: n10
    steps:
      - method: n11
    patch:
      - op: move
        path: n12
        from: n13
      - op: add
        path: /body/x
        value: n14
    ask:
      - pointer: n15
        schema_from: n16
  - action: MODIFY_PARAMS
    message: m
    set:
      x: n17
      (n18): 1
    ask:
      each: n19
      as: it
      pointer: n20
  - one_of:
      each: n21
      as: it
      suggest:
        if: n22
        action: MODIFY_PARAMS
        message: m
        patch: n23
  - if: n24
    all:
      - if: n25
        action: MODIFY_PARAMS
        message: m
        set: n26
"""


def complaints(folder: Path) -> list[tuple[int, str]]:
    with pytest.raises(AuthoringError) as caught:
        load_pack(folder)
    return [(error.place.line, error.problem) for error in caught.value.all_errors()]


def test_each_expression_is_compiled_and_named_by_its_line(write_pack: Callable[..., Path]) -> None:
    folder = write_pack(x=EVERYWHERE)
    lines = (folder / "x.yaml").read_text("utf-8").splitlines()
    wanted = [(number, name) for number, line in enumerate(lines, 1) for name in re.findall(r"\bn\d\d\b", line)]
    assert [
        (line, name[1])
        for line, expected_message in complaints(folder)
        if (name := re.search(r"'(n\d\d)'", expected_message))
    ] == wanted
    assert len(wanted) == 26


STRUCTURE = """\
lookup:
  request: {get: "'/v1/things'"}
let:
  a b: "1"
match:
  message: "("
suggest:
  - message: m
    action: NOPE
  - message: m
    action: ESCALATE
    actor: nobody
  - message: m
    action: ALREADY_DONE
    actor: you
  - message: m
    action: ESCALATE
    actor: you
    parameters:
      actor: "1"
  - message: m
    action: MODIFY_PARAMS
    recovery: terminal
  - message: m
    action: WAIT_AND_RETRY
    parameters: {a: "1"}
  - message: m
    action: MODIFY_PARAMS
    applicability: UNSPECIFIED
    ask:
      - pointer: /nowhere
  - message: m
    action: MODIFY_PARAMS
    patch:
      - path: /body/x
        op: add
      - path: /body/x
        op: move
      - op: remove
        path: /nowhere
      - op: copy
        path: /body/x
        from: /nowhere
  - message: m
    action: MODIFY_PARAMS
    set:
      a: "1"
      /nowhere: "1"
    ask:
      each: errors
      pointer: /body/x
      as: in
  - one_of:
      each: errors
      as: body
      suggest: {action: ALREADY_DONE, message: m}
  - all:
      - {action: MODIFY_PARAMS, message: m}
      - {action: ALREADY_DONE, message: m}
"""


def test_each_mistake_of_structure_is_named_by_its_line(write_pack: Callable[..., Path]) -> None:
    folder = write_pack(manifest="lookups: [/v1/things]\n", x=STRUCTURE)
    lines = (folder / "x.yaml").read_text("utf-8").splitlines()
    assert [
        (lines[line - 1].strip(" -").partition(":")[0], expected_message)
        for line, expected_message in complaints(folder)
    ] == [
        ("request", '"request" hides a name that every rule has'),
        ("a b", '"a b" is no name for CEL: letters, digits and "_"'),
        ("message", "not an RE2 pattern: missing ): ("),
        ("action", 'action "NOPE" is not registered in pack.yaml'),
        ("actor", "where nobody can act, the action is NO_RECOVERY_AVAILABLE"),
        ("actor", "only ESCALATE and NO_RECOVERY_AVAILABLE say who can act"),
        ("actor", "actor stands beside action"),
        ("recovery", "MODIFY_PARAMS is never terminal"),
        ("parameters", "WAIT_AND_RETRY has no parameters: the wait belongs into retry"),
        ("applicability", "with ask it is HAS_PLACEHOLDERS"),
        ("pointer", '"/nowhere" points to no member of the request document'),
        ("path", '"add" needs a value'),
        ("path", '"from" belongs to move and copy'),
        ("path", '"/nowhere" points to no member of the request document'),
        ("from", '"/nowhere" points to no member of the request document'),
        ("/nowhere", '"/nowhere" points to no member of the request document'),
        ("as", '"in" is a word of CEL itself'),
        ("as", '"body" hides a name that every rule has'),
        ("suggest", "ALREADY_DONE stands alone, not in a group"),
        ("{action", "ALREADY_DONE stands alone, not in a group"),
    ]


WORDS = """
as bool break bytes const continue double duration else false for function if import in int let list loop map namespace
null null_type package return string timestamp true type uint var void while
"""


def test_words_of_the_language_are_no_names(write_pack: Callable[..., Path]) -> None:
    words = WORDS.split()
    folder = write_pack(x=ESCALATE + "let:\n" + "".join(f"  {word}: '1'\n" for word in words))
    assert [expected_message for _, expected_message in complaints(folder)] == [
        f'"{word}" is a word of CEL itself' for word in words
    ]


@pytest.mark.parametrize(
    ("text", "tables", "names", "guesses"),
    [
        ("when: tables.a['x'] == 'tables' || tables.c == null", {"a", "c"}, {"tables"}, False),
        ("when: tables[request.path] == 1", None, {"request", "tables"}, False),
        ("when: tables.a['x'] == null || tables.c == null", {"a", "c"}, {"tables"}, False),
        ("when: request.xtables == 1", frozenset(), {"request"}, False),
        ("let: {b: \"nearest('a', ['b'])\", c: b}", frozenset(), {"b", "nearest"}, True),
    ],
)
def test_what_a_rule_needs(
    write_pack: Callable[..., Path], text: str, tables: frozenset[str] | None, names: frozenset[str], guesses: bool
) -> None:
    (rule,) = load_pack(write_pack(x=ESCALATE + text)).rules
    assert (rule.tables, rule.uses, rule.may_guess) == (tables, names, guesses)


@pytest.mark.parametrize(
    ("text", "expected_message"),
    [
        (f"when: {'1' * 200} == 1", []),
        ("when: \"'{}' == '1'\"", []),
        ("when: " + " || ".join(["true"] * 26), ["an expression of 204 characters, 200 are the most"]),
    ],
)
def test_long_expressions_are_to_be_moved(
    write_pack: Callable[..., Path], text: str, expected_message: list[str]
) -> None:
    lint: list[AuthoringError] = []
    load_pack(write_pack(x=ESCALATE + text.replace("1" * 200, "1")), lint)
    assert [one.problem.partition(":")[0] for one in lint if "characters" in one.problem] == expected_message


def test_a_stable_rule_has_an_author_and_a_date(write_pack: Callable[..., Path]) -> None:
    folder = write_pack(x=ESCALATE)
    file = folder / "x.yaml"
    file.write_text(file.read_text("utf-8").replace("author: A\ndate: 2026-01-01\n", ""), "utf-8")
    lint: list[AuthoringError] = []
    load_pack(folder, lint)
    assert [(one.place.line, one.problem) for one in lint] == [
        (3, 'a stable rule needs "author", here or in pack.yaml'),
        (3, 'a stable rule needs "date"'),
    ]
    file.write_text(file.read_text("utf-8").replace("status: stable", "status: draft"), "utf-8")
    lint.clear()
    load_pack(folder, lint)
    assert lint == []
