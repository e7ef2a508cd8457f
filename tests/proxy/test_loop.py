"""The loop breaker: who repeats what, what is said the second, third and fourth time, and what ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from corrigible.proxy.asgi import Message, Receive, ReflectiveMiddleware, Scope, Send
from corrigible.proxy.build import build_corrector, build_loops
from corrigible.proxy.corrector import Corrector, RequestHead, ResponseHead
from corrigible.proxy.lookup import drive_sync
from corrigible.proxy.loop import ESCALATED, IDLE, MOST, Loops, Refusal
from corrigible.proxy.mode import Mode
from corrigible.rules.lookup import LookupAnswer
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import parse
from corrigible.schema.reader import NeedsInput, Next, Terminal, apply
from corrigible.schema.writer import validate

REQUEST = Request("POST", "/charges/1/refunds", body={"amount": 500, "reason": "asked", "tags": ["a", "b"]})
AMOUNT = Violation("too_much", "m", "/body/amount")


def edit(place: str, value: Json, **more: Json) -> dict[str, Json]:
    patch = [{"op": "add", "path": place, "value": value}]
    return {"action": "MODIFY_PARAMS", "message": "m", "parameters": {}, "patch": patch, **more}


def feedback(*suggestions: Mapping[str, Json], **more: Json) -> dict[str, Json]:
    out = {"schema": "self-reflective-api/0.1", "type": "recovery_guidance", "message": "Too much."}
    return {**out, "recovery": "correctable", "suggestions": list(suggestions or [edit("/body/amount", 300)]), **more}


def one_of(*values: Json) -> list[dict[str, Json]]:
    return [edit("/body/amount", value, group={"id": "1", "relation": "one_of"}) for value in values]


class Agent:
    """One caller of one operation."""

    def __init__(self, loops: Loops | None = None, caller: str = "someone", operation: str = "Refund") -> None:
        self.loops = Loops(b"k") if loops is None else loops
        self.caller, self.operation = caller, operation
        self.now = 1000.0

    def refused(
        self,
        request: Request = REQUEST,
        said: Mapping[str, Json] | None = None,
        *,
        about: Sequence[Violation] = (AMOUNT,),
        silent: bool = False,
    ) -> dict[str, Json] | None:
        self.now += 1
        refusal = Refusal(self.caller, self.operation, request, about, self.now, "TOO_MUCH")
        answer = self.loops.answered(refusal, None if silent else said or feedback())
        if answer is not None:
            validate(parse(answer))
        return answer

    def attempt(self, request: Request = REQUEST, **more: Any) -> int:
        answer = self.refused(request, **more)
        return 1 if answer is None else int(answer["loop"]["attempt"])


def test_the_ladder_for_the_same_request() -> None:
    agent = Agent()
    assert agent.refused() is None
    second, third, fourth, fifth = (agent.refused() for _ in range(4))
    assert second is not None and third is not None and fourth is not None and fifth is not None
    print_ = second["loop"]["fingerprint"]
    assert second == {**feedback(), "loop": {"fingerprint": print_, "attempt": 2, "action": "next_alternative"}}
    assert list(second)[-2:] == ["loop", "suggestions"]
    assert third["loop"] == {"fingerprint": print_, "attempt": 3, "action": "relax_structure"}
    (relaxed,) = third["suggestions"]
    assert relaxed["parameters"] == {} and not {"patch", "steps", "group"} & relaxed.keys()
    assert relaxed["placeholders"] == [{"pointer": "/body/amount", "ask": "agent"}]
    assert isinstance(apply(third, REQUEST), NeedsInput)
    assert fourth["loop"] == {"fingerprint": print_, "attempt": 4, "action": "escalate"}
    assert fourth["recovery"] == "terminal"
    assert [(s["action"], s["parameters"]) for s in fourth["suggestions"]] == [
        ("ESCALATE", {"attempts": 4, "code": "TOO_MUCH"})
    ]
    assert "Too much." in fourth["message"] and "4 times" in fourth["message"]
    assert isinstance(apply(fourth, REQUEST), Terminal)
    assert fifth["suggestions"][0]["parameters"]["attempts"] == 5


def test_no_values_are_left_once_structure_is_relaxed() -> None:
    agent = Agent()
    step = {"method": "GET", "path": "/other"}
    said = feedback(
        edit("/body/amount", 300, steps=[step], action="PAY_LESS", base_action="MODIFY_PARAMS"),
        edit("/body/reason", "x"),
        type="intent_disambiguation",
        retry={"same_request": True, "after_seconds": 1, "idempotency_key": "new"},
    )
    agent.refused(said=said)
    agent.refused(said=said)
    third = agent.refused(said=said)
    assert third is not None
    assert third["type"] == "recovery_guidance"
    assert third["retry"] == {"same_request": False, "after_seconds": 1, "idempotency_key": "new"}
    assert [s["action"] for s in third["suggestions"]] == ["MODIFY_PARAMS"]
    assert b"300" not in orjson.dumps(third["suggestions"]) and b"/other" not in orjson.dumps(third)


def test_whoever_guesses_at_the_place_that_was_asked_for_goes_in_circles() -> None:
    """What is complained of may be elsewhere: Stripe misses `product` where a plan in a list is unknown."""
    agent = Agent()
    asked = {"action": "MODIFY_PARAMS", "message": "m", "parameters": {}, "applicability": "HAS_PLACEHOLDERS"}
    said = feedback({**asked, "placeholders": [{"pointer": "/body/reason", "ask": "user"}]})
    guesses = [replace(REQUEST, body={**REQUEST.body, "reason": guess}) for guess in ("a", "b", "c", "d")]
    assert [agent.attempt(guess, said=said) for guess in guesses] == [1, 2, 3, 4]
    elsewhere = [replace(REQUEST, body={**REQUEST.body, "tags": [guess]}) for guess in ("a", "b")]
    assert [Agent().attempt(guess, said=said) for guess in elsewhere] == [1, 1]


@pytest.mark.parametrize("pointer", ["", "/headers/authorization", "nowhere"])
def test_without_a_place_to_ask_about_it_is_only_a_signal(pointer: str) -> None:
    agent = Agent()
    about = [Violation("too_much", "m", pointer)]
    for _ in range(2):
        agent.refused(about=about)
    third = agent.refused(about=about)
    assert third is not None and third["type"] == "confidence_signal"
    assert "placeholders" not in third["suggestions"][0]
    assert isinstance(apply(third, REQUEST), NeedsInput)


@pytest.mark.parametrize(
    ("wanted", "change"),
    [
        (2, {}),
        (2, {"body": {**REQUEST.body, "amount": 300}}),
        (2, {"body": {"reason": "asked", "tags": ["a", "b"]}}),
        (2, {"body": {**REQUEST.body, "amount": {"value": 5, "unit": "usd"}}}),
        (2, {"headers": {"idempotency-key": "2", "traceparent": "x"}}),
        (2, {"body": {**REQUEST.body, "idempotency_key": "2"}}),
        (1, {"body": {**REQUEST.body, "reason": "other"}}),
        (1, {"body": {**REQUEST.body, "tags": ["a", "c"]}}),
        (1, {"body": {**REQUEST.body, "amount_of_what": 1}}),
        (1, {"body": None}),
        (1, {"body": "text"}),
        (1, {"query": {"expand": "charge"}}),
        (1, {"path": "/charges/2/refunds"}),
    ],
)
def test_which_requests_are_of_one_task(wanted: int, change: dict[str, Any]) -> None:
    agent = Agent()
    agent.refused()
    assert agent.attempt(replace(REQUEST, **change)) == wanted


def test_what_was_suggested_may_change_too() -> None:
    agent = Agent()
    said = feedback(edit("/body/reason", "fraud"), edit("/body/tags/-", "c"))
    agent.refused(said=said)
    after = replace(REQUEST, body={**REQUEST.body, "reason": "fraud", "tags": ["a", "b", "c"]})
    assert agent.attempt(after) == 2
    assert agent.attempt(REQUEST) == 3, "and back again, though nothing of that was suggested now"


def test_an_element_that_goes_moves_those_behind_it() -> None:
    agent = Agent()
    said = feedback({"action": "MODIFY_PARAMS", "parameters": {}, "patch": [{"op": "remove", "path": "/body/tags/0"}]})
    agent.refused(said=said)
    assert agent.attempt(replace(REQUEST, body={**REQUEST.body, "tags": ["b"]})) == 2


def test_another_path_is_another_task_unless_it_was_suggested() -> None:
    agent = Agent()
    agent.refused(said=feedback(edit("/path", "/charges/2/refunds")))
    assert agent.attempt(replace(REQUEST, path="/charges/3/refunds")) == 1
    assert agent.attempt(replace(REQUEST, path="/charges/2/refunds")) == 2
    assert agent.attempt(REQUEST) == 3


def test_a_path_that_is_complained_of_is_the_mistake_itself_except_in_reading() -> None:
    about = [Violation("missing", "m", "/path")]
    for method, wanted in (("POST", 2), ("GET", 1)):
        agent = Agent()
        request = replace(REQUEST, method=method, body=None)
        agent.refused(request, about=about)
        assert agent.attempt(replace(request, path="/charges/2/refunds"), about=about) == wanted


def test_tasks_that_share_credentials_are_counted_apart() -> None:
    agent = Agent()
    tasks = [replace(REQUEST, body={**REQUEST.body, "reason": name}) for name in "abc"]
    counted = [agent.attempt(task) for _ in range(4) for task in tasks]
    assert counted == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]


@pytest.mark.parametrize(
    "other", [{"caller": "else"}, {"operation": "Other"}, {"operation": ""}], ids=["caller", "operation", "unnamed"]
)
def test_other_callers_and_operations_start_anew(other: dict[str, str]) -> None:
    agent = Agent()
    agent.refused()
    assert Agent(agent.loops, **other).attempt() == 1
    assert agent.attempt() == 2


def test_another_error_or_place_is_progress() -> None:
    agent = Agent()
    agent.refused()
    assert agent.attempt(about=[Violation("too_little", "m", "/body/amount")]) == 1
    assert agent.attempt(about=[Violation("too_much", "m", "/body/reason")]) == 1
    assert agent.attempt(about=[AMOUNT, Violation("required", "m", "/body/x")]) == 1
    assert agent.attempt(about=[Violation("too_much", "other words", "/body/amount")]) == 2


def test_other_advice_is_progress_where_the_refusal_names_no_place() -> None:
    agent, bare = Agent(), (Violation("invalid", "Validation failed", ""),)
    places = ["amount", "reason", "tags"]
    request = REQUEST
    for place in places:
        assert agent.attempt(request, said=feedback(edit(f"/body/{place}", "new")), about=bare) == 1
        request = replace(request, body={**request.body, place: "new"})
    assert agent.attempt(request, said=feedback(edit("/body/tags", "newer")), about=bare) == 2
    assert agent.attempt(request, said=feedback(edit("/body/note", "x")), about=bare) == 3  # the same request again
    assert agent.attempt(REQUEST, said=feedback(edit("/body/amount", "new")), about=bare) == 2  # and back to the first


def test_going_back_and_forth_is_stopped_at_the_fourth_time_of_either() -> None:
    agent = Agent()
    a, b = [AMOUNT], [Violation("too_little", "m", "/body/amount")]
    small = replace(REQUEST, body={**REQUEST.body, "amount": 1})
    counted = [agent.attempt(request, about=about) for _ in range(4) for request, about in ((REQUEST, a), (small, b))]
    assert counted == [1, 1, 2, 2, 3, 3, 4, 4]


def test_what_was_tried_comes_last() -> None:
    agent = Agent()
    agent.refused(said=feedback(*one_of(300, 200, 100)))
    second = agent.refused(
        replace(REQUEST, body={**REQUEST.body, "amount": 300}), said=feedback(*one_of(300, 200, 100))
    )
    assert second is not None
    assert [s["patch"][0]["value"] for s in second["suggestions"]] == [200, 100, 300]


def test_advice_that_was_not_followed_keeps_its_rank() -> None:
    agent = Agent()
    agent.refused(said=feedback(*one_of(300, 200)))
    second = agent.refused(said=feedback(*one_of(300, 200)))
    assert second is not None
    assert [s["patch"][0]["value"] for s in second["suggestions"]] == [300, 200]


def test_alternatives_change_places_among_themselves_only() -> None:
    agent = Agent()
    first, second = one_of(300, 200)
    said = feedback(first, edit("/body/reason", "x"), second)
    agent.refused(said=said)
    answer = agent.refused(replace(REQUEST, body={**REQUEST.body, "amount": 300}), said=said)
    assert answer is not None
    assert [s["patch"][0]["value"] for s in answer["suggestions"]] == [200, "x", 300]


@pytest.mark.parametrize(
    ("request_", "suggestions"),
    [
        (REQUEST, [{"action": "DO", "parameters": {}, "steps": []}, edit("/body/amount", 1)]),
        (replace(REQUEST, body={"amount": "300"}, form=True), one_of(300, 1)),
        (
            Request("GET", "/x", {"amount": "300"}),
            [{"action": "DO", "parameters": {"amount": 300}}, edit("/path", "/y")],
        ),
        (replace(REQUEST, body={"a": {"b": 1}}), [{"action": "DO", "parameters": {"a": {"b": 1}}}, edit("/body/a", 2)]),
        (replace(REQUEST, body={"a": 1}), [{"action": "DO", "parameters": {"b": None}}, edit("/body/a", 2)]),
        (
            replace(REQUEST, body={"b": 1}),
            [{"action": "DO", "patch": [{"op": "move", "from": "/body/a", "path": "/body/b"}]}, edit("/body/b", 2)],
        ),
    ],
    ids=["steps", "form", "query", "merged", "removed", "moved"],
)
def test_what_counts_as_tried(request_: Request, suggestions: list[dict[str, Any]]) -> None:
    group = {"group": {"id": "1", "relation": "one_of"}, "base_action": "MODIFY_PARAMS"}
    said = feedback(*({"parameters": {}, **one, **group, "action": "DO"} for one in suggestions))
    agent = Agent()
    agent.refused(request_, said)
    second = agent.refused(request_, said)
    assert second is not None
    assert second["suggestions"] == said["suggestions"][::-1]


@pytest.mark.parametrize("action", ["ESCALATE", "ALREADY_DONE", "NO_RECOVERY_AVAILABLE"])
def test_the_end_of_the_road_is_never_changed(action: str) -> None:
    agent = Agent()
    said = feedback({"action": action, "parameters": {"where": "/x"}}, recovery="terminal")
    agent.refused(said=said)
    for attempt in range(2, 7):
        answer = agent.refused(said=said)
        assert answer is not None
        loop = answer.pop("loop")
        assert (loop["attempt"], loop["action"]) == (attempt, "none")
        assert answer == said


@pytest.mark.parametrize(("retry", "last"), [({}, 4), ({"max_attempts": 2}, 4), ({"max_attempts": 6}, 6)])
def test_waiting_is_repeating_until_it_is_too_much(retry: dict[str, Json], last: int) -> None:
    agent = Agent()
    said = feedback({"action": "WAIT_AND_RETRY", "parameters": {}}, recovery="transient", retry=retry)
    actions = [answer and answer["loop"]["action"] for answer in (agent.refused(said=said) for _ in range(last))]
    assert actions == [None, *["none"] * (last - 2), "escalate"]


def test_the_rules_may_fall_silent_after_their_advice_was_followed() -> None:
    """What they suggested is in the request now, so they have nothing to say, and the upstream refuses all the same."""
    agent = Agent()
    agent.refused()
    followed = replace(REQUEST, body={**REQUEST.body, "amount": 300})
    assert agent.refused(followed, silent=True) is None
    third, fourth = agent.refused(followed, silent=True), agent.refused(followed, silent=True)
    assert third is not None and third["loop"]["action"] == "relax_structure"
    assert fourth is not None and fourth["suggestions"][0]["parameters"] == {"attempts": 4, "code": "TOO_MUCH"}


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
    assert len(agent.loops) == 1 and agent.loops.knows("someone")
    assert (agent.attempt(), other.attempt()) == (1, 2)
    for place in ("Refund", "Other"):
        agent.loops.succeeded("someone", place)
    assert not agent.loops and not agent.loops.knows("someone")


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


def test_only_so_many_are_remembered() -> None:
    loops = Loops(b"k")
    for number in range(MOST + 100):
        Agent(loops, caller=str(number)).refused()
    assert len(loops) == MOST
    assert not loops.knows("0") and loops.knows(str(MOST + 99))
    many = Agent(Loops(b"k"))
    for number in range(100):
        many.refused(replace(REQUEST, body={"reason": number}))
    assert len(many.loops) == 16
    assert many.attempt(replace(REQUEST, body={"reason": 99})) == 2


def test_a_large_request_is_still_told_from_another() -> None:
    body: dict[str, Json] = {f"m{n}": {str(k): k for k in range(50)} for n in range(50)}
    agent = Agent()
    agent.refused(replace(REQUEST, body={**body, "amount": 1}))
    assert agent.attempt(replace(REQUEST, body={**body, "amount": 2})) == 2
    assert agent.attempt(replace(REQUEST, body={**body, "m7": {**body["m7"], "7": 8}, "amount": 2})) == 1


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


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ([("Authorization", "Bearer 1")], [("authorization", "Bearer 1"), ("User-Agent", "x")], True),
        ([("Authorization", "Bearer 1")], [("authorization", "Bearer 2")], False),
        ([("X-Api-Key", "1")], [("X-Api-Key", "2")], False),
        ([("Ocp-Apim-Subscription-Key", "1")], [("Ocp-Apim-Subscription-Key", "2")], False),
        ([("PRIVATE-TOKEN", "1")], [("Private-Token", "2")], False),
        ([("Cookie", "s=1")], [("Cookie", "s=2")], False),
        ([("Authorization", "A"), ("Cookie", "s=1")], [("Authorization", "A"), ("Cookie", "s=2")], True),
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
    assert loops.caller([("Accept", "*/*")]) == ""
    assert "Bearer" not in loops.caller(key)


RULE = """\
on: {code: bad}
when: "!has(request.body.amount) || request.body.amount > 300"
suggest: [{action: MODIFY_PARAMS, message: Take less., parameters: {amount: 300}}]
"""
ALWAYS = "on: {code: always}\nsuggest: [{action: MODIFY_PARAMS, message: Take less., parameters: {amount: 300}}]\n"
JSON = ("Content-Type", "application/json")
KEY = ("Authorization", "Bearer one")


@pytest.fixture
def folder(write_pack: Callable[..., Path]) -> Path:
    return write_pack(bad=RULE, always=ALWAYS)


class Client:
    """Sends what the feedback says, to an upstream that refuses everything in the same way."""

    def __init__(self, corrector: Corrector, code: str = "bad", *headers: tuple[str, str]) -> None:
        self.corrector, self.code = corrector, code
        self.headers = [JSON, *(headers or [KEY])]
        self.now = 1000.0

    def send(self, body: Json = None, target: str = "/v1/x", status: int = 400) -> dict[str, Json] | None:
        request = RequestHead("POST", target, self.headers, "127.0.0.1")
        native = orjson.dumps({"error": {"code": self.code, "message": "m"}} if status >= 400 else {"ok": True})
        sent = orjson.dumps({"amount": 500} if body is None else body)
        response = ResponseHead(status, [JSON])
        self.now += 1
        going = self.corrector.correct(request, sent, response, native, id="e", started=self.now)
        outcome = drive_sync(going, lambda lookup: LookupAnswer(0))
        if outcome.rewrite is None:
            return None
        member = orjson.loads(outcome.rewrite.body).get("recovery_feedback")
        assert outcome.mode is not Mode.REFLECTIVE or member == outcome.feedback
        return member if isinstance(member, dict) else {}

    def actions(self, count: int) -> list[str]:
        """Return what the breaker did to each of some repetitions, `first` where nothing."""
        said = [self.send() for _ in range(count)]
        assert None not in said
        return [one.get("loop", {}).get("action", "first") for one in said if one is not None]


@pytest.fixture
def corrector(folder: Path) -> Corrector:
    return build_corrector([folder], loops=build_loops())


LADDER = ["first", "next_alternative", "relax_structure", "escalate"]


def test_the_first_answer_is_what_it_was_without_a_loop_breaker(folder: Path, corrector: Corrector) -> None:
    assert Client(corrector).send() == Client(build_corrector([folder])).send()
    assert Client(build_corrector([folder])).actions(6) == ["first"] * 6


@pytest.mark.parametrize("code", ["bad", "always"])
def test_an_agent_that_does_as_it_is_told_is_stopped(corrector: Corrector, code: str) -> None:
    """The rule for `bad` falls silent once its advice is followed; the one for `always` never does."""
    client = Client(corrector, code)
    request = Request("POST", "/v1/x", headers={}, body={"amount": 500})
    for _ in range(ESCALATED):
        said = client.send(request.body)
        following = apply(said, request) if said else None
        if isinstance(following, Next):
            request = following.request
    assert said is not None
    assert isinstance(apply(said, request), Terminal)
    assert said["suggestions"][0]["parameters"]["attempts"] == ESCALATED


def test_repeats_count_in_every_mode_and_change_only_what_is_reflective(corrector: Corrector) -> None:
    client = Client(corrector)
    assert client.send() is not None
    client.headers.append(("Prefer", "recovery-feedback=verbose"))
    assert client.send() == {}
    client.headers[-1] = ("Prefer", "recovery-feedback=none")
    assert client.send() is None
    client.headers.pop()
    assert client.actions(2) == LADDER[2:]


def test_a_success_of_the_caller_there_ends_the_loop(corrector: Corrector) -> None:
    client, elsewhere = Client(corrector), RequestHead("POST", "/v1/y", [KEY], "127.0.0.1")
    assert client.actions(3) == LADDER[:3]
    corrector.passed(elsewhere, 200)
    corrector.passed(RequestHead("POST", "/v1/x", [("Authorization", "Bearer two")], "127.0.0.1"), 200)
    corrector.passed(RequestHead("POST", "/v1/x", [KEY], "127.0.0.1"), 500)
    assert client.actions(1) == LADDER[3:]
    corrector.passed(RequestHead("POST", "/v1/x?y=1", [KEY], "127.0.0.1"), 204)
    assert client.actions(2) == LADDER[:2]
    assert client.send(status=200) is None
    assert client.actions(2) == LADDER[:2]


def test_the_caller_may_say_which_of_its_tasks_this_is(corrector: Corrector) -> None:
    names = ['recovery-feedback=reflective; caller="episode 7"', "recovery-feedback; caller=8"]
    first, second = (Client(corrector, "bad", KEY, ("Prefer", name)) for name in names)
    assert first.actions(3) == LADDER[:3]
    assert second.actions(3) == LADDER[:3]
    assert first.actions(1) == LADDER[3:]


class Blind(Loops):
    """One that cannot tell who calls."""

    def caller(self, headers: Iterable[tuple[str, str]], name: str = "", peer: str = "") -> str:
        raise RuntimeError("who")


class Broken(Loops):
    """One with a mistake in it."""

    def answered(self, refusal: Refusal, feedback: Mapping[str, Json] | None) -> dict[str, Json] | None:
        raise RuntimeError("lost count")

    def __len__(self) -> int:
        return 1

    def knows(self, caller: str) -> bool:
        raise RuntimeError("lost the caller")


def test_a_mistake_in_it_leaves_the_decision_as_it_was(folder: Path) -> None:
    assert Client(build_corrector([folder], loops=Blind(b"k"))).actions(5) == ["first"] * 5
    corrector = build_corrector([folder], loops=Broken(b"k"))
    assert Client(corrector).send() == Client(build_corrector([folder])).send()
    going = corrector.correct(
        RequestHead("POST", "/v1/x", [JSON, KEY]),
        b"{}",
        ResponseHead(400, [JSON]),
        b'{"error":{"code":"bad","message":"m"}}',
        id="e",
        started=1.0,
    )
    outcome = drive_sync(going, lambda lookup: LookupAnswer(0))
    assert (outcome.reason, outcome.error) == ("annotated", "RuntimeError: lost count")
    corrector.passed(RequestHead("POST", "/v1/x", [KEY]), 200)


def test_the_middleware_breaks_loops_too(folder: Path) -> None:
    """Of the app's own answers: four refusals, a success, a refusal."""
    answers = [400, 400, 400, 400, 201, 400]
    said: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": answers.pop(0), "headers": headers})
        await send({"type": "http.response.body", "body": b'{"error":{"code":"bad","message":"m"}}'})

    middleware = ReflectiveMiddleware(app, [folder])

    async def main() -> None:
        async def receive() -> Message:
            return {"type": "http.request", "body": b'{"amount":500}', "more_body": False}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.body":
                said.append(orjson.loads(message["body"]).get("recovery_feedback", {}).get("loop", {}).get("action"))

        for port in range(len(answers)):
            scope = {
                "type": "http",
                "method": "POST",
                "path": "/v1/x",
                "headers": [(b"content-type", b"application/json")],
            }
            await middleware({**scope, "query_string": b"", "client": ("127.0.0.1", port)}, receive, send)

    asyncio.run(main())
    assert said == [None, "next_alternative", "relax_structure", "escalate", None, None]


def test_the_proxy_breaks_loops_and_its_journal_says_so(bench: Any, tmp_path: Path, folder: Path) -> None:
    answer = bench.message(
        b"400 Bad Request", b"Content-Type: application/json\r\n", b'{"error":{"code":"bad","message":"m"}}'
    )
    answers = [*[answer] * 4, bench.message(b"201 Created", b"", b"ok"), answer]
    with (
        bench.upstream({"/x": lambda connection: connection.sendall(answers.pop(0))}) as upstream,
        bench.proxy(
            build_corrector([folder], loops=build_loops()),
            upstream=f"http://127.0.0.1:{upstream.port}",
            log=tmp_path / "log.jsonl",
        ) as proxy,
    ):
        for _ in range(len(answers)):
            bench.ask(proxy.port, "/x", "POST", b'{"amount":500}', b"Content-Type: application/json\r\n")
    seen = [entry.get("loop", {}).get("action") for entry in bench.journal(tmp_path)]
    assert seen == [None, "next_alternative", "relax_structure", "escalate", None, None]
