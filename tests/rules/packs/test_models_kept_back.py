"""The pack `models` answers refusals that it was not written by, and those of real servers, and does no harm."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.limits import Limits
from corrigible.proxy.runtime.lookup_runner import NO_ANSWER
from corrigible.schema.exchange import Exchange, Request
from corrigible.schema.reader import Next, apply

ENGINE = build_engine(["models"], None, Limits(seconds=math.inf))


def feedback_to(case: Mapping[str, Any]) -> Mapping[str, Any] | None:
    sent, answer = case["request"], case["response"]
    request = Request("POST", sent["path"], body=sent["body"])
    body = json.dumps(answer["body"]).encode()
    steps = ENGINE.decide(Exchange(request, answer["status"], {"content-type": "application/json"}, body, "", 0.0))
    try:
        next(steps)
        while True:
            steps.send(NO_ANSWER)
    except StopIteration as end:
        return end.value.feedback if isinstance(end.value, Annotate) else None


def outcome(case: Mapping[str, Any]) -> str:
    """Return `right`, `wrong`, or `harm`: an edit that nobody is asked about, and that is not the truth."""
    right, feedback = case["right"], feedback_to(case)
    if feedback is None:
        return "right" if right.get("none") else "wrong"
    suggestions = feedback["suggestions"]
    first = suggestions[0]
    if first["action"] == "WAIT_AND_RETRY":
        return "right" if right.get("wait") else "wrong"
    if first["action"] in ("ESCALATE", "NO_RECOVERY_AVAILABLE"):
        return "right" if first["parameters"]["actor"] in right.get("final", ()) else "wrong"
    request = Request("POST", case["request"]["path"], body=case["request"]["body"])
    followed = apply(feedback, request)
    if isinstance(followed, Next):
        return "right" if followed.request is not None and followed.request.body == right.get("send") else "harm"
    places = [op["path"] for one in suggestions for op in one.get("patch", ()) if op["op"] != "test"]
    places += [hole["pointer"] for one in suggestions for hole in one.get("placeholders", ())]
    return "right" if any(place.startswith(one) for place in places for one in right.get("ask", ())) else "wrong"


@pytest.mark.parametrize(("file", "share"), [("kept_back_models.yaml", 0.15), ("served_models.yaml", 0.01)])
def test_most_are_answered_right_and_none_does_harm(file: str, share: float) -> None:
    cases = yaml.load(Path(__file__).with_name(file).read_text("utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    found = {f"{number} {case['source']}": outcome(case) for number, case in enumerate(cases)}
    wrong = {name: one for name, one in found.items() if one != "right"}
    assert "harm" not in wrong.values(), wrong
    assert len(wrong) <= share * len(cases), wrong
