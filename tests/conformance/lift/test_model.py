"""Models in the retry loop, asked over real wire formats: what they are told, what is kept, what is billed."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from corrigible.conformance.lift.agents.protocol import Move, Response, Send, Stop
from corrigible.model import anthropic, openai
from corrigible.model.conversation import (
    ModelMessage,
    Question,
    Sampling,
    ToolResult,
    UserMessage,
)
from tests._support.rows import rows

from .fake_provider import FakeProvider, calls, follower, stubborn
from .shop import BRIEFING, FIRST, WIRES, agent, api, call, played, saying, told
from .wire_formats import Heard, Speaks

SAMPLING = Sampling("m", 100)


@rows("mode", ["tools", "json"])
@rows("wire", WIRES)
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


@rows("wire", WIRES)
@rows("strategy", ["free", "structured", "adaptive"])
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
    silent = Response(400, {"error": {"message": "too much"}})
    with FakeProvider("openai", follower) as fake:
        stop = played(agent(fake, strategy="structured"), at=lambda request: silent)[-1]
    assert isinstance(stop, Stop) and [one.category for one in stop.reflections] == ["FORMAT_MISMATCH"]
    assert stop.usage is not None and stop.usage.calls == 2


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
    def system(vocabulary: str, seen: Response) -> str:
        watched = Watched([])
        with FakeProvider("openai", watched) as fake:
            played(agent(fake, vocabulary=vocabulary), at=lambda request: seen)
        return watched.heard[0].system

    for vocabulary in ("none", "sentence", "words"):
        assert system(vocabulary, api(FIRST)) == system(vocabulary, Response(400, {"error": {}}))
    assert "recovery_feedback" not in system("none", api(FIRST))
    assert "MODIFY_PARAMS" not in system("sentence", api(FIRST))
    assert "MODIFY_PARAMS" in system("words", api(FIRST))


def test_a_model_may_write_the_first_call_itself() -> None:
    with FakeProvider("openai", saying(call(body={"amount": 1}))) as fake:
        moves = played(agent(fake, first_request="agent"))
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
    document = anthropic.encode(Question("", (UserMessage("x"), ModelMessage(reply), ToolResult("a", "y"))), SAMPLING)
    assert document["messages"][1]["content"] == [thought, content[2]]


def test_encrypted_thoughts_go_back_with_the_id_of_their_call_and_others_with_neither() -> None:
    call = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "finish", "arguments": "{}", "status": "x"}
    sent = {name: call[name] for name in ("type", "call_id", "name", "arguments")}
    for kept, thought in ((True, {"encrypted_content": "ZW5j"}), (False, {})):
        reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], **thought}
        reply = openai.decode_responses({"status": "completed", "output": [reasoning, call]})
        document = openai.encode_responses(
            Question("", (UserMessage("x"), ModelMessage(reply), ToolResult("c", "y"))), SAMPLING
        )
        assert document["input"][1:-1] == ([reasoning, {**sent, "id": "fc_1"}] if kept else [sent])
