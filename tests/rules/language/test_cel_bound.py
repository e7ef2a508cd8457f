"""What an expression makes is bounded before it is made."""

from __future__ import annotations

import itertools
import subprocess
import sys
import textwrap
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrigible.rules.budget import MOST_UNITS, UNITS_OF_VALUE, content_size
from corrigible.rules.language.evaluator import PackFunction
from corrigible.rules.language.expression import Environment, EvaluationError, environment
from corrigible.rules.language.syntax import ExpressionError, words
from tests._support.rows import rows

ENV: Environment = environment(frozenset({"live"}))
VALUES: dict[str, Any] = {
    "body": {"text": "abcdefgh" * 8, "items": [{"name": f"n{n}", "tags": ["x", "y"]} for n in range(8)], "n": 3},
    "live": ["a" * 50] * 20,
    "request": {"body": {"items": [{"name": "x" * 40}] * 10}},
    "tables": {"sizes": {"a": "b" * 64}},
}


def doubling(levels: int, first: str, grown: str) -> str:
    """Return nested `cel.bind`s, each of which doubles the one around it."""
    names = [f"a{n}" for n in range(levels + 1)]
    text = names[-1]
    for before, name in reversed(list(itertools.pairwise(names))):
        text = f"cel.bind({name}, {grown.replace('@', before)}, {text})"
    return f"cel.bind(a0, {first}, {text})"


GROWING = [
    doubling(10, "'x'", "@ + @ + @ + @ + @ + @"),
    doubling(10, "['x']", "@ + @ + @ + @ + @ + @"),
    doubling(10, "'x'", "[@, @, @, @, @, @]"),
    doubling(10, "'x'", "{'k': @, 'l': @, 'm': @, 'n': @, 'o': @, 'p': @}"),
    doubling(10, "'xxxx'", "@.replace('x', 'xxxxxx')"),
    doubling(9, "'xx'", "@.replace('x', @)"),
    doubling(10, "['xx', 'yy']", "[@.join('zz'), @.join(), @[0] + @[1], @.join(@[0] + @[1])]"),
    doubling(10, "['xx', 'yy', 'zz']", "[@, @, @].map(i, [@, i])"),
    doubling(10, "'xxxx'", "base64(base64(base64(base64(base64(base64(@))))))"),
    doubling(10, "['x']", "flat([@, @, @, @, @, @])"),
    doubling(10, "'xx'", "@.split('').join(@)"),
    doubling(10, "'xx'", "[@.reverse(), @.upperAscii(), @.trim(), @.substring(0)].join()"),
    doubling(10, "['a', 'b']", "flat(@.map(i, @))"),
    "live.map(a, live.map(b, live.map(c, live.map(d, live.map(e, live.map(f, a + b + c))))))",
    "[live.all(a, live.all(b, live.all(c, live.all(d, live.all(e, live.all(f, a.matches('a*b?')))))))]",
    "live.map(i, live).map(i, [live, live, live].map(j, [i, j].map(k, live.map(l, [i, j, k, l]))))",
]


SMALL = [
    doubling(12, "'xxxx'", "respell(@ + '!!', '[a-z]', @)"),
    "find(request, '**/**/**/**/**/**/**/**/**/**/**').map(p, [p, p, p]).map(p, find(request, '**').map(q, [p, q]))",
]
"""What looks as if it grew."""


@rows("text", GROWING, ids=range(len(GROWING)))
def test_what_grows_is_refused(text: str) -> None:
    for whole in (text, f"[1.5].exists_one(x, x > 1.0) && size({text}) > 0", f"size({text}) > 0 || true"):
        with pytest.raises(EvaluationError, match="makes more than"):
            ENV.compile(whole).evaluate(VALUES)


@pytest.mark.slow
def test_memory_stays_small() -> None:
    """A child that may have 192 MiB more than it has evaluates all of them, and one ordinary one."""
    code = f"""
        import resource
        from corrigible.rules.language.expression import EvaluationError, environment
        env = environment(frozenset({{"live"}}))
        values = {VALUES!r}
        texts = {[*GROWING, *SMALL]!r}
        compiled = [env.compile(text) for text in texts]
        assert env.compile("[1.5].map(i, body.text + 'x')").evaluate(values)
        have = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (have + (192 << 20),) * 2)
        for one in compiled:
            try:
                one.evaluate(values)
            except EvaluationError as problem:
                assert "memory" not in str(problem).lower(), problem
        print("done", len(compiled))
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert run.stdout.startswith("done "), run.stderr[-2000:]
    assert int(run.stdout.split()[1]) == len([*GROWING, *SMALL])


LEAVES = st.sampled_from(
    ["body.text", "body.items", "live", "body.n", "'ab'", "['a', 'b']", "1.5", "1", "tables.sizes", "v", "w"]
)
"""`v` and `w` are bound by whatever stands around."""


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two, three = st.tuples(inner, inner), st.tuples(inner, inner, inner)
    return st.one_of(
        two.map("({0[0]} + {0[1]})".format),
        two.map("[{0[0]}, {0[1]}, {0[0]}]".format),
        two.map("{{'k': {0[0]}, 'l': {0[1]}}}".format),
        two.map("cel.bind(v, {0[0]}, {0[1]})".format),
        two.map("cel.bind(w, [v, {0[0]}], {0[1]})".format),
        two.map("{0[0]}.map(w, {0[1]})".format),
        two.map("{0[0]}.map(v, [w, v, {0[1]}])".format),
        two.map("{0[0]}.filter(w, size(string({0[1]})) >= 0)".format),
        two.map("[{0[0]}].map(v, v).join({0[1]})".format),
        three.map("{0[0]}.replace({0[1]}, {0[2]})".format),
        two.map("{0[0]}.split({0[1]})".format),
        two.map("flat([{0[0]}, {0[1]}])".format),
        three.map("({0[0]} == {0[1]} ? {0[2]} : {0[1]})".format),
        inner.map("find(request, '/body/*').map(v, {0})".format),
        inner.map("base64({0})".format),
        inner.map("or_value(at({0}, '/k'), {0})".format),
        inner.map("string({0})".format),
        inner.map("{0}.upperAscii()".format),
    )


EXPRESSIONS = st.recursive(LEAVES, _grown, max_leaves=14).map(
    "cel.bind(v, 'ab', cel.bind(w, ['a', body.text], {0}))".format
)


@given(EXPRESSIONS)
def test_any_expression_gives_a_small_value_or_an_error(text: str) -> None:
    try:
        value = ENV.compile(text).evaluate(VALUES)
    except (ExpressionError, EvaluationError):
        return
    size = content_size(value)
    assert UNITS_OF_VALUE * size.values + size.letters <= 2 * MOST_UNITS


def test_names_that_need_each_other_do_not_run_out_of_stack() -> None:
    needs = "+".join(["{0}", *"1" * 25])
    text = "cel.bind(a0, 1, "
    text += "".join(f"cel.bind(a{n + 1}, {needs.format(f'a{n}')}, " for n in range(45))
    expression = ENV.compile(f"{text}a45{')' * 46}")
    with pytest.raises(EvaluationError, match="nested too deep"):
        expression.evaluate({})
    assert ENV.compile("[1].exists(x, x == 1)").evaluate({})


def test_functions_of_functions_do_not_double(tmp_path: Any) -> None:
    from corrigible.rules.errors import AuthoringError
    from corrigible.rules.pack.load import load_pack

    functions = "\n".join(f'  "f{n}(x)": f{n - 1}(x) + f{n - 1}(x)' for n in range(1, 60))
    (tmp_path / "pack.yaml").write_text(
        "name: a\ntitle: A\nversion: 1.0.0\napi: {name: A}\nlicense: MIT\nlookups: []\nfunctions:\n"
        f'  "f0(x)": x + x\n{functions}\n'
    )
    with pytest.raises(AuthoringError, match="more than 4,000 characters"):
        load_pack(tmp_path)


@pytest.mark.parametrize("text", ["'''" + r"\a" * 60, "request.id != '' // don't " + r"\a" * 60])
def test_a_text_without_an_end_is_read_in_linear_time(text: str) -> None:
    """Two ways to read each escape would take 2**60 steps."""
    with pytest.raises(ExpressionError) if text.startswith("'") else nullcontext():
        ENV.compile(text)
    words(text)


def test_a_pattern_that_unfolds_beyond_its_room_is_none() -> None:
    with pytest.raises(EvaluationError, match="not an RE2 pattern"):
        ENV.compile(r"'x'.matches('\\pL{900}')").evaluate({})


def test_digits_without_end_are_read_in_linear_time() -> None:
    assert ENV.compile("whole_number(live[0], {})").evaluate({"live": ["9" * 300_000]}) is None
    assert ENV.compile("whole_number('-30.00', {})").evaluate({}) == -30


def test_the_body_of_a_function_sees_no_variable_of_its_caller() -> None:
    def value(text: str) -> Any:
        return ENV.compile(text, functions).evaluate({"body": {"items": [1, 2, 3]}, "live": 7})

    functions: dict[str, PackFunction] = {}
    for name, body in (("total", "size(body.items)"), ("known", "live")):
        functions[name] = PackFunction(name, (), ENV.compiled(body, {}, ()))
    assert value("cel.bind(body, 5, total())") == 3
    assert value("[{'items': []}].map(body, total())") == [3]
    assert value("cel.bind(live, 5, [1].map(live, known() + live))") == [8]
