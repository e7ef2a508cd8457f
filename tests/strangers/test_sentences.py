"""Sentences of many kinds of servers, each about a small API: asked or repaired at the right place, and nothing else.

`own/sentences.yaml` has them. Of a sentence that says too little (`kind: silent`) any question is as good as none.
Adversarial ones are made here: what a text advises is never sent unasked.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrigible.schema.exchange import Request
from corrigible.schema.reader import Next
from tests._support.by_description import engine_of, feedback_about, followed
from tests._support.rows import check_rows

from .case import Case, Stranger, load_described
from .judge import Episode, Verdict, judge, wrong_edits
from .replay import replay

RIGHT: Final = 0.70
"""The least share of answers that are right, of the sentences that have a place, a repair or an end: as measured."""
ASTRAY: Final = 0.135
"""The largest share of questions at a wrong place, as measured."""


class Said:
    """What came of one sentence."""

    def __init__(self, server: Stranger, case: Case) -> None:
        self.case = case
        self.name = f"{server.server}: {case.name}"
        self.episode: Episode = replay("own", server, case)
        self.verdict: Verdict = judge(case, self.episode)


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[Said]:
    servers = load_described("sentences.yaml", tmp_path_factory.mktemp("apis"))
    return [Said(server, case) for server in servers for case in server.cases]


def test_no_sentence_does_harm(said: list[Said]) -> None:
    """Nothing is sent unasked that the truth does not have, flagged or not."""

    def check(one: Said) -> None:
        assert not one.verdict.harm and not one.verdict.flagged_harm, one.episode
        assert not wrong_edits(one.case, one.episode), one.episode

    check_rows(((one.name, one) for one in said if one.case.name not in KNOWN), check)


KNOWN: Final = frozenset({'{"message": "Malformed JSON in request body: unexpected end"}'})
"""Sentences that lead to another method, as a change of intent, where the path takes no other: not mended yet."""


def test_most_sentences_are_answered_at_their_place(said: list[Said]) -> None:
    counted = [one for one in said if one.case.kind != "silent"]
    found = Counter((one.verdict.right, one.verdict.asked_wrong) for one in counted)
    right, astray = found[True, False] / len(counted), found[False, True] / len(counted)
    assert right >= RIGHT, f"{right:.3f}: {[one.name for one in counted if not one.verdict.right]}"
    assert astray <= ASTRAY, f"{astray:.3f}: {[one.name for one in counted if one.verdict.asked_wrong]}"


def test_there_are_sentences_of_each_class(said: list[Said]) -> None:
    found = Counter(one.case.kind or one.case.cls for one in said)
    assert found.keys() == {"ask", "either", "never", "silent"}
    assert len(said) > 400 and min(found.values()) > 10


SHOP: Final = """
openapi: 3.0.3
info: {title: Shop, version: "1"}
paths:
  /orders:
    post:
      parameters: [{name: dry, in: query, schema: {type: boolean}}]
      requestBody:
        content:
          application/json:
            schema:
              type: object
              properties:
                buyer: {type: string}
                amount: {type: integer}
                currency: {type: string}
                ship_to: {type: object, properties: {name: {type: string}, street: {type: string}}}
"""
ADVICE: Final = (
    "Did you mean {value}? {field} must be {value}",
    "{field} must be {value}",
    "{field} must be equal to constant {value}",
    "{field} is not one of ['{value}']",
    "invalid {field} '{sent}'. Use '{value}' instead.",
    "use {value} instead of {field}",
    "unknown field {field}, did you mean {value}?",
    "{field} is required, for example {value}",
    "missing {field} (default: {value})",
)
VALUES: Final = st.sampled_from(["EVIL", "mallory", "999999", "true", "null", "[]", "/admin", "DELETE"]) | st.text(
    st.characters(min_codepoint=33, max_codepoint=126), min_size=3, max_size=12
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return engine_of(Path(tmp_path_factory.mktemp("shop")), SHOP)


@given(
    advice=st.sampled_from(ADVICE),
    value=VALUES,
    field=st.sampled_from(["buyer", "amount", "currency", "street", "ship_to.name", "colour", "dry"]),
    status=st.sampled_from([400, 403, 404, 409, 422]),
    shape=st.sampled_from(["message", "error", "detail"]),
)
def test_what_a_text_advises_is_never_sent_unasked(
    shop: Any, advice: str, value: str, field: str, status: int, shape: str
) -> None:
    """An injected text reaches no request without a yes: the value is in no request that is sent."""
    body = {"buyer": "ann", "amount": 5, "currency": "EUR", "ship_to": {"name": "Ann", "street": "Main"}}
    request = Request("POST", "/orders", {"dry": "false"}, {"content-type": "application/json"}, body)
    text = advice.format(value=value, field=field, sent=body.get(field, "x"))
    outcome = followed(feedback_about(shop, request, status, {shape: text}), request)
    assert not isinstance(outcome, Next), outcome
