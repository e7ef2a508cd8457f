"""CEL as rules use it: the scope, our functions, and how each failure is said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from corrigible.rules.functions.builtin import integer
from corrigible.rules.language.expression import EvaluationError, environment
from corrigible.rules.language.syntax import ExpressionError
from tests._support.counted import counted
from tests._support.rows import rows

ENV = environment(frozenset({"charge"}))
VALUES: dict[str, Any] = {
    "request": {"method": "POST", "body": {"amount": "500", "tags": ["a", "b"], "none": None}},
    "charge": {"amount": 1000, "refunded": 700, "large": 10**5000},
}


def result(text: str, **values: Any) -> Any:
    return ENV.compile(text).evaluate({**VALUES, **values})


@rows(
    ("text", "value"),
    [
        ("charge.amount - charge.refunded", 300),
        ("request.body.tags", ["a", "b"]),
        ("request.body", VALUES["request"]["body"]),
        ("has(request.body.absent)", False),
        ("request.body.none", None),
        ("'a-b-c'.split('-')[1]", "b"),
        ("math.greatest(1, 5, 3)", 5),
        ("request.method.matches('^P.ST$')", True),
        ("at(request, '/body/tags/1')", "b"),
        ("at(request, '/body/tags/2')", None),
        ("at(request, '/body/absent/x')", None),
        ("integer(request.body.amount) + 1", 501),
        ("pointer_of('line_items[0][price]')", "/body/line_items/0/price"),
        ("pointer_of('')", ""),
        ("nearest('ammount', ['currency', 'amount'])", ["amount"]),
        ("fresh_key('x')", "f94a1e60-62fa-56ba-a0fa-10c0c0dbfde2"),
        ("includes(request, {'body': {'amount': 500}})", True),
        ("includes(request, {'body': {'amount': 501}})", False),
        ("includes(request.body, {'gone': ''})", True),
        ("includes([1], [1, 2])", False),
        ("base64('a')", "YQ=="),
        ("base64_meant('aGVsbG8_d29ybGQ-')", "aGVsbG8/d29ybGQ+"),
        ("is_base64('YQ==')", True),
        ("flat([[1], 2])", [1, 2]),
        ("or_value(null, 5)", 5),
        ("names(request, '/body')", ["amount", "tags", "none"]),
        ("names(charge, '')", ["amount", "refunded", "large"]),
        ("find(request, '/body/tags/*')", ["/body/tags/0", "/body/tags/1"]),
        ("find(charge, '*')", ["/amount", "/refunded", "/large"]),
        ("edits(charge, [['/amount']])", [{"op": "remove", "path": "/amount"}]),
        ("quantity('1k')", 1000.0),
        ("quantity_text(1000.0, '1k')", "1k"),
        ("respell('a b', '[a-z]', '-')", "a-b"),
        ("unix('Sun, 06 Nov 1994 08:49:37 GMT')", 784111777),
        ("seconds('2 min')", 120),
        ("{'b': {'d': 1, 'c': 2}, 'a': [{'z': 1, 'y': 2}]}", {"a": [{"y": 2, "z": 1}], "b": {"c": 2, "d": 1}}),
        ("has(request.body.none)", True),
        ("has(charge.amount) && !has(charge.absent)", True),
        ("true", True),
        ("null", None),
        ("cel.bind(x, 2, x * x)", 4),
        ("charge.?amount.orValue(2)", 1000),
    ],
)
def test_values(text: str, value: Any) -> None:
    found = result(text)
    assert (type(found), found) == (type(value), value)


@rows(
    ("text", "expected_message"),
    [
        ("request.body.absent", 'Key not found in map : "absent"'),
        ("1 / (charge.amount - 1000)", "divide by zero"),
        ("request.body.tags[7]", "Index error: index=7 size=2"),
        ("request.body.amount + 1", "No matching overloads found"),
        ("9223372036854775807 + charge.amount", "integer overflow"),
        ("int('x')", "cannot convert string to int"),
        *(
            (text, "integer overflow")
            for text in (
                *(
                    "charge.large + 1",
                    "1 - charge.large",
                    "-charge.large",
                    "string(charge.large)",
                    "double(charge.large)",
                ),
                *("charge.large == 1.5", "charge.large < 1.5", "math.sqrt(charge.large)", "int(charge.large)"),
            )
        ),
        ("at(1, 2)", "argument of type 'int' is not iterable"),
        ("nearest(7, ['a'])", "'int' object has no attribute 'casefold'"),
        ("fresh_key(7)", "fresh_key(7): "),  # the rest is Python's, and another in 3.12
    ],
)
def test_what_fails_at_run_time_is_one_kind_of_error(text: str, expected_message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        result(text)
    assert str(caught.value).startswith(f"{text}: ")
    assert expected_message in str(caught.value)


@rows(
    ("text", "expected_message"),
    [
        ("reqest.method", "CEL: column 1: undeclared reference to 'reqest'; did you mean \"request\"?"),
        ("chrge", "CEL: column 1: undeclared reference to 'chrge'; did you mean \"charge\"?"),
        ("1 + nearst('a', [])", "CEL: column 5: undeclared reference to 'nearst'; did you mean \"nearest\"?"),
        ("'a'.contain('b')", "CEL: column 5: undeclared reference to 'contain'; did you mean \"contains\"?"),
        ("zzz", "CEL: column 1: undeclared reference to 'zzz'"),
        ("'a' + 1", 'CEL: column 5: no matching overload: "+" does not take a text and a number: string(x) makes a'),
        ("1 + 1.5", 'CEL: column 3: no matching overload: "+" does not take a number and a number: double(x) makes'),
        ("1 +", "CEL: column 4: a value is missing at the end"),
        ("(1", 'CEL: column 3: the expression ends where ")" is needed'),
        ("'x", "CEL: column 1: the text has no end"),
        ("", "CEL: column 1: a value is missing at the end"),
        ("charge.amount = 1", "CEL: column 15: whether two values are equal is asked by =="),
        ("true and false", 'CEL: column 6: "and" does not fit here; and, or, not are written &&, ||, !'),
        ("card number", 'CEL: column 6: "number" does not fit here; a text has quotes of its own: "\'card number\'"'),
        (f"{'(' * 61}1{')' * 61}", "CEL: column 61: nested deeper than 60 levels: move a part to a let"),
        ("+".join("1" * 200), "CEL: column 198: nested deeper than 100 levels: move a part to a let"),
        (f"{'!' * 61}true", "CEL: column 1: more than 60 signs before a value"),
        (f"'{'x' * 4000}'", "CEL: column 4001: an expression of 4,002 characters, 4,000 are the most"),
    ],
)
def test_what_does_not_compile_is_said_on_one_line(text: str, expected_message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        ENV.compile(text)
    assert str(caught.value).startswith(expected_message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["1", "'true'", "null", "request"])
def test_only_a_boolean_holds(text: str) -> None:
    kind = type(result(text)).__name__
    with pytest.raises(EvaluationError, match=f"gives {kind}, not a boolean"):
        ENV.compile(text).holds(VALUES)


def test_maps_keep_the_order_in_which_they_were_written() -> None:
    assert json.dumps(result("{'b': {'d': 1, 'c': 2}, 'a': [{'z': 1, 'y': 2}]}")) == (
        '{"b": {"d": 1, "c": 2}, "a": [{"z": 1, "y": 2}]}'
    )
    assert result("charge.map(name, name)", charge=dict.fromkeys("qwertz", 1)) == list("qwertz")
    assert result("names(charge, '')", charge=dict.fromkeys("qwertz", 1)) == list("qwertz")


@rows(
    "name",
    [
        *("body", "captures", "error", "errors", "exchange", "headers", "operation", "params", "query", "request"),
        *("response", "spec", "tables"),
    ],
)
def test_names_that_every_rule_may_use(name: str) -> None:
    assert environment().compile(f"{name} == null").holds({name: None})


@rows(
    ("text", "expected_message"),
    [
        ("includes(request, {}) + 1", "no matching overload"),
        ("find(request, '*') + 1", "no matching overload"),
        ("is_base64('a') + 1", "no matching overload"),
        *(
            (f"{name}('a') + 1", "no matching overload")
            for name in ("base64", "base64_meant", "fresh_key", "pointer_of")
        ),
        ("respell('a', '[a]', '') + 1", "no matching overload"),
        ("covers(charge, charge)", 'it is now called "includes"'),
        ("wildcards(request)", 'it is now called "find"'),
    ],
)
def test_types_are_checked_before_anything_runs(text: str, expected_message: str) -> None:
    with pytest.raises(ExpressionError, match=expected_message):
        ENV.compile(text)


def test_an_evaluation_is_counted() -> None:
    assert counted(lambda: result("charge.amount / 2"))[1] == 1
    assert counted(lambda: result("1 + charge.amount"))[1] == 1
    assert counted(lambda: result("[1, 2, 3].map(i, [4, 5].map(j, i * j))"))[1] == 1 + 3 + 6


def test_an_environment_is_shared_by_its_names() -> None:
    assert environment(frozenset({"charge"})) is ENV
    with pytest.raises(ExpressionError, match="undeclared reference to 'charge'"):
        environment().compile("charge")


@rows("number", [0, -1, 2**53 + 1, 2**63 - 1, -(2**63), 2**63])
def test_large_integers_stay_exact(number: int) -> None:
    assert result("charge", charge=number) == number


def test_the_largest_numbers_of_a_json_reader_do_no_harm_to_others() -> None:
    assert result("charge.small", charge={"small": 1, "large": [2**64 - 1, 1.8446744073709552e19, 1e308]}) == 1


@rows(
    ("value", "number"),
    [
        (5, 5),
        (5.0, 5),
        (5.5, None),
        ("5", 5),
        (" -5 ", -5),
        ("5.0", None),
        ("", None),
        ("1" * 19, None),
        (True, None),
        (None, None),
        ([1], None),
    ],
)
def test_integer(value: Any, number: int | None) -> None:
    assert integer(value) == number


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("unix('Sun, 06 Nov 1994 08:49:37 GMT')", 784111777),
        ("unix('Sunday, 06-Nov-94 08:49:37 GMT')", 784111777),
        ("unix('soon') == null", True),
        ("unix(null) == null", True),
    ],
)
def test_http_dates(text: str, value: Any) -> None:
    assert ENV.compile(text).evaluate({}) == value


SPEC = {"properties": {"amount": {"type": "integer"}, "card": {"properties": {"number": {}}}}}


@rows(
    ("text", "value"),
    [
        ("at(spec, '/properties/amount/type')", "integer"),
        ("at( spec , '/properties/' + request.body.name)", {"type": "integer"}),
        ("at(spec, '/nothing') == null", True),
        ("names(spec, '/properties')", ["amount", "card"]),
        ("names(spec, '/properties/card/properties').map(n, 'card[' + n + ']')", ["card[number]"]),
        ("names(request, '/body/name')", []),
        ("names({'a': 1}, '')", ["a"]),
        ("at(tables, '/limits/usd') + 1", 51),
    ],
)
def test_documents_are_looked_into(text: str, value: Any) -> None:
    values = {"spec": SPEC, "request": {"body": {"name": "amount"}}, "tables": {"limits": {"usd": 50}}}
    assert ENV.compile(text).evaluate(values) == value
