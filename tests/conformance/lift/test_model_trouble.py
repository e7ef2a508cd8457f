"""What a provider may do to a model's episode: be busy, slow, out of order, or turn the caller away."""

from __future__ import annotations

import json

import pytest

from corrigible.conformance.lift.agents.model import ProviderFailed, build
from corrigible.conformance.lift.agents.protocol import Send
from corrigible.conformance.lift.plan import AgentPlan
from tests._support.rows import rows

from .fake_provider import FakeProvider, Trouble, error, follower, stubborn
from .shop import BRIEFING, FIRST, KEY, agent, api, played


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
    with FakeProvider("openai", follower, [Trouble(delay=2.5)]) as fake:
        moves = played(agent(fake, timeout=1))
    assert isinstance(moves[1], Send) and moves[1].usage is not None and moves[1].usage.calls == 2


def test_an_answer_that_takes_its_time_is_waited_for() -> None:
    with FakeProvider("openai", follower, [Trouble(delay=0.05, goes_on=True)]) as fake:
        moves = played(agent(fake))
    assert isinstance(moves[1], Send) and moves[1].usage is not None and moves[1].usage.calls == 1


def test_repetition_is_bounded_and_then_the_episode_is_an_error_that_names_what_was_billed() -> None:
    with FakeProvider("anthropic", stubborn, [None] + [error("anthropic", 529, "overloaded_error", "no")] * 9) as fake:
        state = agent(fake, strategy="free", retries=2).play(BRIEFING, 1)
        next(state)
        with pytest.raises(ProviderFailed, match=r"529 .*asked 3 times") as caught:
            state.send(api(FIRST))
    assert len(fake.asked) == 4
    assert caught.value.usage is not None and caught.value.usage.calls == 4 and caught.value.usage.output > 0


@rows(
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
        state = who.play(BRIEFING, 1)
        next(state)
        with pytest.raises(ProviderFailed) as caught:
            state.send(api(FIRST))
    assert said in str(caught.value) and "sk-" not in str(caught.value)
    assert len(fake.asked) == 1
    assert fake.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in f"{who!r}{who.name}{json.dumps(dict(who.identity))}"


def test_a_server_that_bills_nothing_leaves_no_number() -> None:
    body = json.dumps({"choices": [{"message": {"content": "", "tool_calls": []}, "finish_reason": "stop"}]}).encode()
    with FakeProvider("compatible", follower, [Trouble(body=body)]) as fake:
        moves = played(agent(fake))
    assert isinstance(moves[1], Send) and moves[1].usage is None and moves[1].lost == 1
