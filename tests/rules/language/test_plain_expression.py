"""Plain expressions are evaluated in Python: they give what the runtime gives, or leave it to the runtime."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corrigible.rules.language.expression import Activation, Environment, EvaluationError, Expression, environment
from corrigible.rules.language.plain_expression import ODD, plain

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
]
"""Expressions of every form that is evaluated in Python."""

LEFT = [
    *("captures.x == live.x", "!captures.x == true", "'1' == captures.x", "captures.x == 1.0", "captures.x == 1u"),
    *("size(captures.x)", "captures.x.size()", "captures.x[0]", "has(captures.x) ? 1 : 2", "captures.x in ['1']"),
    *("captures.x == '1' && live.x == 1 || live.x == 2", "captures.x + '1' == '11'", "(captures.x)", "-live.x"),
    *(r"captures.x == 'a\'b'", "r'a'", "'''a'''", "[1]", "{'a': 1}", "{'a': 1}.a", "live.x - 1", "1 + 1 == 2"),
    *("body.x.startsWith('a')", "'abc'.size()", "1.5", "live.x < 1", "at(body, '/x')", "string(live.x)"),
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


@pytest.mark.parametrize("text", PLAIN)
def test_plain_expressions_give_what_the_runtime_gives(text: str) -> None:
    assert plain(text) is not None
    expression = ENV.compile(text)
    for x in VALUES:
        for live in ({"x": x}, {"x": {"y": x}}, x):
            values = scope(x, live)
            assert agree(expression, values), values


@pytest.mark.parametrize("text", LEFT)
def test_other_expressions_are_left_to_the_runtime(text: str) -> None:
    ENV.compile(text)
    assert plain(text) is None


@pytest.mark.parametrize("text", PLAIN)
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


@settings(max_examples=150)
@given(text=st.sampled_from(PLAIN), x=json, live=json)
def test_any_values(text: str, x: Any, live: Any) -> None:
    assert agree(ENV.compile(text), scope(x, live))
