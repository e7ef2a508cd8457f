"""Models in the retry loop, asked over real wire formats: what they are told, what counts, what is billed."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from corrigible.conformance.cli import parser
from corrigible.conformance.lift.agent.catalogue import agents
from corrigible.conformance.lift.agent.model import anthropic, openai_responses, option, provider
from corrigible.conformance.lift.agent.model.conversation import Question, Said, Sampling, Spoke, Told
from corrigible.conformance.lift.agent.model.loop import ModelAgent, Unanswered
from corrigible.conformance.lift.agent.model.provider import PROVIDERS, build, named
from corrigible.conformance.lift.agent.model.rate import Rate
from corrigible.conformance.lift.agent.move import Agent, Briefing, Move, Seen, Send, Stop
from corrigible.conformance.lift.plan import AgentPlan, made
from corrigible.conformance.misuse import Misused
from corrigible.schema.exchange import Json, Request

from .fake_provider import FakeProvider, Heard, Mind, Speaks, Trouble, calls, error, follower, stubborn

WIRES = tuple(PROVIDERS)
SAMPLING = Sampling("m", 100)
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


def api(request: Request) -> Seen:
    """An API that wants 300, says so, and has something to read."""
    if request.method == "GET":
        return Seen(200, {"amount_left": 300}, succeeded=True)
    if request.body == {"amount": 300, "charge": "ch_1"}:
        return Seen(200, {"id": "re_1"}, succeeded=True)
    return Seen(400, {"error": {"message": "too much"}, "recovery_feedback": FEEDBACK}, {"warning": "299"})


def agent(
    fake: FakeProvider, *, strategy: str = "none", waits: list[float] | None = None, **settings: Json
) -> ModelAgent:
    """Return an agent that asks a fake; what it would sleep goes into `waits`."""
    plan = AgentPlan(
        name=fake.wire, model="some-model", strategy=strategy, settings={"base_url": fake.base_url, **settings}
    )
    slept = waits if waits is not None else []
    return replace(build(plan, environ={}), sleep=slept.append)


def played(who: Agent, briefing: Briefing = BRIEFING, seed: int = 1, at: Callable[[Request], Seen] = api) -> list[Move]:
    """Play one episode as the run does, and return the moves."""
    moves: list[Move] = []
    course = who.play(briefing, seed)
    move = next(course)
    used = 0
    while True:
        moves.append(move)
        if isinstance(move, Stop):
            return moves
        seen = at(move.request)
        used += move.lost + (move.settles or move.request.method != "GET" or not seen.succeeded)
        if (seen.succeeded and move.settles) or used >= briefing.attempts:
            course.close()
            return moves
        move = course.send(seen)


def saying(*said: Speaks) -> Mind:
    """Return a mind that says one thing after another, and the last one for ever."""
    left = list(said)
    return lambda heard: left.pop(0) if len(left) > 1 else left[0]


def call(**members: Json) -> Speaks:
    return Speaks("", (("call_api", json.dumps({**FIRST.document(), **members})),))


def told(fake: FakeProvider) -> str:
    """Return all that a provider was sent."""
    return json.dumps([one.document for one in fake.asked])


@pytest.mark.parametrize("mode", ["tools", "json"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_model_that_follows_feedback_recovers_in_one_call_and_its_tokens_are_as_billed(wire: str, mode: str) -> None:
    with FakeProvider(wire, follower) as fake:
        moves = played(agent(fake, mode=mode))
    assert fake.problems == []
    first, second = moves
    assert isinstance(first, Send) and first.request == FIRST and first.usage is None
    assert isinstance(second, Send) and second.request.body == {"amount": 300, "charge": "ch_1"}
    assert second.usage is not None and second.usage.calls == len(fake.asked) == 1
    cached = {"anthropic": 7, "openai": 3, "compatible": 3, "openai-responses": 5}[wire]
    size = len(json.dumps(fake.asked[0].document))
    assert second.usage.cached == cached and second.usage.output > 1
    assert second.usage.input == size // 4 + (cached if wire == "anthropic" else 0)


@pytest.mark.parametrize("wire", WIRES)
def test_a_conversation_is_kept_whole_over_five_attempts(wire: str) -> None:
    with FakeProvider(wire, stubborn) as fake:
        moves = played(agent(fake))
    assert fake.problems == []
    assert [isinstance(move, Send) for move in moves] == [True] * 5
    assert len(fake.asked) == 4, "the first call is given"
    assert told(fake).count("too much") == 1 + 2 + 3 + 4


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("strategy", ["free", "structured", "adaptive"])
def test_reflections_go_over_every_wire_and_into_the_moves(wire: str, strategy: str) -> None:
    with FakeProvider(wire, stubborn) as fake:
        moves = played(agent(fake, strategy=strategy))
    assert fake.problems == []
    sends = [move for move in moves if isinstance(move, Send)]
    assert not sends[0].reflections
    forms = [[one.form for one in send.reflections] for send in sends[1:]]
    assert (
        forms
        == {
            "free": [["free"]] * 4,
            "structured": [["structured"]] * 4,
            "adaptive": [["structured"], *[["structured", "free"]] * 3],
        }[strategy]
    )
    for send in sends[1:]:
        assert send.usage is not None and send.usage.calls == 1 + len(send.reflections)
        spent = sum(one.tokens for one in send.reflections)
        assert 0 < spent < send.usage.input + send.usage.output


def test_a_reflection_that_no_call_came_after_is_kept_as_well() -> None:
    silent = Seen(400, {"error": {"message": "too much"}})
    with FakeProvider("openai", follower) as fake:
        stop = played(agent(fake, strategy="structured"), at=lambda request: silent)[-1]
    assert isinstance(stop, Stop) and [one.category for one in stop.reflections] == ["FORMAT_MISMATCH"]
    assert stop.usage is not None and stop.usage.calls == 2


# What a provider may do


def test_a_busy_provider_is_asked_again_after_the_time_it_names_and_every_request_counts() -> None:
    waits: list[float] = []
    busy = [
        error("anthropic", 429, "rate_limit_error", "slow down", {"retry-after": "7"}),
        error("anthropic", 529, "overloaded_error", "Overloaded"),
        error("anthropic", 503, "api_error", "gone for a moment"),
    ]
    with FakeProvider("anthropic", follower, busy) as fake:
        moves = played(agent(fake, waits=waits))
    assert isinstance(moves[1], Send) and moves[1].usage is not None and moves[1].usage.calls == 4
    assert 7 <= waits[0] <= 7.7 and 0.5 <= waits[1] <= 1.0 and 1.0 <= waits[2] <= 2.0


def test_the_same_seed_waits_the_same_and_another_one_does_not() -> None:
    def waited(seed: int) -> list[float]:
        waits: list[float] = []
        with FakeProvider("openai", follower, [error("openai", 500, "server_error", "oops")] * 3) as fake:
            played(agent(fake, waits=waits), seed=seed)
        return waits

    assert waited(1) == waited(1) != waited(2)


def test_openai_names_milliseconds_beside_seconds() -> None:
    waits: list[float] = []
    busy = error("openai", 429, "rate_limit_exceeded", "slow", {"retry-after": "1", "retry-after-ms": "250"})
    with FakeProvider("openai", follower, [busy]) as fake:
        played(agent(fake, waits=waits))
    assert 0.25 <= waits[0] <= 0.275


def test_a_slow_answer_is_asked_for_again() -> None:
    with FakeProvider("openai", follower, [Trouble(delay=0.4)]) as fake:
        moves = played(agent(fake, timeout=0.1))
    assert isinstance(moves[1], Send) and moves[1].usage is not None and moves[1].usage.calls == 2


def test_an_answer_that_takes_its_time_is_waited_for() -> None:
    with FakeProvider("openai", follower, [Trouble(delay=0.05, goes_on=True)]) as fake:
        moves = played(agent(fake))
    assert isinstance(moves[1], Send) and moves[1].usage is not None and moves[1].usage.calls == 1


def test_repetition_is_bounded_and_then_the_episode_is_an_error_that_names_what_was_billed() -> None:
    with FakeProvider("anthropic", stubborn, [None] + [error("anthropic", 529, "overloaded_error", "no")] * 9) as fake:
        course = agent(fake, strategy="free", retries=2).play(BRIEFING, 1)
        next(course)
        with pytest.raises(Unanswered, match=r"529 .*asked 3 times") as caught:
            course.send(api(FIRST))
    assert len(fake.asked) == 4
    assert caught.value.usage is not None and caught.value.usage.calls == 4 and caught.value.usage.output > 0


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (error("openai", 401, "invalid_api_key", f"Incorrect API key provided: {KEY}"), "401"),
        (error("openai", 401, "invalid_api_key", "Incorrect API key provided: sk-secr********6789."), "401"),
        (error("openai", 429, "insufficient_quota", "pay first"), "pay first"),
        (error("openai", 429, "rate_limit_exceeded", "later", {"retry-after": "3600"}), "asks to wait 3600 s"),
        (error("openai", 500, "server_error", "never", {"x-should-retry": "false"}), "never"),
        (error("openai", 404, "model_not_found", "no such model"), "no such model"),
        (Trouble(body=b'{"object": "chat.completion"}'), "no answer of openai-chat-completions"),
    ],
)
def test_what_no_repetition_helps_ends_the_episode_at_once_without_the_key(trouble: Trouble, said: str) -> None:
    with FakeProvider("openai", follower, [trouble]) as fake:
        plan = AgentPlan(name="openai", model="m", settings={"base_url": fake.base_url, "key_env": "MINE"})
        who = build(plan, environ={"MINE": KEY})
        course = who.play(BRIEFING, 1)
        next(course)
        with pytest.raises(Unanswered) as caught:
            course.send(api(FIRST))
    assert said in str(caught.value) and "sk-" not in str(caught.value)
    assert len(fake.asked) == 1
    assert fake.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in f"{who!r}{who.name}{json.dumps(dict(who.identity))}"


def test_a_server_that_bills_nothing_leaves_no_number() -> None:
    body = json.dumps({"choices": [{"message": {"content": "", "tool_calls": []}, "finish_reason": "stop"}]}).encode()
    with FakeProvider("compatible", follower, [Trouble(body=body)]) as fake:
        moves = played(agent(fake))
    assert isinstance(moves[1], Send) and moves[1].usage is None and moves[1].lost == 1


# What a model may write


MALFORMED = Speaks("", (("call_api", '{"method": "POST", "path": '),))
UNREADABLE: Mapping[str, tuple[Speaks, str]] = {
    "arguments that are no JSON": (MALFORMED, "no JSON object"),
    "words instead of a call": (Speaks("I think it is done."), "use call_api or finish"),
    "a tool that is not there": (Speaks("", (("shell", "{}"),)), "there is no tool shell"),
    "a body that is text": (call(body="amount is 300"), "never a string"),
    "a path to somewhere else": (call(path="//elsewhere.example/x"), "no path"),
    "a wait into the past": (Speaks("", (("call_api", '{"method": "GET", "path": "/", "wait_seconds": -1}'),)), "wait"),
    "a method of several words": (call(method="POST it"), "no method"),
    "an answer cut off that looks whole": (replace(call(), stop="length"), "cut off"),
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("case", UNREADABLE)
def test_what_cannot_be_read_is_told_once_and_counts_as_an_attempt(wire: str, case: str) -> None:
    wrong, said = UNREADABLE[case]
    with FakeProvider(wire, saying(wrong, call(body={"amount": 300, "charge": "ch_1"}))) as fake:
        moves = played(agent(fake))
    assert fake.problems == []
    assert said in json.dumps(fake.asked[-1].document)
    assert isinstance(moves[1], Send) and moves[1].lost == 1 and moves[1].usage is not None
    assert moves[1].usage.calls == 2


@pytest.mark.parametrize("wire", ["openai", "openai-responses"])
def test_a_number_that_json_does_not_know_cannot_be_read(wire: str) -> None:
    with FakeProvider(
        wire, saying(Speaks("", (("call_api", '{"method": "GET", "path": "/", "body": {"a": NaN}}'),)))
    ) as fake:
        assert isinstance(played(agent(fake))[-1], Stop)
    assert fake.problems == []


@pytest.mark.parametrize("wire", WIRES)
def test_half_a_character_goes_back_as_it_came(wire: str) -> None:
    with FakeProvider(wire, saying(call(body={"note": "\ud83d"}))) as fake:
        moves = played(agent(fake))
    assert fake.problems == [] and len(moves) == 5


def test_what_cannot_be_read_twice_ends_the_episode() -> None:
    with FakeProvider("openai", saying(MALFORMED)) as fake:
        moves = played(agent(fake))
    stop = moves[-1]
    assert isinstance(stop, Stop) and stop.ending == "gave up" and stop.lost == 2 and len(fake.asked) == 2


def test_lost_attempts_count_against_the_five() -> None:
    with FakeProvider("openai", saying(*[MALFORMED, call()] * 4)) as fake:
        moves = played(agent(fake))
    assert 1 + sum(1 + m.lost for m in moves[1:] if isinstance(m, Send)) == 5
    assert len(fake.asked) == 4


@pytest.mark.parametrize("wire", WIRES)
def test_a_refusal_of_the_model_ends_the_episode_as_an_observation(wire: str) -> None:
    with FakeProvider(wire, saying(Speaks("I would rather not.", stop="refusal"))) as fake:
        moves = played(agent(fake))
    stop = moves[-1]
    assert isinstance(stop, Stop) and stop.ending == "gave up" and "the model refused" in stop.reason
    assert stop.usage is not None and stop.usage.calls == 1


@pytest.mark.parametrize("wire", WIRES)
def test_of_several_calls_at_once_the_first_is_made_and_the_others_are_answered(wire: str) -> None:
    both = Speaks("", (*call(body={"amount": 200}).calls, *call(body={"amount": 100}).calls))
    with FakeProvider(wire, saying(both, call())) as fake:
        moves = played(agent(fake))
    assert fake.problems == []
    assert [m.request.body for m in moves[:3] if isinstance(m, Send)] == [FIRST.body, {"amount": 200}, FIRST.body]
    assert "one call at a time" in json.dumps(fake.asked[1].document)


@pytest.mark.parametrize(
    ("outcome", "ending"),
    [("done", "done"), ("impossible", "impossible"), ("needs_input", "needs input"), ("gave_up", "gave up")],
)
def test_a_model_ends_in_its_own_words(outcome: str, ending: str) -> None:
    words = Speaks("", (("finish", json.dumps({"outcome": outcome, "reason": "so it is"})),))
    with FakeProvider("openai", saying(words)) as fake:
        stop = played(agent(fake))[-1]
    assert isinstance(stop, Stop) and (stop.ending, stop.reason) == (ending, "so it is")


def test_slips_of_form_that_no_api_would_see_are_mended() -> None:
    slipped = call(
        path="https://api.shop.example/v1/refunds?expand=charge", body=json.dumps({"amount": 1}), headers={"X-Shop": 9}
    )
    with FakeProvider("openai", saying(slipped)) as fake:
        send = played(agent(fake))[1]
    assert isinstance(send, Send)
    expected = Request("POST", "/v1/refunds", {"expand": "charge"}, {"x-shop": "9"}, {"amount": 1})
    assert send.request == expected and send.settles


def test_credentials_and_the_arm_are_not_the_models_to_set() -> None:
    bold = call(headers={"Authorization": "Bearer x", "Prefer": "recovery-feedback=reflective", "x-shop": "9"})
    with FakeProvider("openai", saying(bold)) as fake:
        send = played(agent(fake))[1]
    assert isinstance(send, Send) and dict(send.request.headers) == {"x-shop": "9"}
    assert send.note == "(left out: authorization, prefer)"


def test_success_of_a_look_up_does_not_end_an_episode() -> None:
    look = call(method="GET", path="/v1/charges/ch_1", body=None)
    with FakeProvider("openai", saying(look, call(body={"amount": 300, "charge": "ch_1"}))) as fake:
        moves = played(agent(fake))
    assert [m.settles for m in moves if isinstance(m, Send)] == [True, False, True]


def test_look_ups_that_work_are_no_attempts_and_those_that_are_refused_are() -> None:
    look = call(method="GET", path="/v1/charges/ch_1", body=None)
    with FakeProvider("openai", saying(*[look] * 20, call())) as fake:
        moves = played(agent(fake))
    assert sum(isinstance(m, Send) and m.request.method == "POST" for m in moves) == 5
    with FakeProvider("openai", saying(look)) as fake:
        moves = played(agent(fake), at=lambda request: Seen(404, None))
    assert len(moves) == 5


def test_a_model_may_wait_before_a_call() -> None:
    document = {**FIRST.document(), "wait_seconds": 2.5}
    with FakeProvider("openai", saying(Speaks("", (("call_api", json.dumps(document)),)))) as fake:
        send = played(agent(fake))[1]
    assert isinstance(send, Send) and send.wait == 2.5


def test_a_grpc_method_is_called_by_its_full_name() -> None:
    briefing = replace(BRIEFING, request=Request("/etcdserverpb.KV/Put", "", {}, {}, {"key": "YQ=="}))
    other = Speaks("", (("call_api", '{"method": "etcdserverpb.KV/Range", "body": {"key": "YQ=="}}'),))
    with FakeProvider("anthropic", saying(other)) as fake:
        send = played(agent(fake), briefing)[1]
    assert isinstance(send, Send) and send.request == Request("/etcdserverpb.KV/Range", "", {}, {}, {"key": "YQ=="})
    assert "path" not in fake.asked[0].document["tools"][0]["input_schema"]["properties"]


def test_forms_stay_forms() -> None:
    with FakeProvider("openai", saying(call())) as fake:
        send = played(agent(fake), replace(BRIEFING, request=replace(FIRST, form=True)))[1]
    assert isinstance(send, Send) and send.request.form


# What a model is told


@dataclass(frozen=True)
class Watched:
    """Notes what a model hears."""

    heard: list[Heard]

    def __call__(self, heard: Heard) -> Speaks:
        self.heard.append(heard)
        return calls(FIRST, heard)


def test_a_model_is_told_the_api_the_wish_and_the_answer_and_no_fact_of_a_script() -> None:
    watched = Watched([])
    with FakeProvider("anthropic", watched) as fake:
        played(agent(fake))
    ((role, text),) = watched.heard[0].turns
    assert role == "user"
    assert BRIEFING.about in text and BRIEFING.prompt in text and "too much" in text and "x-shop" in text
    assert "a fact that scripts may read" not in told(fake)


def test_the_words_about_feedback_are_the_same_whatever_an_arm_shows() -> None:
    def system(vocabulary: str, seen: Seen) -> str:
        watched = Watched([])
        with FakeProvider("openai", watched) as fake:
            played(agent(fake, vocabulary=vocabulary), at=lambda request: seen)
        return watched.heard[0].system

    for vocabulary in ("none", "sentence", "words"):
        assert system(vocabulary, api(FIRST)) == system(vocabulary, Seen(400, {"error": {}}))
    assert "recovery_feedback" not in system("none", api(FIRST))
    assert "MODIFY_PARAMS" not in system("sentence", api(FIRST))
    assert "MODIFY_PARAMS" in system("words", api(FIRST))


def test_a_model_may_write_the_first_call_itself() -> None:
    with FakeProvider("openai", saying(call(body={"amount": 1}))) as fake:
        moves = played(agent(fake, first_call="own"))
    assert isinstance(moves[0], Send) and moves[0].request.body == {"amount": 1} and moves[0].usage is not None
    assert "One call has been made already" not in told(fake)


@pytest.mark.parametrize("wire", WIRES)
def test_parameters_go_out_as_the_provider_names_them_and_only_when_given(wire: str) -> None:
    with FakeProvider(wire, stubborn) as fake:
        played(agent(fake), seed=42)
        played(agent(fake, temperature=0.1, max_tokens=99, extra={"temperature": 0.2}), seed=42)
    plain, given = fake.asked[0].document, fake.asked[-1].document
    limit = {"anthropic": "max_tokens", "compatible": "max_tokens", "openai": "max_completion_tokens"}
    assert "temperature" not in plain and given["temperature"] == 0.2
    assert given[limit.get(wire, "max_output_tokens")] == 99
    assert plain.get("seed") == (42 if wire in ("openai", "compatible") else None)


def test_two_episodes_with_one_seed_are_the_same_moves() -> None:
    def moves() -> list[Move]:
        with FakeProvider("anthropic", stubborn) as fake:
            return played(agent(fake, strategy="adaptive"), seed=3)

    assert moves() == moves()


def test_signed_thoughts_go_back_as_they_came_and_empty_words_do_not() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    content = [thought, {"type": "text", "text": " "}, {"type": "tool_use", "id": "a", "name": "finish", "input": {}}]
    reply = anthropic.decode({"content": content, "stop_reason": "tool_use", "usage": None})
    document = anthropic.encode(Question("", (Said("x"), Spoke(reply), Told("a", "y"))), SAMPLING)
    assert document["messages"][1]["content"] == [thought, content[2]]


def test_encrypted_thoughts_go_back_with_the_id_of_their_call_and_others_with_neither() -> None:
    call = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "finish", "arguments": "{}", "status": "x"}
    sent = {name: call[name] for name in ("type", "call_id", "name", "arguments")}
    for kept, thought in ((True, {"encrypted_content": "ZW5j"}), (False, {})):
        reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], **thought}
        reply = openai_responses.decode({"status": "completed", "output": [reasoning, call]})
        document = openai_responses.encode(Question("", (Said("x"), Spoke(reply), Told("c", "y"))), SAMPLING)
        assert document["input"][1:-1] == ([reasoning, {**sent, "id": "fc_1"}] if kept else [sent])


# Who asks whom, and who may pass for a model


def test_what_answers_at_a_loopback_address_counts_as_a_fake_and_says_so_in_its_name() -> None:
    with FakeProvider("compatible", follower) as fake:
        one, other = agent(fake), agent(fake)
    assert one.identity["fake"] is True and one.name == "fake compatible:some-model"
    assert one.identity == other.identity and ":" not in str(one.identity["address"]).partition("//")[2]


def test_a_model_on_this_machine_is_none_but_our_own_fakes_cannot_pass_for_one() -> None:
    with FakeProvider("compatible", follower) as fake:
        who = agent(fake, local=True)
        assert who.identity["fake"] is False and who.name == "compatible:some-model"
        with pytest.raises(Unanswered, match="fake"):
            played(who)


def test_a_name_tells_provider_model_and_strategy() -> None:
    plan = AgentPlan(name="anthropic", model="claude-haiku-4-5", strategy="structured")
    who = build(plan, environ={"ANTHROPIC_API_KEY": KEY})
    assert who.name == "anthropic:claude-haiku-4-5+structured" and who.identity["strategy"] == "structured"
    assert who.line.url == "https://api.anthropic.com/v1/messages" and who.line.headers["x-api-key"] == KEY


WRONG: tuple[tuple[str, dict[str, Any], dict[str, str], str], ...] = (
    ("anthropic", {}, {}, "ANTHROPIC_API_KEY is not set"),
    ("openai", {"key_env": "MY_KEY"}, {}, "MY_KEY is not set"),
    ("compatible", {}, {}, "where is it"),
    ("openai", {"base_url": "http://models.example/v1"}, {"OPENAI_API_KEY": KEY}, "unencrypted"),
    ("compatible", {"base_url": "https://me:pass@models.example/v1"}, {}, "credentials"),
    ("compatible", {"base_url": "models.example"}, {}, "http"),
    ("openai", {"temprature": 1}, {"OPENAI_API_KEY": KEY}, 'did you mean "temperature"'),
    ("openai", {"extra": {"messages": []}}, {"OPENAI_API_KEY": KEY}, "not a setting"),
    ("openai", {"max_tokens": "many"}, {"OPENAI_API_KEY": KEY}, "settings.max_tokens"),
)


@pytest.mark.parametrize(("name", "settings", "environ", "said"), WRONG)
def test_what_is_missing_or_unsafe_is_said_before_anything_is_sent(
    name: str, settings: dict[str, Any], environ: dict[str, str], said: str
) -> None:
    with pytest.raises(Misused, match=said):
        build(AgentPlan(name=name, model="m", settings=settings), environ=environ)


def test_an_unknown_strategy_is_said_with_the_one_that_was_meant() -> None:
    with pytest.raises(Misused, match='did you mean "structured"'):
        build(AgentPlan(name="openai", model="m", strategy="structred"), environ={"OPENAI_API_KEY": KEY})


def test_a_program_on_this_machine_gets_no_key_that_is_not_named_for_it() -> None:
    plan = AgentPlan(name="openai", model="m", settings={"base_url": "http://127.0.0.1:9/v1"})
    assert "authorization" not in build(plan, environ={"OPENAI_API_KEY": KEY}).line.headers
    compatible = AgentPlan(name="compatible", model="m", settings={"base_url": "https://models.example/v1"})
    assert "authorization" not in build(compatible, environ={"OPENAI_API_KEY": KEY}).line.headers


def test_a_model_is_named_by_its_provider_and_may_hold_colons() -> None:
    assert named("compatible:qwen3:8b") == ("compatible", "qwen3:8b")
    with pytest.raises(Misused, match='did you mean "anthropic"'):
        named("antropic:claude")
    with pytest.raises(Misused, match="names no model"):
        named("openai")


def test_the_catalogue_builds_models_from_a_plan() -> None:
    plan = AgentPlan(name="compatible", model="qwen3:8b", settings={"base_url": "http://127.0.0.1:9/v1", "local": True})
    (who,) = agents((plan,))
    assert who.name == "compatible:qwen3:8b" and who.kind == "model"


def test_the_commands_of_the_guide_are_taken() -> None:
    guide = Path(provider.__file__).with_name("README.md").read_text("utf-8")
    lines = re.findall(r"^(?:\w+=\S+ )?conformance (.*(?:\\\\\n.*)*)", guide.replace("\\\n", " "), re.MULTILINE)
    assert len(lines) == 5
    for line in lines:
        args = parser().parse_args(shlex.split(line))
        assert args.plan is not None or option.plans(args)
    (document,) = re.findall(r"^```yaml\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)
    plan = made(yaml.safe_load(document), "guide")
    assert [who.name for who in agents(plan.agents, plan.rate)][-1] == "compatible:qwen3:8b+adaptive"


# Rates


class Clock:
    """A time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        self.now += seconds


def entered(rate: Rate, clock: Clock, bills: Iterable[int]) -> list[float]:
    times = []
    for tokens in bills:
        rate.enter()
        times.append(clock.now)
        rate.billed(tokens)
    return times


def test_requests_are_spread_over_the_minute() -> None:
    clock = Clock()
    assert entered(Rate(30, clock=clock, sleep=clock.sleep), clock, [1, 1, 1]) == [100, 102, 104]


def test_tokens_of_the_last_minute_hold_back_the_next_request() -> None:
    clock = Clock()
    assert entered(Rate(None, 1000, clock=clock, sleep=clock.sleep), clock, [600, 600, 1]) == [100, 100, 160]


def test_no_rate_is_no_wait() -> None:
    clock = Clock()
    assert entered(Rate(clock=clock, sleep=clock.sleep), clock, [10**9] * 3) == [100, 100, 100]
