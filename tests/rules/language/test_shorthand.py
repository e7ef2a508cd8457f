"""What is shorter than CEL has it, in values: members that are missing, optionals, functions of a pack, depth."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.language.expression import EvaluationError, ExpressionError, environment
from corrigible.rules.language.shorthand import (
    PackFunction,
    ShorthandError,
    expand,
    rewrite,
    roots,
    signature,
    without_literals,
    words,
)
from tests._support.rows import rows

BODY = {"card": {"number": "42", "exp": None}, "items": [{"name": "a"}, {"name": "b", "tags": [{"name": "c"}]}], "n": 3}
VALUES: dict[str, Any] = {
    "body": BODY,
    "query": {"limit": "5"},
    "headers": {"if-match": '"1"'},
    "request": {"body": BODY},
    "intent": {"charge": None, "a": {"b": 1}},
}
FUNCTIONS = {
    "left": PackFunction("left", ("charge",), "charge.amount - charge.refunded"),
    "alike": PackFunction("alike", ("list", "k"), "list.all(x, x[k] == list[0][k])"),
}


def value(text: str, **more: Any) -> Any:
    env = environment(frozenset({"intent", *more}))
    return env.compile(text, FUNCTIONS).evaluate(env.activation({**VALUES, **more}))


@rows(
    ("text", "expected"),
    [
        ("body.n", 3),
        ("body.n + 1", 4),
        ("body.absent", None),
        ("body.absent.deeper", None),
        ("body.absent.deeper == null", True),
        ("body.n.deeper == null", True),
        ("body['card'].number == '42'", True),
        ("body.card.exp == null", True),
        ("has(body.card)", True),
        ("has(body.card.absent) || false", False),
        ("body.card.number.startsWith('4')", True),
        ("body.items.map(i, i.name)", ["a", "b"]),
        ("body.all(name, name != 'other')", True),
        ("'body.absent' + body.card.number", "body.absent42"),
        ("request.body.n", 3),
        ("query.limit", "5"),
        ("query.page == null", True),
        ("headers['if-match'] != null && headers['if-none-match'] == null", True),
        ("intent.?charge.?id.orValue('none')", "none"),
        ("intent.?a.?b.orValue(2)", 1),
        ("intent.?a.b.hasValue() && !intent.?a.c.hasValue()", True),
        ("body.items.map(i, i.?tags.orValue([]).size())", [0, 1]),
        ("find(request, '**/name')", ["/body/items/0/name", "/body/items/1/name", "/body/items/1/tags/0/name"]),
        ("find(body, 'items/**/name').size()", 3),
        ("find(body, '/card/*')", ["/card/number", "/card/exp"]),
    ],
)
def test_an_expression(text: str, expected: Any) -> None:
    assert value(text) == expected


@pytest.mark.parametrize("body", [{}, {"n": "x"}])
def test_a_member_of_a_body_that_is_no_object_is_null(body: dict[str, Any]) -> None:
    env = environment()
    assert env.compile("body.absent").evaluate(env.activation({"body": body})) is None


def test_a_missing_member_elsewhere_stays_an_error() -> None:
    with pytest.raises(EvaluationError):
        value("request.body.absent == 1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("left(c) > 0", True),
        ("left([c][0])", 4),
        ("[c].map(charge, left(charge))", [4]),
        ("alike(body.items, 'name')", False),
        ("['amount'].filter(x, alike([c, c], x))", ["amount"]),
        ("left(c) == left({'amount': 9, 'refunded': 5})", True),
        ("'left(c)'", "left(c)"),
    ],
)
def test_a_function_of_the_pack(text: str, expected: Any) -> None:
    assert value(text, c={"amount": 5, "refunded": 1}) == expected


def test_a_wrong_call_names_the_signature() -> None:
    with pytest.raises(ExpressionError, match=r"left is called with 2 arguments, pack.yaml has left\(charge\)"):
        value("left(body, 1)")


def test_the_arguments_are_evaluated_once() -> None:
    assert expand("left(find(body, 'x')[0])", FUNCTIONS).count("find") == 1


@rows(
    ("text", "cel"),
    [
        ("body.card.number.startsWith('4')", "at_body('/card/number').startsWith('4')"),
        ("body.all(x, true) && body.n", "body.all(x, true) && at_body('/n')"),
        ("body.n.m(1) + query['a']", "at_body('/n').m(1) + at_query('/a')"),
        ("body['it`s'] + headers[\"a's\"]", "at_body('/it`s') + at_headers('/a\\'s')"),
        ("body['a/b'].c", "at_body('/a~1b/c')"),
        ("request.body.n + mybody.n + 'body.n'", "request.body.n + mybody.n + 'body.n'"),
        ("has(body.a.b) && has(body.a)", "(at_body('/a/b') != null) && (at_body('/a') != null)"),
        ("has(body.a.b())", "has(at_body('/a').b())"),
        ("x.?a.?b.orValue(1) + x.y.?a.hasValue()", "or_value(at(x, '/a/b'), 1) + (at(x.y, '/a') != null)"),
        ("x[0].?a.b.orValue(y.?c.hasValue())", "or_value(at(x[0], '/a/b'), (at(y, '/c') != null))"),
        ("find(spec, 'x') + names( tables, 'y')", "find_spec( 'x') + names_tables( 'y')"),
        ("x.find(spec, 'x') + edits(body, [])", "x.find(spec, 'x') + edits_body( [])"),
        ("'it\\'s body.n' + body.n", "'it\\'s body.n' + at_body('/n')"),
    ],
)
def test_what_the_runtime_reads(text: str, cel: str) -> None:
    assert rewrite(text) == cel


LEFT = "charge__{0}.amount - charge__{0}.refunded"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("left(c)", "(c.amount - c.refunded)"),
        ("1 + left( c.d ) * 2", "1 + (c.d.amount - c.d.refunded) * 2"),
        ("left(f(a, [b])[0])", f"(cel.bind(charge__1, f(a, [b])[0], {LEFT.format(1)}))"),
        (
            "left(a(1)) + left(b(2))",
            f"(cel.bind(charge__1, a(1), {LEFT.format(1)})) + (cel.bind(charge__2, b(2), {LEFT.format(2)}))",
        ),
        ("x.left(c) + 'left(c)' + cleft(c)", "x.left(c) + 'left(c)' + cleft(c)"),
        ("alike(x, 'k')", "(cel.bind(list__1, x, list__1.all(x, x['k'] == list__1[0]['k'])))"),
        ("alike(y, 'k')", "(y.all(x, x['k'] == y[0]['k']))"),
        ("none()", "(1)"),
    ],
)
def test_a_call_written_out(text: str, written: str) -> None:
    functions = {**FUNCTIONS, "none": PackFunction("none", (), "1")}
    assert expand(text, functions) == written
    assert expand(text, {}) == text


@pytest.mark.parametrize("text", ["left(", "left((c)", "left([c)"])
def test_a_call_without_an_end(text: str) -> None:
    with pytest.raises(ShorthandError, match="a call has no closing bracket"):
        expand(text, FUNCTIONS)


def test_the_words_of_an_expression_are_those_outside_of_its_texts() -> None:
    assert words("a.b + 'c d' + f(\"e\")") - {"_", "___"} == {"a", "b", "f"}
    assert without_literals("'ab' + x + \"c'd\"") == "'__' + x + \"___\""


def test_the_runtime_is_told_the_documents_name() -> None:
    assert rewrite("at(request, '/x') + at(there, '/y') + 'at(request, 1)'") == (
        "at_request( '/x') + at(there, '/y') + 'at(request, 1)'"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [("f(a, b)", ("f", ("a", "b"))), ("f()", ("f", ())), ("f", None), ("F(a)", None), (" f ( a ) ", ("f", ("a",)))],
)
def test_a_signature(text: str, expected: Any) -> None:
    assert signature(text) == expected


@pytest.mark.parametrize(("call", "number"), [("left()", 0), ("left(c,)", 2), ("left(c, c, c)", 3)])
def test_what_is_between_commas_is_an_argument(call: str, number: int) -> None:
    with pytest.raises(ExpressionError, match=rf"left is called with {number} arguments"):
        value(call, c={})


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a.b.c", {"a"}),
        ("f(a).b + [c][0].d + 'e'.g + {'h': i}.j", {"f", "a", "c", "i"}),
        ("a.?b", {"a"}),
        (".a", {"a"}),
        ("a in .b", {"a", "b", "in"}),
        ("a in.b", {"a", "b", "in"}),
        ("a . b", {"a", "b"}),
    ],
)
def test_the_roots_of_an_expression_leave_out_members(code: str, expected: set[str]) -> None:
    assert roots(code) - {"_"} == expected
