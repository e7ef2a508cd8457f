"""Plain expressions are evaluated in Python: they give what the runtime gives, or leave it to the runtime."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corrigible.rules.language.expression import (
    _CALLED,
    _LOOKING,
    Activation,
    Environment,
    EvaluationError,
    Expression,
    ExpressionError,
    environment,
)
from corrigible.rules.language.plain_expression import ODD, Evaluator
from corrigible.rules.language.plain_expression import plain as plain_with
from tests._support.rows import rows

NAMES = frozenset({"live"})
ENV: Environment = environment(NAMES)

MEMBERS = ("captures.x", "live.x.y", "body.x", "body.x.y", "query.x", "headers.x", "live", "body", "request.body.x")
LITERALS = ("''", "'1'", '"a\'b"', "'é'", "0", "1", "-7", "true", "false", "null", "123456789012345678")
CONDITIONS = ("has(captures.x)", "!has(live.x)", "has(body.x)", "captures.x == '1'", "live.x != null", "!captures.x")
PLAIN = [
    *MEMBERS,
    *LITERALS,
    *(f"has({member})" for member in MEMBERS if "." in member),
    *(f"!{member}" for member in MEMBERS),
    *(f"{member}{sign}{literal}" for member in MEMBERS for sign in (" == ", "!=") for literal in LITERALS),
    *(f"{one} {sign} {other}" for one, other in itertools.permutations(CONDITIONS, 2) for sign in ("&&", "||")),
    "has(captures.x) && captures.x != '0' && live.x == 1",
    "'/v1/charges/' + captures.x",
    "captures.x + '/' + live.x + body.x",
    "live.x + 1",
    *("captures.x == live.x", "!captures.x == true", "'1' == captures.x", "captures.x == 1.0", "live.x == live.x"),
    *(
        "size(captures.x)",
        "captures.x.size()",
        "captures.x[0]",
        "has(captures.x) ? 1 : 2",
        "captures.x in ['1', 2, null]",
    ),
    *("captures.x == '1' && live.x == 1 || live.x == 2", "captures.x + '1' == '11'", "(captures.x)", "-live.x"),
    *(r"captures.x == 'a\'b'", "r'a'", "[1]", "{'a': 1}", "{'a': live.x}.a", "live.x - 1", "1 + 1 == 2", "live.x * 3"),
    *("body.x.startsWith('a')", "'abc'.size()", "1.5", "live.x < 1", "live.x >= '1'", "live.x < captures.x"),
    *("type(live.x) in [string, int]", "type(captures.x) in [list, map, double]", "type(live) in [bool]"),
    *(f"captures.x.split('1', {parts})" for parts in (0, 1, 2, 9)),
    *("'a,b,c'.split(',', 0)", "'a,b,c'.split(',', 1)", "'a,b,c'.split(',', 2)", "'a,b,c'.split(',', 3)"),
    *("'a,b,c'.split(',', -1)", "'a,b,c'.split(',', 9)"),
    *("at(body, '/x')", "at(live, '/x')", "string(live.x)", "double(live.x)", "int(live.x)", "dyn(live.x)"),
    *("captures.x.map(i, i)", "captures.x.filter(i, i == 1)", "live.exists(i, i == 'x')", "live.all(i, live[i] == 1)"),
    *("captures.x.map(i, [i, live.x])", "captures.x.map(i, i == 1, 'one')", "[1, 2].map(i, [3].map(j, i + j))"),
    *(f"type(live.x) == {kind}" for kind in ("string", "list", "map", "int", "bool", "double", "type(null)")),
    *(
        "live.x in captures.x",
        "live.x in {'1': 2}",
        "live[captures.x]",
        "live.x[captures.x]",
        "captures.x + captures.x",
    ),
    *(
        "captures.x.matches('^[0-9]$')",
        "captures.x.matches(live.x)",
        "captures.x.contains('1')",
        "'é1'.endsWith(live.x)",
    ),
    *("'Aé-b'.lowerAscii()", "'Aé-b'.upperAscii()", "'a,b,,'.split(',')", "captures.x.split(live.x)", "live.x.trim()"),
    *(
        "'a-b-a'.replace('a', live.x)",
        "'aaa'.replace('a', 'b', 2)",
        "'aaa'.replace('a', 'b', live.x)",
        "['a', 'b'].join('-')",
    ),
    *(
        "['a', live.x].join()",
        "['a'].join()",
        "'añb'.substring(1)",
        "'añb'.substring(0, live.x)",
        "'abab'.indexOf(live.x)",
    ),
    *(
        "'abab'.lastIndexOf('ab')",
        "cel.bind(v, live.x, v == null ? [] : [v, v])",
        "integer(live.x)",
        "or_value(live.x, 1)",
    ),
    *(
        "find(body, '/x')",
        "names(live, '/x')",
        "names(body, '/x')",
        "includes(live, body)",
        "flat([live.x, captures.x])",
    ),
    *("live.?x.orValue(3)", "live.?x.?y.hasValue()", "nearest(captures.x, ['11', '2'])", "quantity(live.x)"),
]
"""Expressions of every form that is evaluated in Python."""

LEFT = [
    *("captures.x == 1u", "'''a'''", "7 / live.x", "7 % 2", "captures.x.charAt(0)", "'a'.charAt(0)", "b'a'"),
    *("math.greatest(1, 2)", "[1].exists_one(i, i == 1)", "timestamp('2026-01-01T00:00:00Z')", "type(live.x)"),
    *("optional.of(1).hasValue()", r"'\u00e9'", "0x10", "12345678901234567890u"),
]
"""Expressions that always go to the runtime, valid as they are."""

VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -7,
    1.0,
    0.5,
    "",
    "1",
    "é",
    [],
    [1],
    {},
    {"x": 1},
    {"y": None},
    {"y": "1"},
)
MOST = 2**63


def plain(text: str) -> Evaluator | None:
    return plain_with(text, _CALLED, _LOOKING)


def scope(x: Any, live: Any) -> dict[str, Any]:
    body = {"x": x}
    return {
        "captures": {"x": x},
        "live": live,
        "body": body,
        "query": {},
        "headers": {"x": "1"},
        "request": {"body": body},
    }


def outcome(evaluate: Callable[[Activation], Any], values: dict[str, Any]) -> tuple[str, Any]:
    """Return the value with its type; of an error only that it is one."""
    try:
        value = evaluate(ENV.activation(values))
    except EvaluationError:
        return "error", None
    return type(value).__name__, value


def agree(expression: Expression, values: dict[str, Any]) -> bool:
    return outcome(expression.evaluate, values) == outcome(expression.evaluate_by_runtime, values)


@rows("text", PLAIN)
def test_plain_expressions_give_what_the_runtime_gives(text: str) -> None:
    assert plain(text) is not None
    expression = ENV.compile(text)
    for x in VALUES:
        for live in ({"x": x}, {"x": {"y": x}}, x):
            values = scope(x, live)
            assert agree(expression, values), values


@rows("text", LEFT)
def test_other_expressions_are_left_to_the_runtime(text: str) -> None:
    ENV.compile(text)
    assert plain(text) is None


@rows("text", PLAIN)
def test_what_is_missing_is_missing_to_both(text: str) -> None:
    for values in ({}, {"captures": {}, "live": {}, "body": {}, "query": {}, "headers": {}, "request": {"body": None}}):
        if values or text.partition(".")[0].lstrip("!") not in ("body", "query", "headers"):
            assert agree(ENV.compile(text), values)


@pytest.mark.parametrize("number", [MOST, -MOST - 1, 2**64])
def test_integers_beyond_64_bits_are_left_to_the_runtime(number: int) -> None:
    evaluator = plain("captures.x == 1")
    assert evaluator is not None
    assert evaluator(scope(number, {})) is ODD


json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-MOST, MOST - 1)
    | st.floats(allow_nan=False)
    | st.text("ab/~'1é", max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["x", "y", "z"]), inner, max_size=3),
    max_leaves=6,
)


OPERANDS = st.sampled_from([*MEMBERS, *LITERALS, "1.5", "[1, 'a']", "{'x': 1}", "'aXb'", "live.x.y", "[]"])
METHODS = st.sampled_from(
    [
        *("{0}.contains({1})", "{0}.startsWith({1})", "{0}.split({1})", "{0}.replace({1}, {2})", "{0}.substring({1})"),
        *("{0}.size()", "{0}.lowerAscii()", "{0}.trim()", "{0}.join({1})", "{0}.indexOf({1})", "{0}.lastIndexOf({1})"),
        *("{0}.map(i, {1})", "{0}.filter(i, i == {1})", "{0}.exists(i, {1} == i)", "{0}.all(i, i in {1})"),
        *("{0}.substring({1}, {2})", "size({0})", "string({0})", "at({0}, {1})", "type({0}) == list", "[{0}, {1}]"),
        *("{0} ? {1} : {2}", "{0} == {1}", "{0} != {1}", "{0} < {1}", "{0} >= {1}", "{0} in {1}", "{0} + {1}"),
        *("{0} - {1}", "{0} * {1}", "{0} && {1}", "{0} || {1}", "!{0}", "-{0}", "({0})", "{0}[{1}]", "{{'k': {0}}}"),
        *("has(live.x) && {0}", "cel.bind(v, {0}, [v, {1}])", "dyn({0})", "{0}.matches({1})", "names({0}, {1})"),
    ]
)
EXPRESSIONS = st.recursive(
    OPERANDS, lambda inner: st.builds(str.format, METHODS, *(inner.map("({})".format) for _ in range(3))), max_leaves=6
)


@settings(max_examples=400, deadline=None)
@given(text=EXPRESSIONS, x=st.sampled_from(VALUES), live=st.sampled_from(VALUES))
def test_expressions_that_are_put_together_at_random(text: str, x: Any, live: Any) -> None:
    try:
        expression = ENV.compile(text)
    except ExpressionError:
        return
    for one in ({"x": live}, live):
        values = scope(x, one)
        assert agree(expression, values), (text, values)


@settings(max_examples=300)
@given(text=st.sampled_from(PLAIN), x=json, live=json)
def test_any_values(text: str, x: Any, live: Any) -> None:
    assert agree(ENV.compile(text), scope(x, live))
