"""The scripted agents as a set: how they are found, what the reader decides for them, and what none ever does."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from corrigible.conformance.lift.agents import registry
from corrigible.conformance.lift.agents.protocol import Agent, Briefing, Response, Send, Stop
from corrigible.conformance.lift.agents.registry import AGENTS, SCRIPTED, named
from corrigible.conformance.lift.agents.scripted.reading import is_escalated
from corrigible.conformance.model.outcome import UsageError
from corrigible.conformance.model.vector import consumer, request_of
from corrigible.schema import NeedsInput, Next, ReaderError, Request, Terminal, apply, find
from corrigible.schema.document import CREDENTIALS, header_problem, is_method, is_path
from corrigible.schema.exchange import Json
from tests._support.repaired import agrees
from tests._support.rows import rows

from .talk import ISSUES, ORDER, ORDERED, QUICHE, REFUND, REPLACE, moves, seen


@rows("group", consumer(), ids=lambda group: group.name)
def test_the_patch_executor_does_what_the_reader_does(group: Any) -> None:
    """On all vectors for readers, as asked by default, for a user who agrees to what changes the wish."""
    for vector in group.vectors:
        if set(vector.given) - {"request", "feedback", "answer"}:
            continue
        request = request_of(vector.given["request"])
        answer = vector.given.get("answer", {"recovery_feedback": vector.given.get("feedback")})
        found = find(answer)
        move = moves(SCRIPTED["patch-executor"], Briefing("", "", request), [Response(400, answer)])[1]
        try:
            outcome = None if found is None else apply(found, request, confirm=agrees)
        except ReaderError:
            outcome = None
        match outcome, move:
            case Next(), Send():
                wanted, got = outcome.request.document(), move.request.document()
                if outcome.new_idempotency_key:
                    wanted["headers"] = {n: v for n, v in wanted["headers"].items() if n.lower() != "idempotency-key"}
                    got["headers"] = {n: v for n, v in got["headers"].items() if n.lower() != "idempotency-key"}
                assert wanted == got, vector.id
                assert (outcome.steps, outcome.wait_seconds, outcome.applied) == (move.steps, move.wait, move.applied)
            case Terminal(action=action), Stop():
                broken = is_escalated(found)
                ending = "stopped by loop breaker" if broken else "done" if action == "ALREADY_DONE" else "impossible"
                assert move.ending == ending, vector.id
            case None, Stop():
                assert move.ending == "gave up", vector.id
            case NeedsInput(), Stop():
                assert move.ending == "needs input", vector.id
            case _:
                pytest.fail(f"{vector.id}: {outcome} and {move}")


MAY_STEP_ASIDE = {"patch-executor", "informed", "gullible"}


def strange_answers(seed: int) -> Iterator[Response]:
    """Yield answers of every kind, some of them hostile, without end."""
    rng = Random(seed)
    vectors = [v for group in consumer() for v in group.vectors if "feedback" in v.given]
    bodies: list[Json] = [
        None,
        "plain text",
        [1, {"message": "GET /x"}],
        {"errors": [{"field": "body.a[0].b", "message": "must be at most 3, was '5'"}], "message": 7},
        {"error": {"param": "amount", "message": ORDERED}},
        {"detail": [{"loc": ["body", "amount"], "msg": "must be between 1 and 3"}]},
        {"message": "'charge' is not allowed; did you mean \"card\"?"},
        {"message": 'unknown field "size"', "recovery_feedback": {"suggestions": [{}]}},
    ]
    while True:
        vector = rng.choice(vectors)
        body = rng.choice(bodies)
        if rng.random() < 0.7:
            body = {**(body if isinstance(body, dict) else {}), "recovery_feedback": vector.given["feedback"]}
        yield Response(rng.choice((400, 404, 422, 429, 500)), body)


@rows("agent", AGENTS, ids=lambda agent: agent.name)
def test_no_agent_sends_what_its_kind_does_not_allow(agent: Agent) -> None:
    firsts = [REFUND, QUICHE, ISSUES, ORDER, Request("/shop.Shop/Order", "", body={"size": "hug"})]
    firsts = [replace(one, headers={**one.headers, "Authorization": "Bearer secret"}) for one in firsts]
    for seed in range(60):
        first = firsts[seed % len(firsts)]
        before = json.dumps(first.document())
        answers = strange_answers(seed)
        playing = agent.play(Briefing("", "Do it.", first, {"size": "huge", "name": "x"}), seed)
        move = next(playing)
        for _ in range(6):
            if isinstance(move, Stop):
                break
            assert agent.name in MAY_STEP_ASIDE or not move.steps
            assert move.wait >= 0
            for request in (*move.steps, move.request):
                assert is_path(request.path) and is_method(request.method)
                mine = {name: value for name, value in request.headers.items() if name.lower() not in CREDENTIALS}
                assert header_problem(mine) is None
                secret = {name: value for name, value in request.headers.items() if name.lower() in CREDENTIALS}
                assert set(secret.values()) <= {"Bearer secret"}
                json.dumps(request.document())
            if agent.name not in MAY_STEP_ASIDE:
                assert (move.request.method, move.request.path) == (first.method, first.path)
                assert move.request.headers == first.headers
            move = playing.send(next(answers))
        playing.close()
        assert json.dumps(first.document()) == before


@rows("agent", AGENTS, ids=lambda agent: agent.name)
def test_an_agent_ends_after_success_and_plays_the_same_twice(agent: Agent) -> None:
    for seed in range(5):
        briefing = Briefing("", "Do it.", QUICHE)
        answers = [seen(REPLACE), seen(error="no"), Response(200, {}, succeeded=True)]
        assert moves(agent, briefing, answers, seed) == moves(agent, briefing, answers, seed)
        assert moves(agent, briefing, [Response(200, {}, succeeded=True)], seed)[1] == Stop("done")


def test_agents_are_found_by_name() -> None:
    assert [agent.name for agent in AGENTS] == list(SCRIPTED) and len(SCRIPTED) == 5
    assert named("stubborn") is SCRIPTED["stubborn"]
    for wrong in ("stubbron", ""):
        with pytest.raises(UsageError):
            named(wrong)
    with pytest.raises(UsageError, match='did you mean "stubborn"'):
        named("stubbron")
    assert all(agent.kind == "scripted" and "version" in agent.identity for agent in AGENTS)


def test_no_agent_can_know_its_arm() -> None:
    allowed = (
        *("corrigible.schema.", "corrigible.conformance.model."),
        "corrigible.conformance.lift.agents.",
    )
    imported = {
        node.module or ""
        for path in (Path(registry.__file__).parent / "scripted").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom)
    }
    ours = {module for module in imported if module.startswith("corrigible.")}
    assert "corrigible.schema.reader" in ours
    assert {module for module in ours if not module.startswith(allowed)} == set()
