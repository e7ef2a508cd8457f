"""A made-up shop with one refusal to get past, and the means to play an episode in it with a model."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from corrigible.conformance.lift.agents.model import ModelAgent, build
from corrigible.conformance.lift.agents.protocol import Agent, Briefing, Move, Response, Stop
from corrigible.conformance.lift.plan import AgentPlan
from corrigible.model.provider_client import PROVIDERS
from corrigible.schema.exchange import Json, Request

from .fake_provider import FakeProvider, Mind
from .wire_formats import Speaks

WIRES = tuple(PROVIDERS)
KEY = "sk-secret-0123456789"
FIRST = Request("POST", "/v1/refunds", headers={"x-shop": "9"}, body={"amount": 500, "charge": "ch_1"})
BRIEFING = Briefing(
    about="A shop's API, under /v1.",
    prompt="Give back what is left of ch_1.",
    request=FIRST,
    facts={"charge": "a fact that scripts may read"},
)
FEEDBACK: dict[str, Json] = {
    "schema": "self-reflective-api/0.1",
    "type": "recovery_guidance",
    "message": "The refund is larger than what is left on the charge.",
    "suggestions": [{"action": "MODIFY_PARAMS", "message": "Refund what is left.", "parameters": {"amount": 300}}],
}


def api(request: Request) -> Response:
    """An API that wants 300, says so, and has something to read."""
    if request.method == "GET":
        return Response(200, {"amount_left": 300}, succeeded=True)
    if request.body == {"amount": 300, "charge": "ch_1"}:
        return Response(200, {"id": "re_1"}, succeeded=True)
    return Response(400, {"error": {"message": "too much"}, "recovery_feedback": FEEDBACK}, {"warning": "299"})


def agent(
    fake: FakeProvider, *, strategy: str = "none", waits: list[float] | None = None, **settings: Json
) -> ModelAgent:
    """Return an agent that asks a fake; what it would sleep goes into `waits`."""
    plan = AgentPlan(
        name=fake.wire, model="some-model", strategy=strategy, settings={"base_url": fake.base_url, **settings}
    )
    slept = waits if waits is not None else []
    return replace(build(plan, environ={}), sleep=slept.append)


def played(
    who: Agent, briefing: Briefing = BRIEFING, seed: int = 1, at: Callable[[Request], Response] = api
) -> list[Move]:
    """Play one episode as the run does, and return the moves."""
    moves: list[Move] = []
    state = who.play(briefing, seed)
    move = next(state)
    used = 0
    while True:
        moves.append(move)
        if isinstance(move, Stop):
            return moves
        seen = at(move.request)
        used += move.lost + (move.ends_episode or move.request.method != "GET" or not seen.succeeded)
        if (seen.succeeded and move.ends_episode) or used >= briefing.attempts:
            state.close()
            return moves
        move = state.send(seen)


def saying(*said: Speaks) -> Mind:
    """Return a mind that says one thing after another, and the last one for ever."""
    left = list(said)
    return lambda heard: left.pop(0) if len(left) > 1 else left[0]


def call(**members: Json) -> Speaks:
    return Speaks("", (("call_api", json.dumps({**FIRST.document(), **members})),))


def told(fake: FakeProvider) -> str:
    """Return all that a provider was sent."""
    return json.dumps([one.document for one in fake.asked])
