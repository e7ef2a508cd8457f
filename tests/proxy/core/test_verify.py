"""A suggestion after which a request breaks its description is not sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from corrigible.proxy.core.decision import Annotate
from tests._support.widgets import REQUEST, Api, decide, described, small_enough

WritePack = Callable[..., Path]


def test_what_the_description_refutes_is_not_sent(write_pack: WritePack) -> None:
    wrong = "suggest: [{action: MODIFY_PARAMS, message: m, parameters: {colour: \"'green'\"}}]\n"
    decision = decide(described(write_pack(x=wrong)), Api(small_enough))
    # The rule is refuted, so the description itself speaks about what it sees.
    assert isinstance(decision, Annotate)
    assert decision.rules == ("the description",)
    assert decision.feedback["suggestions"][0]["parameters"] == {"size": 10}


def test_what_belongs_together_goes_with_the_part_that_is_refuted(write_pack: WritePack) -> None:
    both = [
        {"action": "MODIFY_PARAMS", "message": "m", "parameters": one} for one in ({"size": 9}, {"colour": "'green'"})
    ]
    decision = decide(
        described(write_pack(x=f"suggest: [{{all: {orjson.dumps(both).decode()}}}]\n")), Api(small_enough)
    )
    assert isinstance(decision, Annotate)
    assert decision.rules == ("the description",)


@pytest.mark.parametrize(("path", "sent"), [("/widget", True), ("/widgets", False)])
def test_what_is_missing_besides_does_not_refute_a_path(write_pack: WritePack, path: str, sent: bool) -> None:
    rule = (
        "suggest: [{action: USE_ALTERNATIVE_ENDPOINT, message: m, patch: "
        "[{op: replace, path: /path, value: \"'/widgets'\"}, {op: remove, path: /body/size}]}]\n"
    )
    request = replace(REQUEST, path=path, body={"size": 5})
    decision = decide(described(write_pack(x=rule)), Api(small_enough), request)
    assert isinstance(decision, Annotate) is sent
