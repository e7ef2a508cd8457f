"""What packs write shorter than CEL has it: members that are missing, optionals, functions of the pack."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.rules.language.evaluator import PackFunction
from corrigible.rules.language.expression import EvaluationError, environment
from corrigible.rules.language.syntax import ExpressionError, signature, without_literals, words
from tests._support.counted import counted
from tests._support.rows import rows

BODY = {"card": {"number": "42", "exp": None}, "items": [{"name": "a"}, {"name": "b", "tags": [{"name": "c"}]}], "n": 3}
VALUES: dict[str, Any] = {
    "body": BODY,
    "query": {"limit": "5"},
    "headers": {"if-match": '"1"'},
    "request": {"body": BODY},
    "intent": {"charge": None, "a": {"b": 1}},
}


def pack_functions(**texts: str) -> dict[str, PackFunction]:
    """Make functions of their calls' signature and body: `left="(charge) charge.amount"`."""
    made: dict[str, PackFunction] = {}
    for name, text in texts.items():
        listed, _, body = text.partition(") ")
        called = signature(f"{name}{listed})")
        assert called is not None
        made[name] = PackFunction(*called, environment().compiled(body, dict(made), called[1]))
    return made


FUNCTIONS = pack_functions(
    left="(charge) charge.amount - charge.refunded",
    alike="(list, k) list.all(x, x[k] == list[0][k])",
    none="() 1",
    twice="(n) left(n) + left(n)",
    lazy="(a, b) a || b",
)


def value(text: str, **more: Any) -> Any:
    env = environment(frozenset({"intent", *more}))
    return env.compile(text, FUNCTIONS).evaluate({**VALUES, **more})


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
    assert env.compile("body.absent").evaluate({"body": body}) is None


def test_a_missing_member_elsewhere_stays_an_error() -> None:
    with pytest.raises(EvaluationError):
        value("request.body.absent == 1")


@rows(
    ("text", "expected"),
    [
        ("left(c) > 0", True),
        ("left([c][0])", 4),
        ("[c].map(charge, left(charge))", [4]),
        ("alike(body.items, 'name')", False),
        ("['amount'].filter(x, alike([c, c], x))", ["amount"]),
        ("left(c) == left({'amount': 9, 'refunded': 5})", True),
        ("'left(c)'", "left(c)"),
        ("none() + twice(c) + twice([c][0])", 17),
        ("lazy(c.amount > 1, c.absent)", True),
        ("lazy(c.absent, c.amount > 1)", True),
        ("['amount'].exists(list, alike([c], list))", True),
    ],
)
def test_a_function_of_the_pack(text: str, expected: Any) -> None:
    assert value(text, c={"amount": 5, "refunded": 1}) == expected


def test_a_wrong_call_names_the_signature() -> None:
    with pytest.raises(ExpressionError, match=r"left is called with 2 arguments, pack.yaml has left\(charge\)"):
        value("left(body, 1)")


def test_the_arguments_are_evaluated_once_and_only_where_they_are_needed() -> None:
    def steps(text: str) -> int:
        return counted(lambda: value(text, c={"amount": 5, "refunded": 1}))[1]

    assert steps("left([c].map(i, i)[0])") == steps("[c].map(i, i)") + steps("left(c)") - 1
    assert steps("lazy(true, [c].all(i, true))") == steps("lazy(true, false)")


@pytest.mark.parametrize("text", ["left(", "left((c)", "left([c)"])
def test_a_call_without_an_end(text: str) -> None:
    with pytest.raises(ExpressionError, match=r"a value is missing at the end|is needed"):
        value(text, c={})


def test_a_function_knows_only_its_parameters_and_the_common_scope() -> None:
    with pytest.raises(ExpressionError, match="undeclared reference to 'intent'"):
        pack_functions(wrong="(a) a + intent")


def test_what_an_expression_uses_is_known_through_the_functions_it_calls() -> None:
    functions = pack_functions(near="(a) nearest(a, captures.names)")
    expression = environment().compile("near(body.x) + [1].map(request, request.y)", functions)
    assert expression.names == {"nearest", "captures", "body"}
    assert expression.members == {("captures", "names"), ("body", "x")}
    assert expression.expanded == f"{expression.text} nearest(a, captures.names)"


def test_the_words_of_an_expression_are_those_outside_of_its_texts() -> None:
    assert words("a.b + 'c d' + f(\"e\")") - {"_", "___"} == {"a", "b", "f"}
    assert without_literals("'ab' + x + \"c'd\"") == "'__' + x + \"___\""


@pytest.mark.parametrize(
    ("text", "expected"),
    [("f(a, b)", ("f", ("a", "b"))), ("f()", ("f", ())), ("f", None), ("F(a)", None), (" f ( a ) ", ("f", ("a",)))],
)
def test_a_signature(text: str, expected: Any) -> None:
    assert signature(text) == expected


@pytest.mark.parametrize(("call", "number"), [("left()", 0), ("left(c, c)", 2), ("left(c, c, c)", 3)])
def test_what_is_between_commas_is_an_argument(call: str, number: int) -> None:
    with pytest.raises(ExpressionError, match=rf"left is called with {number} arguments"):
        value(call, c={})
