"""Merges `parameters` into the request, as a retry loop does that knows nothing but the paper's contract."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Literal

from corrigible.conformance.lift.agents.protocol import Briefing, Move, Send, Stop
from corrigible.conformance.lift.agents.scripted.reading.path import parameter_location
from corrigible.conformance.lift.environment.response import Response
from corrigible.schema.edit import merge
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import parse
from corrigible.schema.word import Recovery

from .feedback_loop import run_feedback_loop


class LiteralMerge:
    """RFC 7396, first suggestion, body or query: what the wire format alone can do. Lists are replaced as a whole."""

    name = "literal-merge"
    kind: Literal["scripted"] = "scripted"
    identity: Mapping[str, Json] = {"version": 1}

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
        return run_feedback_loop(briefing, _merge)


def _merge(feedback: Mapping[str, Json], request: Request, refusals: int) -> Move:
    parsed = parse(feedback)
    if not parsed.suggestions:
        return Stop("needs input", "the feedback suggests nothing")
    first = parsed.suggestions[0]
    if first.terminal or parsed.recovery is Recovery.TERMINAL:
        return Stop("done" if first.action == "ALREADY_DONE" else "impossible", first.action)
    wait = parsed.retry.after_seconds or 0 if parsed.retry else 0
    place = parameter_location(request)
    into = request.query if place == "query" else request.body
    if first.waits or not first.parameters:
        return Send(request, wait=wait, applied=(0,))
    if into is not None and not isinstance(into, Mapping):
        return Stop("needs input", "the body is no object")
    merged: Json = merge(into, first.parameters)
    changed = replace(request, query=merged) if place == "query" else replace(request, body=merged)
    return Send(changed, wait=wait, applied=(0,))
