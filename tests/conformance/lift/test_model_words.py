"""What a model may write: words that cannot be read, slips that are mended, and calls as they are then made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from corrigible.conformance.lift.agents.protocol import Response, Send, Stop
from corrigible.schema.exchange import Request
from tests._support.rows import rows

from .fake_provider import FakeProvider
from .shop import BRIEFING, FIRST, WIRES, agent, call, played, saying
from .wire_formats import Speaks

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


@rows("wire", WIRES)
@rows("case", UNREADABLE)
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
    assert isinstance(stop, Stop) and stop.ending == "unreadable" and stop.lost == 2 and len(fake.asked) == 2


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
    assert send.request == expected and send.ends_episode


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
    assert [m.ends_episode for m in moves if isinstance(m, Send)] == [True, False, True]


def test_look_ups_that_work_are_no_attempts_and_those_that_are_refused_are() -> None:
    look = call(method="GET", path="/v1/charges/ch_1", body=None)
    with FakeProvider("openai", saying(*[look] * 20, call())) as fake:
        moves = played(agent(fake))
    assert sum(isinstance(m, Send) and m.request.method == "POST" for m in moves) == 5
    with FakeProvider("openai", saying(look)) as fake:
        moves = played(agent(fake), at=lambda request: Response(404, None))
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
