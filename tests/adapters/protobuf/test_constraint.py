"""Every constraint of protovalidate: what it refuses, what is suggested, and that it accepts what follows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from google.protobuf import descriptor_pool
from google.rpc import status_pb2

from corrigible.adapters.protobuf.service_description import ProtobufDescription
from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate, Decision
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.grpc.status import encoded, status_json
from corrigible.schema.exchange import Exchange, Request
from corrigible.schema.reader import NeedsInput, Next, apply
from tests._support.guarded_services import STORE, Messages, violations
from tests._support.repaired import agrees
from tests._support.rows import rows

GOOD: dict[str, Any] = {"name": "x", "parts": [{"code": "abc"}], "word": "w"}


@pytest.fixture(scope="module")
def engine(messages: Messages) -> Engine:
    plain = build_engine([], rpc=True)
    description = ProtobufDescription(messages.descriptors)
    return Engine([replace(known, description=description) for known in plain.profiles], plain.limits)


def decided(engine: Engine, request: Request, status: status_pb2.Status, messages: Messages) -> Decision:
    body = encoded(status_json(status, messages.descriptors.pool))
    asking = engine.decide(Exchange(request, 400, {}, body, "id", 0.0))
    with pytest.raises(StopIteration) as done:
        next(asking)
    decision: Decision = done.value.value
    return decision


def refused(engine: Engine, messages: Messages, change: dict[str, Any]) -> tuple[Any, Request]:
    """Send a good message with a change; return the feedback and the request that was refused."""
    document = {name: value for name, value in {**GOOD, **change}.items() if value is not None}
    message = messages.of(STORE, document)
    status = violations(message)
    assert status is not None, "protovalidate takes it"
    request = Request(STORE, "", body=messages.document(message))
    decision = decided(engine, request, status, messages)
    assert isinstance(decision, Annotate), decision
    return decision.feedback, request


REPAIRED = [
    # what is sent, what is sent next, whether that is another thing than was asked for
    ({"parts": [{"code": "ab", "count": "500"}]}, {"parts": [{"code": "ab", "count": "99"}]}, True),
    ({"header": "X-Y "}, {"header": "X-Y"}, False),
    (
        {"trimmed": "3f2504e0-4f89-41d3-9a0c-0305e82c3301"},
        {"trimmed": "3f2504e04f8941d39a0c0305e82c3301"},
        False,
    ),
    ({"uuid": "{3F2504E04F8941D39A0C0305E82C3301}"}, {"uuid": "3f2504e0-4f89-41d3-9a0c-0305e82c3301"}, False),
    ({"slug": "HELLO"}, {"slug": "hello"}, True),
    ({"mail": "Bob <bob@example.com>"}, {"mail": "bob@example.com"}, True),
    ({"languages": ["en", "De", "frenhc"]}, {"languages": ["en", "de", "french"]}, False),
    ({"limit": "6000000000"}, {"limit": "5000000000"}, True),
    ({"only": "COLOR_RED"}, {"only": "COLOR_BLUE"}, True),
    ({"numbers": ["11"]}, {"numbers": ["10"]}, True),
    ({"scores": {"a": 9}}, {"scores": {"a": 5}}, True),
    ({"grade": 20}, {"grade": 9}, True),
]
CONFIRMED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"mode": "test"}, {"mode": "live"}),  # the only value that there is, and what is live costs money
    # what may be more than was asked for
    ({"limit": "3"}, {"limit": "5"}),
    ({"timeout": "3600s"}, {"timeout": "60s"}),
    ({"timeout": "0.500s"}, {"timeout": "1s"}),
]


@rows(("change", "repaired", "flagged"), REPAIRED)
def test_what_a_machine_repairs(
    change: dict[str, Any], repaired: dict[str, Any], flagged: bool, engine: Engine, messages: Messages
) -> None:
    feedback, request = refused(engine, messages, change)
    assert [s["safety"]["changes_intent"] for s in feedback["suggestions"]] == [flagged] * len(feedback["suggestions"])
    outcome = apply(feedback, request, confirm=agrees)
    assert isinstance(outcome, Next)
    assert outcome.request.body == {**GOOD, **repaired}
    assert violations(messages.of(STORE, outcome.request.body)) is None


@rows(("change", "repaired"), CONFIRMED)
def test_what_is_repaired_once_confirmed(
    change: dict[str, Any], repaired: dict[str, Any], engine: Engine, messages: Messages
) -> None:
    feedback, request = refused(engine, messages, change)
    assert isinstance(apply(feedback, request, confirm=agrees), NeedsInput)
    outcome = apply(feedback, request, confirm=True)
    assert isinstance(outcome, Next)
    assert outcome.request.body == {**GOOD, **repaired}


ASKED: list[tuple[dict[str, Any], list[str]]] = [
    ({"name": None}, ["/body/name"]),
    ({"short": "äää"}, ["/body/short"]),  # which letters can go?
    ({"parts": None}, ["/body/parts"]),
    ({"parts": [{"code": "toolong"}]}, ["/body/parts/0/code"]),
    ({"parts": [{"code": "ab", "count": "-5"}]}, ["/body/parts/0/count"]),
    ({"left": "a", "right": "b"}, ["/body/right", "/body/left"]),
    ({"since": "9", "until": "1"}, ["/body/until", "/body/since"]),
    ({"header": "X Y"}, ["/body/header", "/body/header"]),
    ({"path": "x"}, ["/body/path"]),
    ({"tag": "q"}, ["/body/tag"]),
    ({"tag": "a-q-z"}, ["/body/tag"]),
    ({"login": "root"}, ["/body/login"]),
    ({"login": "hey!"}, ["/body/login"]),
    ({"network": "nowhere"}, ["/body/network"]),
    ({"network": "10.0.0.1/8"}, ["/body/network"]),
    ({"server": "localhost"}, ["/body/server"]),
    ({"ip": "here"}, ["/body/ip"]),
    ({"ip": " 10.0.0.1"}, ["/body/ip"]),
    ({"numbers": ["1", "2", "2"]}, ["/body/numbers"]),
    ({"outside": 15}, ["/body/outside"]),  # below one limit or above another
    ({"slug": "Hello World"}, ["/body/slug"]),
    ({"slug": "much-too-long"}, ["/body/slug"]),
    ({"mail": "nobody"}, ["/body/mail"]),
    ({"languages": ["zz"]}, ["/body/languages/0"]),
    ({"nick": ""}, ["/body/nick"]),
    ({"blob": "YWJjZGVm"}, ["/body/blob"]),
    ({"blob": "YQ=="}, ["/body/blob"]),
    ({"ratio": "NaN"}, ["/body/ratio"]),
    ({"ratio": 1.5}, ["/body/ratio"]),  # a share that is none is no wish for all of it
    ({"finite": "Infinity"}, ["/body/finite"]),
    ({"big": "11"}, ["/body/big"]),
    ({"limit": "-3"}, ["/body/limit"]),
    ({"even": 3}, ["/body/even"]),
    ({"color": "COLOR_GREEN"}, ["/body/color"]),
    ({"defined": 7}, ["/body/defined"]),
    ({"numbers": ["1", "2", "3", "4"]}, ["/body/numbers"]),
    ({"numbers": ["-1"]}, ["/body/numbers/0"]),
    ({"scores": {"A": 1}}, ["/body/scores"]),
    ({"scores": {"a": 1, "b": 1, "c": 1}}, ["/body/scores"]),
    ({"byNumber": {"-1": {"code": "ab"}}}, ["/body/byNumber"]),
    ({"byNumber": {"4": {"code": "a"}}}, ["/body/byNumber/4/code"]),
    ({"timeout": "-5s"}, ["/body/timeout"]),
    ({"pause": "90s"}, ["/body/pause"]),
    ({"later": "2001-01-01T00:00:00Z"}, ["/body/later"]),
    ({"after": "2001-01-01T00:00:00Z"}, ["/body/after"]),
    ({"title": "a"}, ["/body/title"]),
    ({"title": ""}, ["/body/title"]),
    ({"grade": 0}, ["/body/grade"]),
    ({"any": {"@type": "type.googleapis.com/guarded.v1.Stored"}}, ["/body/any"]),
    ({"mask": "other,name"}, ["/body/mask"]),
]


@rows(("change", "places"), ASKED)
def test_what_only_the_caller_knows(
    change: dict[str, Any], places: list[str], engine: Engine, messages: Messages
) -> None:
    feedback, request = refused(engine, messages, change)
    outcome = apply(feedback, request, confirm=agrees)
    assert isinstance(outcome, NeedsInput)
    operations = [op for choice in outcome.choices for op in choice.suggestion.patch or () if op.op != "test"]
    assert ([asked.pointer for asked in outcome.placeholders] or [op.path for op in operations]) == places


def test_a_choice_between_the_members_of_a_oneof(engine: Engine, messages: Messages) -> None:
    feedback, request = refused(engine, messages, {"word": None})
    assert feedback["type"] == "intent_disambiguation"
    outcome = apply(feedback, request, confirm=agrees)
    assert isinstance(outcome, NeedsInput)
    assert [asked.pointer for asked in outcome.placeholders] == ["/body/word", "/body/part"]


def test_several_complaints_are_answered_each(engine: Engine, messages: Messages) -> None:
    feedback, _ = refused(engine, messages, {"name": None, "numbers": ["11"], "limit": "-1"})
    asked = [p["pointer"] for s in feedback["suggestions"] for p in s.get("placeholders", ())]
    edited = [s["patch"][-1]["path"] for s in feedback["suggestions"] if "patch" in s]
    assert (asked, edited) == (["/body/name", "/body/limit"], ["/body/numbers/0"])


@pytest.mark.parametrize("change", [{"unjudged": "a"}, {"outside": 5}, {"blob": "YWJj"}, {"agreed": True}])
def test_what_is_allowed_breaks_nothing(change: dict[str, Any], messages: Messages) -> None:
    message = messages.of(STORE, {**GOOD, **change})
    assert violations(message) is None
    request = Request(STORE, "", body=messages.document(message))
    assert ProtobufDescription(messages.descriptors).schema_violations(request, STORE[1:]) == ()


def test_consent_is_never_given_for_the_caller(messages: Messages) -> None:
    request = Request(STORE, "", body={**GOOD, "agreed": False})
    assert ProtobufDescription(messages.descriptors).schema_violations(request, STORE[1:]) == ()
    document = messages.document(messages.of(STORE, {**GOOD, "agreed": False}))
    assert "agreed" not in document


def test_violations_without_the_services_descriptors(messages: Messages) -> None:
    """Where nobody knows `buf.validate`, the details stay bytes and are read all the same."""
    document = {**GOOD, "parts": [{"code": "a"}], "scores": {"B": 1}}
    status = violations(messages.of(STORE, document))
    assert status is not None
    body = encoded(status_json(status, descriptor_pool.DescriptorPool()))
    assert b"string.min_len" not in body
    request = Request(STORE, "", body=document)
    asking = build_engine([], rpc=True).decide(Exchange(request, 400, {}, body, "id", 0.0))
    with pytest.raises(StopIteration) as done:
        next(asking)
    decision = done.value.value
    assert isinstance(decision, Annotate)
    places = [asked["pointer"] for s in decision.feedback["suggestions"] for asked in s["placeholders"]]
    assert sorted(places) == ["/body/parts/0/code", "/body/scores/B"]
    assert {one["code"] for one in decision.diagnoses} == {"string.min_len", "string.pattern"}
