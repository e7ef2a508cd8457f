"""Expressions that compile and cannot mean what they say: a hint names what was probably meant, or what there is."""

from __future__ import annotations

from corrigible.rules.language.expression import environment, unknown_captures, unknown_members, wrong_result
from tests._support.rows import rows


@rows(
    ("text", "captures", "problems"),
    [
        ("captures.limt", ["limit"], ['match.message has no group "limt"; did you mean "limit"?']),
        ("captures.x", ["limit", "unit"], ['match.message has no group "x"; it has limit, unit']),
        ("captures['x'] + captures.limit", ["limit"], ['match.message has no group "x"; it has limit']),
        ("captures.x", [], ['match.message has no group "x"; it has none']),
        ("'captures.x'", [], []),
        ("request.path", [], []),
    ],
)
def test_groups_that_the_pattern_does_not_have(text: str, captures: list[str], problems: list[str]) -> None:
    assert list(unknown_captures(environment().compile(text), captures)) == problems


@rows(
    ("text", "problems"),
    [
        ("request.pth", ['request has no member "pth"; did you mean "path"?']),
        ("request.zzz", ['request has no member "zzz"; it has method, path, query, headers, body']),
        ("exchange.starte", ['exchange has no member "starte"; did you mean "started"?']),
        ("response.zzz", ['response has no member "zzz"; it has status, headers, body']),
        ("response.body.x + request.body.y", []),
        ("'request.pth'", []),
    ],
)
def test_members_that_an_exchange_never_has(text: str, problems: list[str]) -> None:
    assert list(unknown_members(environment().compile(text))) == problems


@rows(
    ("text", "kind"),
    [
        *[("1 == 1", "a boolean"), ("'a'", "a text"), ("1", "a number"), ("1.5", "a number")],
        *[("[1]", "a list"), ("{'a': 1}", "a map"), ("null", "null"), ("int", "a type")],
        *[
            ("string(request.id) + request.id", "a text"),
            ("find(request, '*')", "a list"),
            ("!request.id", "a boolean"),
        ],
    ],
)
def test_the_kind_of_a_value_is_known_before_it_is_computed(text: str, kind: str) -> None:
    expression = environment().compile(text)
    assert wrong_result(expression, kind) is None
    assert wrong_result(expression, "a wish") == f"the expression gives {kind}, expected a wish"
    assert wrong_result(environment().compile("request.body"), kind) is None
