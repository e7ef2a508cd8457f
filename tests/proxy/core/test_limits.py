"""How far the proxy goes: past a limit the native answer passes, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from corrigible.proxy.build import build_corrector
from corrigible.proxy.core.limits import Limits
from corrigible.proxy.http.corrector import HttpOutcome
from corrigible.proxy.http.messages import HttpExchange, RequestHead, ResponseHead
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer

JSON = [("Content-Type", "application/json")]
TEXT = "suggest: [{action: MODIFY_PARAMS, message: m, parameters: {a: 1}}]\n"


@pytest.fixture
def outcome(write_pack: Callable[..., Path]) -> Callable[..., HttpOutcome]:
    def run(
        *, asked: bytes = b"{}", answered: bytes = b'{"error":{"message":"m"}}', text: str = TEXT, **limits: int
    ) -> HttpOutcome:
        folder = write_pack(manifest="lookups: ['/v1/{id}']\n", x=text)
        corrector = build_corrector([folder], limits=Limits(**limits))
        going = corrector.correct(
            HttpExchange(RequestHead("POST", "/v1/x", JSON), asked, ResponseHead(400, JSON), answered),
            id="e",
            started=1.0,
        )
        return run_with_lookups_sync(going, lambda path: LookupAnswer(200, b"{}"), corrector.limits)

    return run


def test_the_defaults() -> None:
    limits = Limits()
    assert (limits.body, limits.suggestions, limits.feedback) == (1 << 20, 16, 4096)
    assert (limits.seconds, limits.seconds_with_lookups, limits.lookups) == (0.25, 1.0, 12)
    assert (limits.steps, limits.steps_for_values, limits.text) == (20_000, 1, 8192)
    assert (limits.values, limits.depth, limits.errors) == (50_000, 100, 64)


def test_a_caller_with_patience_waits_longer_for_both() -> None:
    limits = Limits.within(20)
    assert (limits.seconds, limits.seconds_with_lookups) == (5, 20)
    assert Limits.within(1) == Limits()


@pytest.mark.parametrize(("seconds", "computing"), [(0.4, 0.25), (0.1, 0.1), (0.25, 0.25), (2, 0.5)])
def test_a_short_limit_is_one_for_the_whole_correction(seconds: float, computing: float) -> None:
    limits = Limits.within(seconds)
    assert (limits.seconds, limits.seconds_with_lookups) == (computing, seconds)


def test_within_them(outcome: Callable[..., HttpOutcome]) -> None:
    assert outcome().reason == "annotated"
    assert outcome(asked=b"x" * 100, answered=b'{"error":{"message":"m"}}', body=100).error is not None


def test_a_large_answer(outcome: Callable[..., HttpOutcome]) -> None:
    answered = orjson.dumps({"error": {"message": "m" * 100}})
    assert outcome(answered=answered, body=len(answered)).reason == "annotated"
    said = outcome(answered=answered, body=len(answered) - 1)
    reason = f"the answer cannot be changed: the body is over {len(answered) - 1} bytes"
    assert (said.rewrite, said.reason, said.error) == (None, reason, None)


def test_a_large_request(outcome: Callable[..., HttpOutcome]) -> None:
    asked = orjson.dumps({"x": "y" * 100})
    assert outcome(asked=asked, body=len(asked)).reason == "annotated"
    said = outcome(asked=asked, body=len(asked) - 1)
    assert (said.rewrite, said.reason, said.error) == (None, f"the request body is over {len(asked) - 1} bytes", None)


def test_large_feedback(outcome: Callable[..., HttpOutcome]) -> None:
    said = outcome(feedback=50)
    assert said.rewrite is None
    assert said.error is not None and said.error.endswith("bytes of feedback, the limit is 50")


def test_many_violations(outcome: Callable[..., HttpOutcome]) -> None:
    answered = orjson.dumps({"errors": [{"message": str(n)} for n in range(10_000)]})
    text = "suggest: [{action: MODIFY_PARAMS, message: m, ask: [{pointer: \"'/body/' + error.message\"}]}]\n"
    said = outcome(answered=answered, text=text, suggestions=3)
    assert said.rules == ("apex.x",) * 3
    assert len(said.feedback["suggestions"]) == 3


def test_many_look_ups(outcome: Callable[..., HttpOutcome]) -> None:
    names = [f"l{n}" for n in range(5)]
    lookups = "".join(f"  {name}: {{get: \"'/v1/{name}'\"}}\n" for name in names)
    assert outcome(text=f"lookup:\n{lookups}{TEXT}", lookups=5).reason == "annotated"
    said = outcome(text=f"lookup:\n{lookups}{TEXT}", lookups=4)
    assert (said.rewrite, said.error) == (None, "apex.x: look-up l4 gave nothing")
