"""Whom the loop breaker tells apart, how long it remembers them, and what of a request it keeps."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from corrigible.proxy.core.limits import Limits
from corrigible.proxy.core.loop import detector
from corrigible.proxy.core.loop.attempt_group import IDLE, Refusal
from corrigible.proxy.core.loop.detector import BYTES, Loops, SharedLoops, place_of
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.http.corrector import HttpOutcome
from corrigible.proxy.http.messages import Rewrite
from corrigible.proxy.runtime.dispatcher import Dispatcher, Task
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Request
from tests._support.repeater import AMOUNT, REQUEST, Agent, edit, feedback
from tests._support.rows import rows

OF_CACHES = 1 << 20
"""Bytes of the caches of places."""


def test_what_has_no_operation_is_told_apart_by_method_and_path() -> None:
    requests = [Request("GET", "/a"), Request("POST", "/a"), Request("GET", "/b")]
    assert len({place_of("", request) for request in requests}) == 3
    assert len({place_of("Named", request) for request in requests}) == 1


def test_silence_alone_is_not_remembered() -> None:
    agent = Agent()
    assert [agent.refused(silent=True) for _ in range(6)] == [None] * 6
    assert len(agent.loops) == 0


def test_nobody_in_particular_is_not_counted() -> None:
    agent = Agent(caller="")
    assert [agent.refused() for _ in range(6)] == [None] * 6
    assert len(agent.loops) == 0


def test_a_success_ends_it() -> None:
    agent = Agent()
    agent.refused()
    agent.refused(about=[Violation("other")])
    other = Agent(agent.loops, operation="Other")
    other.refused()
    agent.loops.succeeded("someone", "Refund")
    agent.loops.succeeded("nobody", "Refund")
    assert len(agent.loops) == 1 and agent.loops.has_loop("someone")
    assert (agent.attempt(), other.attempt()) == (1, 2)
    for place in ("Refund", "Other"):
        agent.loops.succeeded("someone", place)
    assert not agent.loops and not agent.loops.has_loop("someone")


def test_loops_are_forgotten_by_time() -> None:
    agent = Agent()
    agent.refused()
    agent.now += IDLE - 1
    assert agent.attempt() == 2
    agent.now += IDLE
    assert agent.attempt() == 1
    assert len(agent.loops) == 1
    agent.now -= 10 * IDLE  # the clock was put back
    assert agent.attempt() == 2


def test_a_task_is_forgotten_though_another_of_the_same_error_goes_on() -> None:
    agent = Agent()
    other = replace(REQUEST, body={**REQUEST.body, "reason": "other"})
    agent.refused()
    for _ in range(3):
        agent.now += IDLE / 2
        agent.refused(other)
    assert agent.attempt() == 1
    assert agent.attempt(other) == 4


def test_only_so_many_are_remembered() -> None:
    loops = Loops(b"k")
    for number in range(4000):
        Agent(loops, caller=str(number)).refused()
    assert 750 < len(loops) < 1500
    assert not loops.has_loop("0") and loops.has_loop("3999") and loops.has_loop("3300")
    many = Agent(Loops(b"k"))
    for number in range(100):
        many.refused(replace(REQUEST, body={"reason": number}))
    assert len(many.loops) == 16
    assert many.attempt(replace(REQUEST, body={"reason": 99})) == 2


def test_the_loops_met_longest_ago_are_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    loops = Loops(b"k")
    Agent(loops, caller="anybody").refused()
    monkeypatch.setattr(detector, "BYTES", 3 * loops.bytes)
    loops.clear()
    one, other = Agent(loops, caller="one"), Agent(loops, caller="other")
    one.refused()
    other.refused()
    one.refused(replace(REQUEST, body={**REQUEST.body, "reason": "another task"}))
    Agent(loops, caller="third").refused()
    assert [loops.has_loop(caller) for caller in ("one", "other", "third")] == [True, False, True]
    assert len(loops) == 3


@pytest.mark.slow
@pytest.mark.parametrize(("members", "letters", "attempts"), [(2, 4, 1), (64, 3, 2), (64, 240, 1), (8, 30, 12)])
def test_all_loops_together_have_a_bound_in_bytes(
    members: int, letters: int, attempts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detector, "BYTES", BYTES // 64)
    loops = Loops(b"k")
    tracemalloc.start()
    try:
        for number in range(100):
            names = [f"{number}{place}{'x' * letters}" for place in range(members)]
            agent = Agent(loops, caller=str(number), operation="")
            advised = feedback(*(edit(f"/body/{name}", 500 + place) for place, name in enumerate(names[:16])))
            for attempt in range(attempts):
                request = replace(REQUEST, path=f"/{number}", body=dict.fromkeys(names, attempt))
                agent.refused(request, advised, about=[Violation("bad", names[0], f"/body/{names[0]}")])
            assert loops.bytes <= BYTES // 64 + (64 << 10)
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert loops.bytes / 4 < held < 1.2 * BYTES // 64 + (64 << 10) + OF_CACHES
    for number in range(100):
        loops.succeeded(str(number), f"{REQUEST.method} /{number}")
    assert (len(loops), loops.bytes) == (0, 0)


def test_what_a_caller_makes_long_takes_no_room() -> None:
    loops = Loops(b"k")
    tracemalloc.start()
    try:
        for number in range(100):
            long = f"{number}{'x' * 50_000}"
            request = replace(REQUEST, path=f"/{long}", body={long: {long: [{long: number}]}, "amount": 500})
            agent = Agent(loops, caller=str(number), operation="")
            assert agent.attempt(request, about=(Violation(long, long, f"/body/{long}"),)) == 1
            assert agent.attempt(request, about=(Violation(long, long, f"/body/{long}"),)) == 2
        assert tracemalloc.get_traced_memory()[0] < 2 << 20
    finally:
        tracemalloc.stop()


def test_nothing_of_a_request_is_kept() -> None:
    agent = Agent()
    secret = replace(
        REQUEST, body={**REQUEST.body, "amount": "hunter2", "deep": {"card": ["hunter2"]}}, path="/hunter2"
    )
    agent.refused(secret)
    agent.refused(secret)

    def strings(value: Any) -> str:
        slots = [getattr(value, name) for name in getattr(type(value), "__slots__", ()) if hasattr(value, name)]
        if isinstance(value, Mapping):
            slots += [*value, *value.values()]
        elif isinstance(value, (list, tuple, set)):
            slots += value
        return "".join(map(strings, slots)) if slots else str(value)

    assert "hunter2" not in strings(vars(agent.loops))
    assert "/body/deep/card" in strings(vars(agent.loops))


def test_fingerprints_mean_nothing_without_the_key() -> None:
    one, other = (Agent(Loops(key)) for key in (b"a", b"b"))
    seen = []
    for agent in (one, other):
        agent.refused()
        answer = agent.refused()
        assert answer is not None
        seen.append(answer["loop"]["fingerprint"])
    assert seen[0] != seen[1] and all(len(text) == 16 for text in seen)


@rows(
    ("one", "other", "same"),
    [
        ([("Authorization", "Bearer 1")], [("authorization", "Bearer 1"), ("User-Agent", "x")], True),
        ([("Authorization", "Bearer 1")], [("authorization", "Bearer 2")], False),
        ([("X-Api-Key", "1")], [("X-Api-Key", "2")], False),
        ([("Ocp-Apim-Subscription-Key", "1")], [("Ocp-Apim-Subscription-Key", "2")], False),
        ([("PRIVATE-TOKEN", "1")], [("Private-Token", "2")], False),
        ([("Cookie", "s=1")], [("Cookie", "s=2")], True),
        ([("Cookie", "connect.sid=1")], [("Cookie", "connect.sid=2")], False),
        ([("Authorization", "A"), ("Cookie", "s=1")], [("Authorization", "A"), ("Cookie", "s=2")], True),
        ([("X-Tenant-Id", "7"), ("Cookie", "a=1; session=1")], [("X-Tenant-Id", "7"), ("Cookie", "session=2")], False),
        ([("X-Api-Key", "k"), ("Cookie", "JSESSIONID=1")], [("X-Api-Key", "k"), ("Cookie", "JSESSIONID=2")], False),
        ([("X-Api-Key", "k"), ("Cookie", "sid=1; t=1")], [("X-Api-Key", "k"), ("Cookie", "t=2; sid=1")], True),
        ([("Authorization", "A"), ("Stripe-Account", "1")], [("Authorization", "A"), ("Stripe-Account", "2")], False),
        ([("Idempotency-Key", "1")], [("Idempotency-Key", "2")], True),
        ([("X-CSRF-Token", "1"), ("X-Request-Id", "1")], [("X-CSRF-Token", "2")], True),
        (
            [("Authorization", "AWS4-HMAC-SHA256 Credential=A/s3, SignedHeaders=host, Signature=ab12")],
            [("Authorization", "AWS4-HMAC-SHA256 Credential=A/s3, SignedHeaders=host, Signature=cd34")],
            True,
        ),
        (
            [("Authorization", 'Digest username="a", nonce="1", uri="/x", nc=1, response="1"')],
            [("Authorization", 'Digest username="a", nonce="2", uri="/y", nc=2, response="2"')],
            True,
        ),
        (
            [("Authorization", 'Digest username="a", nonce="1"')],
            [("Authorization", 'Digest username="b", nonce="1"')],
            False,
        ),
    ],
)
def test_who_is_one_caller(one: list[tuple[str, str]], other: list[tuple[str, str]], same: bool) -> None:
    loops = Loops(b"k")
    assert (loops.caller(one, peer="p") == loops.caller(other, peer="p")) is same


def test_a_name_stands_for_the_address_and_never_for_the_credentials() -> None:
    loops = Loops(b"k")
    key = [("Authorization", "Bearer 1")]
    assert loops.caller(key, "a", "1.1.1.1") == loops.caller(key, "a", "2.2.2.2")
    assert loops.caller(key, "", "1.1.1.1") != loops.caller(key, "", "2.2.2.2")
    assert loops.caller(key, "a") != loops.caller(key, "b")
    assert loops.caller(key, "a") != loops.caller([], "a"), "nobody else can use up a caller's attempts"
    assert loops.caller([], "a", "1.1.1.1") != loops.caller([], "a", "2.2.2.2"), "nor one without credentials"
    assert loops.caller([], "a", "1.1.1.1") != loops.caller([], "b", "1.1.1.1")
    assert "Bearer" not in loops.caller(key)


@rows(
    "headers",
    [
        [],
        [("Accept", "*/*"), ("User-Agent", "agent/1")],
        [("X-Tenant-Id", "7"), ("X-Project", "shop"), ("X-User-Id", "0")],
        [("Cookie", "theme=dark; consent=yes; sidebar=open"), ("X-Author", "ada"), ("X-Authority", "eu")],
        [("Authorization", "")],
        [("Authorization", "Bearer undefined"), ("X-Api-Key", " "), ("Cookie", "session=; token=null")],
        [("X-Forwarded-For", "10.0.0.7"), ("Forwarded", "for=10.0.0.7")],
    ],
)
def test_what_many_callers_may_send_is_no_callers(headers: list[tuple[str, str]]) -> None:
    """An address, and a connection, are gateways' for many callers. Only with a name somebody is counted there."""
    assert Loops(b"k").caller(headers, peer="10.0.0.1") == ""
    assert Loops(b"k").caller(headers, "episode-7", "10.0.0.1")


def test_an_answer_that_nobody_saw_does_not_count() -> None:
    agent = Agent()
    assert agent.attempt() == 1
    refusal = Refusal(agent.caller, agent.operation, REQUEST, [AMOUNT], agent.now + 1, "TOO_MUCH", "late")
    for _ in range(3):
        assert agent.loops.count_refusal(refusal, feedback()) is not None
        agent.loops.uncount_refusal("late")
    agent.loops.uncount_refusal("another")
    assert agent.attempt() == 2


def test_only_the_newest_answers_can_be_withheld() -> None:
    """What is kept for them is bounded."""
    loops = Loops(b"k")
    refusals = [
        Refusal(str(number), "Refund", REQUEST, [AMOUNT], 1000.0, "TOO_MUCH", f"e{number}") for number in range(66)
    ]
    for refusal in refusals:
        loops.count_refusal(refusal, feedback())
    for refusal in refusals:
        loops.uncount_refusal(refusal.id)
    again = [loops.count_refusal(refusal._replace(id=""), feedback()) for refusal in refusals]
    assert [answer and answer["loop"]["attempt"] for answer in again] == [2, 2, *[None] * 64]


def test_a_correction_that_comes_too_late_does_not_count() -> None:
    loops, limits = SharedLoops(b"k"), Limits()
    agent = Agent(loops)
    assert agent.attempt() == 1

    def late(*, id: str) -> Generator[Lookup, LookupAnswer, HttpOutcome]:
        yield Lookup("/a")
        refusal = Refusal(agent.caller, agent.operation, REQUEST, [AMOUNT], agent.now + 1, "TOO_MUCH", id)
        assert loops.count_refusal(refusal, feedback()) is not None
        time.sleep(limits.seconds + 0.05)
        return HttpOutcome(Rewrite([], b"corrected"), "annotated", Mode.REFLECTIVE)

    async def nobody(lookup: Lookup) -> LookupAnswer:
        raise OSError

    task = Task("correct", late, lambda outcome: outcome, (), {"id": "e1"}, 10, "someone")
    outcome = asyncio.run(Dispatcher(loops=loops).run(task, nobody, replace(limits, seconds_with_lookups=0.01)))
    assert outcome.rewrite is None
    assert agent.attempt() == 2


REASON = Violation("too_long", "n", "/body/reason")


def test_a_mistake_that_is_left_of_several_was_refused_before() -> None:
    agent = Agent()
    both = feedback(edit("/body/amount", 300), edit("/body/reason", "short"))
    mended = replace(REQUEST, body={**REQUEST.body, "amount": 300})
    agent.refused(REQUEST, both, about=[AMOUNT, REASON])
    left = feedback(edit("/body/reason", "short"))
    answers = [agent.refused(mended, left, about=[REASON]) for _ in range(3)]
    assert [one and one["loop"]["attempt"] for one in answers] == [2, 3, 4]
    assert answers[0] is not None and answers[0]["loop"]["action"] == "none"
    assert answers[0]["suggestions"] == left["suggestions"], "it was not tried"


def test_a_mistake_whose_advice_was_tried_beside_another_is_no_new_one() -> None:
    agent = Agent()
    both = feedback(edit("/body/amount", 300), *one_of_reasons("short", "shorter"))
    agent.refused(REQUEST, both, about=[AMOUNT, REASON])
    tried = replace(REQUEST, body={**REQUEST.body, "amount": 300, "reason": "short"})
    answer = agent.refused(tried, feedback(*one_of_reasons("short", "shorter")), about=[REASON])
    assert answer is not None and answer["loop"]["action"] == "next_alternative"
    assert [one["patch"][0]["value"] for one in answer["suggestions"]] == ["shorter"]


def test_who_mends_one_mistake_after_the_other_is_in_no_loop() -> None:
    agent = Agent()
    third = Violation("bad", "o", "/body/tags")
    edits = [edit("/body/amount", 300), edit("/body/reason", "short"), edit("/body/tags", [])]
    agent.refused(REQUEST, feedback(*edits), about=[AMOUNT, REASON, third])
    once = replace(REQUEST, body={**REQUEST.body, "amount": 300})
    twice = replace(REQUEST, body={**once.body, "reason": "short"})
    assert agent.attempt(once, feedback_sent=feedback(*edits[1:]), about=[REASON, third]) == 2
    assert agent.attempt(twice, feedback_sent=feedback(*edits[2:]), about=[third]) == 2
    assert len(agent.loops) == 1


def one_of_reasons(*values: str) -> list[dict[str, Any]]:
    return [edit("/body/reason", value, group={"id": "1", "relation": "one_of"}) for value in values]
