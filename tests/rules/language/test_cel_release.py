"""Functions that the CEL runtime calls leave nothing behind: a proxy calls them for months."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable

import pytest

from corrigible.rules.language.cel_release import surplus
from corrigible.rules.language.expression import EvaluationError, environment

VALUES = {"request": {"body": {"a": ["x" * 100, "y"], "n": 3}}, "error": {"code": "amoun"}, "spec": {}}
CALLS = 200


@pytest.fixture(scope="module", autouse=True)
def of_other_tests() -> None:
    """Leave alone what other tests on this worker have left: to look through a million objects takes half a second."""
    gc.collect()
    gc.freeze()


def blocks_left(call: Callable[[], object]) -> float:
    """Return the blocks of memory that stay behind for each call."""
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(CALLS):
        call()
    gc.collect()
    return (sys.getallocatedblocks() - before) / CALLS


def leaks(call: Callable[[], object]) -> bool:
    """Return whether memory stays behind in every round: a cache that is being filled grows in the first few only."""
    return all(blocks_left(call) >= 0.05 for _ in range(10))


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("nearest(error.code, ['amount', 'currency'])", ["amount"]),
        ("nearest(error.code, ['amount', 'currency'])[0] + base64(error.code)", "amountYW1vdW4="),
        ("includes(request.body, request.body)", True),
        ("at(request, '/body/a')", ["x" * 100, "y"]),
        ("names(request.body, '')", ["a", "n"]),
        ("flat([request.body.a, request.body.a]).size()", 4),
        ("request.body.a.map(one, integer(one))", [None, None]),
        ("respell(error.code, '[a-m]', '-')", "am"),
        ("find(request, '/body/a/*')", ["/body/a/0", "/body/a/1"]),
    ],
)
def test_a_call_leaves_nothing(text: str, given: object) -> None:
    scope = environment()
    expression = scope.compile(text)

    def call() -> object:
        return expression.evaluate(scope.activation(VALUES))

    assert call() == given
    assert not leaks(call)


def test_a_call_that_fails_leaves_nothing_either() -> None:
    scope = environment()
    expression = scope.compile("respell(error.code, error.code, '')")

    def call() -> None:
        with pytest.raises(EvaluationError, match=r"not a class such as \[a-z0-9-\]"):
            expression.evaluate(scope.activation(VALUES))

    assert not leaks(call)


def test_nulls_do_not_end_the_process() -> None:
    program = """
from corrigible.rules.language.expression import environment
scope = environment()
expression = scope.compile("[null, null, null, null, null, null, null, null]")
for _ in range(20_000):
    expression.evaluate(scope.activation({}))
print("alive")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


def test_what_is_given_back_was_counted() -> None:
    assert surplus() in ((0, 0), (1, 1))
