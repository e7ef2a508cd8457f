"""Episodes against made-up servers: what ends one, what is an error, and what an agent is told and shown."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, Literal

import pytest

from corrigible.conformance.lift.agents.protocol import Briefing, Move, Response, Send, Stop
from corrigible.conformance.lift.agents.scripted.follower import PATCH_EXECUTOR
from corrigible.conformance.lift.arms import Arm
from corrigible.conformance.lift.environment import Environment, RunningEnvironment, Unreachable
from corrigible.conformance.lift.episode import Job, play
from corrigible.conformance.lift.log import Episode, Reflection
from corrigible.conformance.lift.task import TaskFile
from corrigible.conformance.transport.process import ServerProcess
from corrigible.model.conversation import Usage
from corrigible.schema.exchange import Json, Request

WORLD = Environment(why="w", upstream="u", proxy="p", callers={"owner": {"authorization": "Bearer key-12345678"}})
FILE: dict[str, Any] = {
    "domain": "till",
    "about": "A till. Yours is {tenant}.",
    "tasks": [
        {
            "id": "pay",
            "origin": "here",
            "prompt": "Pay five into {tenant}.",
            "facts": {"amount": "five"},
            "needs": "nothing",
            "setup": [{"request": {"method": "POST", "path": "/tills", "body": {}}, "save": {"till": "/id"}}],
            "request": {"method": "POST", "path": "/pay", "body": {"till": "{till}", "amount": 7}},
            "success": [{"read": {"method": "GET", "path": "/tills/{till}"}, "has": {"paid": 5}}],
        }
    ],
}


class Till:
    """A server that takes no payment but of five, and says so in feedback. Its own client."""

    def __init__(self, feedback: Mapping[str, Any] | None = None) -> None:
        self.paid = 0
        self.calls: list[tuple[Request, Mapping[str, str]]] = []
        self.feedback = feedback

    def close(self) -> None: ...

    def send(self, request: Request, headers: Mapping[str, str], *, timeout: float = 30.0) -> Response:
        self.calls.append((request, headers))
        match request.method, request.path:
            case "POST", "/tills":
                return Response(201, {"id": "till_1"}, succeeded=True)
            case "GET", "/tills/till_1":
                return Response(200, {"paid": self.paid}, succeeded=True)
            case "POST", "/pay" if request.body["amount"] == 5:
                self.paid += 5
                return Response(200, {"paid": 5}, succeeded=True)
            case "POST", "/pay":
                return Response(400, self.said(request), {"retry-after": "1", "x-secret": "s"})
            case _:
                raise Unreachable(f"{request.method} {request.path}: connection refused")

    def said(self, request: Request) -> Json:
        if self.feedback is not None:
            return {"recovery_feedback": self.feedback}
        edit = {"op": "replace", "path": "/body/amount", "value": 5}
        suggestion = {"action": "MODIFY_PARAMS", "parameters": {"amount": 5}, "patch": [edit]}
        return {"recovery_feedback": {"type": "recovery_guidance", "message": "five", "suggestions": [suggestion]}}


class Script:
    """An agent that is a function."""

    name = "script"
    kind: Literal["scripted"] = "scripted"
    identity: Mapping[str, Json] = {}

    def __init__(self, moves: Callable[[Briefing], Generator[Move, Response, None]]) -> None:
        self.moves = moves

    def play(self, briefing: Briefing, seed: int) -> Generator[Move, Response, None]:
        return self.moves(briefing)


def played(agent: Any, till: Till | None = None, file: Mapping[str, Any] = FILE, **more: Any) -> Episode:
    server = till or Till()
    nothing = ServerProcess([], address="127.0.0.1:1")
    running = RunningEnvironment(WORLD, server, server, nothing, nothing, "127.0.0.1:1")
    tasks = TaskFile.model_validate(file)
    job = Job("0123456789abcdef", "till", tasks, tasks.tasks[0], more.pop("arm", Arm.PATCHES), agent, 0, **more)
    return play(job, running)


def test_feedback_that_is_followed_leads_to_success() -> None:
    found = played(PATCH_EXECUTOR)
    assert (found.outcome, found.attempts, found.why, found.harm) == ("success", 2, "", ())
    first, second = found.turns
    assert (first.offered, first.accepted, first.followed) == (1, False, False)
    assert (second.applied, second.accepted, second.followed, second.shown) == ((0,), True, True, None)
    assert found.spent is None


def test_the_proxy_is_asked_for_the_arm_and_told_the_episode_and_set_ups_are_not() -> None:
    till = Till()
    played(PATCH_EXECUTOR, till, arm=Arm.NOISE)
    prefers = [headers.get("prefer") for request, headers in till.calls if request.path == "/pay"]
    assert set(prefers) == {"recovery-feedback=reflective; caller=0123456789abcdef"}
    assert all("prefer" not in headers for request, headers in till.calls if request.path != "/pay")
    assert all(headers["authorization"] == "Bearer key-12345678" for _, headers in till.calls)


def test_an_agent_is_told_what_it_needs_and_never_the_arm() -> None:
    told: list[Briefing] = []

    def moves(briefing: Briefing) -> Generator[Move, Response, None]:
        told.append(briefing)
        yield Stop("gave up")

    played(Script(moves), arm=Arm.SHUFFLED)
    (briefing,) = told
    assert briefing.prompt == "Pay five into e01234567." and briefing.about == "A till. Yours is e01234567."
    assert briefing.request.body == {"till": "till_1", "amount": 7} and briefing.facts == {"amount": "five"}
    assert "shuffled" not in repr(briefing)


def test_only_headers_that_a_client_acts_on_are_seen() -> None:
    seen: list[Response] = []

    def moves(briefing: Briefing) -> Generator[Move, Response, None]:
        seen.append((yield Send(briefing.request)))
        yield Stop("gave up")

    played(Script(moves))
    assert seen[0].headers == {"retry-after": "1"}


def stubborn(briefing: Briefing) -> Generator[Move, Response, None]:
    while True:
        yield Send(briefing.request, wait=100.0)


def test_attempts_end_and_nobody_waits_for_scripts() -> None:
    found = played(Script(stubborn), attempts=3)
    assert (found.outcome, found.attempts, len(found.turns), found.ending) == ("failure", 3, 3, "")
    assert found.why == "GET /tills/till_1: /paid is 0, not 5" and found.seconds < 100


def test_the_agents_word_is_not_taken_for_the_end_state() -> None:
    def boastful(briefing: Briefing) -> Generator[Move, Response, None]:
        yield Send(briefing.request)
        yield Stop("done", "all paid")

    found = played(Script(boastful))
    assert found.outcome == "failure" and found.ending == "done: all paid"


def test_look_ups_are_no_attempts_and_do_not_end_an_episode() -> None:
    def careful(briefing: Briefing) -> Generator[Move, Response, None]:
        yield Send(Request("GET", "/tills/till_1"), ends_episode=False)
        yield from PATCH_EXECUTOR.play(briefing, 0)

    found = played(Script(careful))
    assert (found.outcome, found.attempts) == ("success", 2)
    assert [turn.step for turn in found.turns] == [True, False, False]


def test_endless_look_ups_end() -> None:
    def curious(briefing: Briefing) -> Generator[Move, Response, None]:
        while True:
            yield Send(Request("GET", "/tills/till_1"), ends_episode=False)

    assert played(Script(curious)).outcome == "failure"


def test_attempts_that_came_to_no_call_count() -> None:
    def muddled(briefing: Briefing) -> Generator[Move, Response, None]:
        yield Send(briefing.request, lost=2, reflections=(Reflection(form="free", text="hm"),))
        yield Stop("gave up", lost=1, reflections=(Reflection(form="free", text="no"),))

    found = played(Script(muddled))
    assert found.attempts == 4 and found.turns[0].lost == 2
    assert [one.text for one in (*found.turns[0].reflections, *found.closing)] == ["hm", "no"]


def test_what_was_billed_adds_up_by_turn() -> None:
    def billed(briefing: Briefing) -> Generator[Move, Response, None]:
        yield Send(briefing.request, usage=Usage(10, 5, 2, 1))
        yield Stop("gave up", usage=Usage(20, 1, 0, 2))

    spent = played(Script(billed)).spent
    assert spent is not None
    assert (spent.input, spent.output, spent.cached, spent.calls, spent.by_turn) == (30, 6, 2, 3, (15,))


def crashing(briefing: Briefing) -> Generator[Move, Response, None]:
    yield Send(briefing.request)
    raise KeyError("no such thing")


def calling_nobody(briefing: Briefing) -> Generator[Move, Response, None]:
    yield Send(Request("DELETE", "/nowhere"))


@pytest.mark.parametrize(
    ("moves", "more", "why"),
    [
        (crashing, {}, "KeyError: 'no such thing'"),
        (calling_nobody, {}, "DELETE /nowhere: connection refused"),
        (stubborn, {"timeout": -1.0}, "time is out"),
    ],
)
def test_a_crash_is_an_error_and_no_failure(moves: Any, more: dict[str, Any], why: str) -> None:
    found = played(Script(moves), **more)
    assert found.outcome == "error" and found.why.startswith(why)


def changed(**more: Any) -> dict[str, Any]:
    return {**FILE, "tasks": [{**FILE["tasks"][0], **more}]}


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"setup": [{"request": {"method": "POST", "path": "/pay", "body": {"amount": 1}}}]}, "set-up: POST /pay: 400"),
        (
            {"setup": [{"request": {"method": "POST", "path": "/tills"}, "save": {"till": "/name"}}]},
            "set-up: POST /tills: no /name",
        ),
        (
            {
                "needs": "impossible",
                "proof": "nobody pays back",
                "success": [{"read": {"method": "GET", "path": "/tills/till_1"}, "has": {"paid": 0}}],
            },
            "the task is wrong: what must not come about holds before the first call",
        ),
    ],
)
def test_a_broken_task_is_an_error(more: dict[str, Any], why: str) -> None:
    found = played(PATCH_EXECUTOR, file=changed(**more))
    assert found.outcome == "error" and found.why.startswith(why)


def test_answers_that_a_loop_breaker_changed_are_counted() -> None:
    loop = {"fingerprint": "f", "attempt": 4, "action": "escalate"}
    end = {"type": "recovery_guidance", "message": "stop", "recovery": "terminal", "loop": loop}
    till = Till({**end, "suggestions": [{"action": "ESCALATE", "parameters": {}}]})
    found = played(PATCH_EXECUTOR, till)
    assert found.loops == 1 and found.outcome == "failure" and found.ending.startswith("stopped by loop breaker")
