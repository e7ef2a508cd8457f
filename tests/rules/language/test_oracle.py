"""Our evaluator of CEL gives what Google's runtime gives: on packs, on a table of corners, on random expressions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from corrigible.proxy.build import profile_of
from corrigible.proxy.pack_tools.lint import judged_cases
from corrigible.rules.language import expression as language
from corrigible.rules.language.expression import EvaluationError, Expression, environment
from corrigible.rules.language.syntax import ExpressionError, signature
from corrigible.rules.pack.load import find_pack, load_pack
from tests._support.cel_oracle import ERROR, Functions, by_name, oracle, takes, typed
from tests._support.rows import rows
from tests.test_house import ROOT, committed

PACKS = sorted({path.parent.relative_to(ROOT).as_posix() for path in committed() if path.name == "pack.yaml"})
LARGE = ("github", "kubernetes", "models", "stripe")
"""Packs with hundreds of expressions each: all of their rules every night, some on each change."""
ENV = environment(frozenset({"live"}))
LARGEST = 2**63


def ours(expression: Expression, values: dict[str, Any]) -> Any:
    try:
        return typed(expression.evaluate(values))
    except EvaluationError:
        return ERROR


def difference(expression: Expression, values: dict[str, Any], functions: Functions | None = None) -> str:
    """Return what the two evaluators give, empty where that is the same."""
    used = {name: by_name(values[name]) for name in expression.names if name in values}
    here, there = ours(expression, used), oracle(expression.text, used, functions)
    if there == ERROR and ".substring(" in expression.text:
        return ""  # cel-expr-python 0.1.3 refuses an end that is the size of the text; CEL does not
    return "" if here == there else f"{expression.text}\n{used}\n{here}\n{there}"


@rows("folder", [one for one in PACKS if not one.endswith(LARGE)])
def test_packs(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_pack(folder, monkeypatch)


@pytest.mark.nightly
@pytest.mark.parametrize("folder", [one for one in PACKS if one.endswith(LARGE)])
def test_large_packs(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_pack(folder, monkeypatch)


@pytest.mark.parametrize("folder", [one for one in PACKS if one.endswith(LARGE)])
def test_some_rules_of_large_packs(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_pack(folder, monkeypatch, one_of=16)


def check_pack(folder: str, monkeypatch: pytest.MonkeyPatch, one_of: int = 1) -> None:
    """Every expression of a pack on what its cases ask it with; what they never ask, on what they ask others with.

    Of so many rules the cases of one are asked, and of the expressions only those that they ask.
    """
    path = find_pack(ROOT / folder)
    made: list[Expression] = []
    asked: list[tuple[Expression, dict[str, Any]]] = []
    compile_one, evaluate = language.Environment.compile, Expression.evaluate

    def compiled(self: Any, text: str, functions: Any = None) -> Expression:
        made.append(compile_one(self, text, functions or {}))
        return made[-1]

    def evaluated(self: Expression, values: Any) -> Any:
        asked.append((self, dict(values)))
        return evaluate(self, values)

    monkeypatch.setattr(language.Environment, "compile", compiled)
    monkeypatch.setattr(Expression, "evaluate", evaluated)
    pack = load_pack(path, [], [])
    list(judged_cases(profile_of(replace(pack, rules=pack.rules[::one_of]))))
    monkeypatch.undo()
    assert asked or one_of == 1
    functions = {}
    for call, body in pack.text.functions.items():
        called = signature(call)
        assert called is not None
        functions[called[0]] = (called[1], body)
    texts = {expression.text for expression, _ in asked}
    other = (one for one in made if one.text not in texts and one_of == 1)
    scopes = [values for _, values in asked[-3:]] or [scope("1", {"x": 1})]
    seen: set[tuple[str, str]] = set()
    found: list[str] = []
    for expression, values in itertools.chain(asked, itertools.product(other, scopes)):
        key = (expression.text, repr({name: values.get(name) for name in expression.names}))
        if key not in seen:
            seen.add(key)
            found.append(difference(expression, values, functions))
    assert list(filter(None, found)) == []
    assert len({one.text for one in made} if one_of == 1 else texts) <= len({one for one, _ in seen})


MEMBERS = ("captures.x", "live.x.y", "body.x", "body.x.y", "query.x", "headers.x", "live", "body", "request.body.x")
LITERALS = (
    *(
        "''",
        "'1'",
        '"a\'b"',
        "'é'",
        "0",
        "1",
        "-7",
        "true",
        "false",
        "null",
        "123456789012345678",
        "1.0",
        "-0.5",
        "1e300",
    ),
    *("[]", "[1, 'a']", "{}", "{'x': 1}", "{1: 2}", "'aXb'", "'a,b,,'", "' \\t1\\u00a0'", "9223372036854775807", "2.5"),
    *("'''a'b'''", 'r"\\d"', "'\\x41\\101\\U0001F600\\n'", "0x10", ".5", "type(live.x)", "string", "[[1.0], null]"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -7, 1.0, 0.5, "", "1", "é", [], [1], {}, {"x": 1}, {"y": None}, {"y": "1"}),
    *(LARGEST - 1, -LARGEST, LARGEST, 2 * LARGEST - 1, 1e308, -1.5, 2.5, 1234567.25, "12", " +3 ", "1e3", "true"),
    *(["b", "a", ""], [1, 1.0, True], {"x": {"y": [1]}}, [[1], ["x"]], "aXbXc", "\u2003x\u0085"),
)
TWO = MEMBERS[:2]
CORNERS = [
    *(f"{one} {sign} {other}" for sign in ("==", "in", "<", "+", "/", "&&") for one in TWO for other in LITERALS),
    *(f"{other} {sign} {one}" for sign in ("==", "in", ">=", "-", "%", "||") for one in TWO for other in LITERALS),
    *(f"{kind}({one})" for kind in ("int", "double", "string", "bool", "size", "type", "dyn") for one in MEMBERS[:3]),
    *(f"type(live.x) == {kind}" for kind in ("string", "list", "map", "int", "uint", "double", "bool", "null_type")),
    *(f"has({member})" for member in MEMBERS if "." in member),
    *(f"{sign}{member}" for sign in "!-" for member in MEMBERS),
    *(f"math.{name}(live.x)" for name in ("ceil", "floor", "round", "trunc", "abs", "sign", "sqrt", "isNaN", "isInf")),
    *("math.greatest(captures.x, live.x, 1)", "math.least(live)", "math.isFinite(live.x)", "math.least(captures.x)"),
    *(f"captures.x.{call}" for call in (
        *("size()", "lowerAscii()", "upperAscii()", "trim()", "reverse()", "join()", "join('-')", "charAt(1)"),
        *("contains('X')", "startsWith('')", "endsWith('1')", "matches('^[a1]')", "matches(live.x)", "indexOf('X', 2)"),
        *("indexOf('')", "lastIndexOf('X', 2)", "lastIndexOf('')", "substring(1)", "substring(0, 2)"),
        *("substring(2, 1)", "replace('X', '')", "replace('', '-')", "replace('', '-', 2)", "replace('X', 'YY', 1)"),
        *("replace(live.x, 'b', -1)", "split('')", "split('', 2)", "split('X')", "split('X', 0)", "split('X', 1)"),
        *("split('X', 2)", "split('X', -1)"),
        *("map(i, i)", "filter(i, i == 1)", "all(i, i == 1)", "exists(i, i == 'x')", "exists_one(i, i == 1)"),
        *("map(i, i == 'x', 1)", "all(i, i)", "exists(i, i)", "exists_one(i, i)", "all(i, 1 / i == 1)"),
    )),
    *("[0, 1].exists(i, 1 / i == 1)", "[0, 2, 1].all(i, 1 / i == 1)", "[1, 2].exists_one(i, 1 / (i - 1) == 1)"),
    *("cel.bind(v, 1 / 0, 2)", "cel.bind(v, 1 / 0, true || v == 1)", "cel.bind(v, live.x, v == null ? [] : [v, v])"),
    *("cel.bind(v, 1, cel.bind(v, v + 1, v))", "[1, 2].map(i, [3].map(i, i))", "[3].map(a, cel.bind(b, a, b + a))"),
    *("live[captures.x]", "captures.x[0]", "captures.x[1.0]", "captures.x[live.x]", "[1, 2][live.x]"),
    "{1: 'a'}[live.x]",
    *("live.?x.orValue(3)", "live.?x.?y.hasValue()", "live.?x.y.orValue(captures.x)", "has(body.x) && body.x.x == 1"),
    *("{'a': live.x}.a", "{live.x: 1}", "{'a': 1, 'b': [live.x]}", "[live.x, captures.x]", "captures.x ? 1 : 'a'"),
    *("1 == 1 ? 2 : 1 / 0", "-9223372036854775808", "-(-9223372036854775808)", "-9223372036854775808 / -1", "--1"),
    *("-9223372036854775808 % -1", "-7 / 2", "-7 % 2", "7 % -2", "1.0 / 0.0", "-1.0 / 0.0", "5 / 0", "1e308 * 10.0"),
    *("1 + 2 * 3 - 4 / 2 % 3", "1 < 2 == true", "true || false && false", "1 - -1", "2 * -3", "!(true) == false"),
    "// a\n1",
    *("[1, 2,]", "{'a': 1,}", "1 == 1.0", "9007199254740993 == 9007199254740992.0", "[1] == [1.0]", "x.if", "live.if"),
    *("at(body, '/x')", "find(body, '/x')", "names(live, '/x')", "includes(live, body)", "flat([live.x, captures.x])"),
    *("integer(live.x)", "or_value(live.x, 1)", "nearest(captures.x, ['11', '2'])", "quantity(live.x)"),
    "base64(live.x)",
]  # fmt: skip


def scope(x: Any, live: Any) -> dict[str, Any]:
    body = {"x": x}
    return {
        **{"captures": {"x": x}, "live": live, "body": body, "query": {}, "headers": {"x": "1"}},
        "request": {"body": body},
    }


def differences(text: str, scopes: list[dict[str, Any]]) -> Iterator[str]:
    try:
        expression = ENV.compile(text)
    except ExpressionError as problem:
        if takes(text, ENV.names) and any(oracle(text, values) != ERROR for values in scopes):
            yield f"{text}: {problem}"
        return
    yield from filter(None, (difference(expression, values) for values in scopes))


def test_corners() -> None:
    scopes = [scope(x, live) for x in VALUES for live in ({"x": x}, x)]
    assert [found for text in CORNERS for found in differences(text, scopes)] == []


@pytest.mark.parametrize("values", [{}, {"captures": {}, "live": {}, "body": {}, "query": {}, "headers": {}}])
def test_what_is_missing_is_missing_to_both(values: dict[str, Any]) -> None:
    values = {**values, "request": {"body": None}}
    texts = [text for text in CORNERS if values["request"] and ("live" in values or "body" not in text)]
    assert [found for text in texts for found in differences(text, [values])] == []


json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-LARGEST, LARGEST - 1)
    | st.floats(allow_nan=False)
    | st.text("ab/~'1é", max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["x", "y", "z"]), inner, max_size=3),
    max_leaves=6,
)
FORMS = st.sampled_from(
    [
        *("{0}.contains({1})", "{0}.startsWith({1})", "{0}.split({1})", "{0}.replace({1}, {2})", "{0}.substring({1})"),
        *("{0}.size()", "{0}.lowerAscii()", "{0}.trim()", "{0}.join({1})", "{0}.indexOf({1})", "{0}.lastIndexOf({1})"),
        *("{0}.map(i, {1})", "{0}.filter(i, i == {1})", "{0}.exists(i, {1} == i)", "{0}.all(i, i in {1})"),
        *("{0}.exists_one(i, i == {1})", "{0}.map(i, {1}, [i, {2}])", "{0}.charAt({1})", "math.greatest({0}, {1})"),
        *("{0}.substring({1}, {2})", "size({0})", "string({0})", "at({0}, {1})", "type({0}) == list", "[{0}, {1}]"),
        *("{0} ? {1} : {2}", "{0} == {1}", "{0} != {1}", "{0} < {1}", "{0} >= {1}", "{0} in {1}", "{0} + {1}"),
        *("{0} - {1}", "{0} * {1}", "{0} / {1}", "{0} % {1}", "{0} && {1}", "{0} || {1}", "!{0}", "-{0}", "({0})"),
        *("{0}[{1}]", "{{'k': {0}}}", "{{{0}: {1}}}", "int({0})", "double({0})", "bool({0})", "math.round({0})"),
        *("has(live.x) && {0}", "cel.bind(v, {0}, [v, {1}])", "dyn({0})", "{0}.matches({1})", "names({0}, {1})"),
    ]
)
EXPRESSIONS = st.recursive(
    st.sampled_from([*MEMBERS, *LITERALS]),
    lambda inner: st.builds(str.format, FORMS, *(inner.map("dyn({})".format) for _ in range(3))),
    max_leaves=6,
)


SIGNED = st.sampled_from([one for one in VALUES if type(one) is not int or one < LARGEST])
"""Unsigned integers are compared and passed on, as in the runtime; sums of them are an overflow."""


@example(text="at(dyn(type(live.x)), dyn(captures.x))", x=None, live=None)
@given(text=EXPRESSIONS, x=SIGNED, live=SIGNED | json)
def test_expressions_that_are_put_together_at_random(text: str, x: Any, live: Any) -> None:
    assert list(differences(text, [scope(x, {"x": live}), scope(x, live)])) == []


@given(text=st.sampled_from(CORNERS), x=json, live=json)
def test_any_values(text: str, x: Any, live: Any) -> None:
    assert list(differences(text, [scope(x, live), scope(x, {"x": live})])) == []


@rows(
    ("text", "instead"),
    [
        ("timestamp('2026-01-01T00:00:00Z')", "unix(date)"),
        ("duration('1s').getSeconds()", "seconds('10 min')"),
        *[("1u", "write 1"), ("uint(1)", "int(x)"), ("b'a'", "base64(text)"), ("bytes('a')", "base64(text)")],
        *[("'%d'.format([1])", "join texts by +"), ("strings.quote('a')", "join texts by +")],
        *[("optional.of(1).orValue(2)", "a.?b.orValue(default)"), ("live.?x", ".orValue(default) or .hasValue()")],
        *[
            ("[?live.?x]", "hasValue() ?"),
            ("{?'a': live.?x}", "hasValue() ?"),
            ("live[?'x'].orValue(1)", "or_value(at("),
        ],
        *[("A{b: 1}", "write a map"), (".live", "without the dot"), ("live.`x-y`", "a['b-c']")],
    ],
)
def test_what_packs_may_not_use_is_refused_with_what_to_write(text: str, instead: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        ENV.compile(text)
    assert str(caught.value).startswith("CEL: column ")
    assert instead in str(caught.value)


def test_the_runtime_is_of_tests_alone() -> None:
    sources = [path for path in committed() if path.suffix in (".py", ".pyi") and ROOT / "tests" not in path.parents]
    assert len(sources) > 400
    assert [path for path in sources if "cel_expr_python" in path.read_text("utf-8")] == []
    assert Path(ROOT / "pyproject.toml").read_text("utf-8").count("cel-expr-python") == 1
