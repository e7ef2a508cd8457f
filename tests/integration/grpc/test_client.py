"""The interceptors: an error carries its feedback, and the reader makes the next message of it."""

from __future__ import annotations

import asyncio
import re
import traceback
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import any_pb2
from google.rpc import status_pb2
from grpc import aio

from corrigible.client.grpc import (
    NextCall,
    RecoveryFeedbackInterceptor,
    aio_interceptors,
    feedback_of,
    next_call,
    next_message,
)
from corrigible.schema.convert import to_proto
from corrigible.schema.error import ReaderError
from corrigible.schema.feedback import Feedback, parse
from corrigible.schema.reader import NeedsInput, Terminal
from tests._support.guarded_services import STORE, STORE_MANY, Messages

GOOD: dict[str, Any] = {"name": "x", "parts": [{"code": "abc"}], "word": "w"}
TOO_MUCH = {**GOOD, "limit": "6000000000"}


def encode(message: Any) -> bytes:
    data: bytes = message.SerializeToString()
    return data


@pytest.fixture
def channel(proxy: int) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(f"127.0.0.1:{proxy}") as plain:
        yield grpc.intercept_channel(plain, RecoveryFeedbackInterceptor())


def feedback_in(error: Any) -> Feedback:
    found = error.recovery_feedback
    assert isinstance(found, Feedback)
    return found


def test_a_refused_message_is_mended_and_sent_again(channel: grpc.Channel, messages: Messages) -> None:
    store = channel.unary_unary(STORE, encode, messages.answer(STORE).FromString)
    message = messages.of(STORE, TOO_MUCH)
    with pytest.raises(grpc.RpcError) as refusal:
        store(message, timeout=20)
    note = "".join(traceback.format_exception_only(refusal.value)).splitlines()[-1]
    assert note == '  /body/limit: "6000000000" -> "5000000000"'
    assert next_message(feedback_in(refusal.value), STORE, message) is None  # another limit than was asked for
    mended = next_message(feedback_in(refusal.value), STORE, message, confirm=True)
    assert mended == messages.of(STORE, {**GOOD, "limit": "5000000000"})
    assert type(mended) is type(message)
    assert messages.document(message) == TOO_MUCH  # as it was
    assert store(mended, timeout=20).name == "x"


def test_the_client_of_the_guide_stores_the_mended_message(proxy: int, messages: Messages) -> None:
    guide = (Path(__file__).parents[3] / "docs/grpc.md").read_text("utf-8")
    (program,) = [
        text for text in re.findall(r"^```python\n(.*?)^```", guide, re.DOTALL | re.MULTILINE) if "grpc" in text
    ]
    program = program.replace("127.0.0.1:8080", f"127.0.0.1:{proxy}").replace("/shop.v1.Orders/Create", STORE)
    order = messages.of(STORE, TOO_MUCH)
    names: dict[str, Any] = {
        "Order": type(order),
        "Stored": messages.answer(STORE),
        "order": order,
        "input": lambda _: "y",
    }
    exec(compile(program, "grpc.md", "exec"), names)
    assert names["mended"] == messages.of(STORE, {**GOOD, "limit": "5000000000"})
    names["channel"].close()


def test_a_future_says_the_same(channel: grpc.Channel, messages: Messages) -> None:
    store = channel.unary_unary(STORE, encode, messages.answer(STORE).FromString)
    call = store.future(messages.of(STORE, TOO_MUCH), timeout=20)
    assert len(feedback_in(call.exception()).suggestions) == 1
    with pytest.raises(grpc.RpcError) as refusal:
        call.result()
    assert len(feedback_in(refusal.value).suggestions) == 1
    assert call.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_a_stream_that_is_refused_half_way(channel: grpc.Channel, messages: Messages) -> None:
    store = channel.stream_stream(STORE_MANY, encode, messages.answer(STORE_MANY).FromString)
    sent = [messages.of(STORE_MANY, one) for one in (GOOD, TOO_MUCH)]
    seen = []
    with pytest.raises(grpc.RpcError) as refusal:
        for answer in store(iter(sent), timeout=20):
            seen.append(answer.name)
    assert seen == ["x"]
    assert feedback_in(refusal.value).suggestions[0].action == "MODIFY_PARAMS"


def test_what_somebody_has_to_say_is_no_next_message(channel: grpc.Channel, messages: Messages) -> None:
    store = channel.unary_unary(STORE, encode, messages.answer(STORE).FromString)
    message = messages.of(STORE, {**GOOD, "name": ""})
    with pytest.raises(grpc.RpcError) as refusal:
        store(message, timeout=20)
    feedback = feedback_in(refusal.value)
    assert next_message(feedback, STORE, message) is None
    assert isinstance(next_call(feedback, STORE, message), NeedsInput)


def test_without_the_proxy_there_is_no_feedback(service: int, messages: Messages) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{service}") as plain:
        store: Any = grpc.intercept_channel(plain, RecoveryFeedbackInterceptor()).unary_unary(STORE, encode, None)
        with pytest.raises(grpc.RpcError) as refusal:
            store(messages.of(STORE, TOO_MUCH), timeout=20)
        error: Any = refusal.value
        assert (error.recovery_feedback, feedback_of(error)) == (None, None)


def test_asyncio(proxy: int, messages: Messages) -> None:
    async def talk() -> None:
        async with aio.insecure_channel(f"127.0.0.1:{proxy}", interceptors=aio_interceptors()) as channel:
            store = channel.unary_unary(STORE, encode, messages.answer(STORE).FromString)
            message = messages.of(STORE, TOO_MUCH)
            with pytest.raises(aio.AioRpcError) as refusal:
                await store(message, timeout=20)
            mended = next_message(feedback_in(refusal.value), STORE, message, confirm=True)
            assert (await store(mended, timeout=20)).name == "x"

            async def both() -> AsyncIterator[Any]:
                yield messages.of(STORE_MANY, GOOD)
                yield messages.of(STORE_MANY, TOO_MUCH)

            many = channel.stream_stream(STORE_MANY, encode, messages.answer(STORE_MANY).FromString)
            seen = []
            with pytest.raises(aio.AioRpcError) as refusal:
                async for answer in many(both(), timeout=20):
                    seen.append(answer.name)
            assert seen == ["x"]
            assert feedback_in(refusal.value).suggestions[0].action == "MODIFY_PARAMS"

    asyncio.run(talk())


def suggesting(*suggestions: dict[str, Any], **members: Any) -> Feedback:
    return parse({"recovery": "correctable", "type": "recovery_guidance", "suggestions": list(suggestions), **members})


def test_a_patch_that_makes_no_message(messages: Messages) -> None:
    wrong = suggesting(
        {"action": "MODIFY_PARAMS", "patch": [{"op": "add", "path": "/body/nothing", "value": 1}], "parameters": {}}
    )
    with pytest.raises(ReaderError, match=r"no guarded\.v1\.Thing any more"):
        next_call(wrong, STORE, messages.of(STORE, GOOD))


def test_another_method_is_for_the_caller_to_call(messages: Messages) -> None:
    moved = suggesting(
        {
            "action": "USE_ALTERNATIVE_ENDPOINT",
            "patch": [{"op": "replace", "path": "/method", "value": "/guarded.v2.Things/Store"}],
            "parameters": {},
        }
    )
    message = messages.of(STORE, GOOD)
    found = next_call(moved, STORE, message)
    assert isinstance(found, NextCall)
    assert (found.method, found.message) == ("/guarded.v2.Things/Store", message)
    assert next_message(moved, STORE, message) is None


def test_a_message_that_other_calls_go_before_is_no_next_message(messages: Messages) -> None:
    first = suggesting(
        {
            "action": "MODIFY_PARAMS",
            "patch": [{"op": "replace", "path": "/body/name", "value": "y"}],
            "parameters": {"name": "y"},
            "steps": [{"method": "/guarded.v1.Rooms/Book", "path": "", "body": {"nights": 1}}],
        }
    )
    message = messages.of(STORE, GOOD)
    following = next_call(first, STORE, message)
    assert isinstance(following, NextCall)
    assert [step.method for step in following.steps] == ["/guarded.v1.Rooms/Book"]
    assert next_message(first, STORE, message) is None


def test_the_end_of_the_matter(messages: Messages) -> None:
    done = suggesting({"action": "ALREADY_DONE", "parameters": {"name": "x"}}, recovery="terminal")
    found = next_call(done, STORE, messages.of(STORE, GOOD))
    assert isinstance(found, Terminal)
    assert found.parameters == {"name": "x"}


def test_feedback_is_the_last_detail_and_no_other() -> None:
    class Refused:
        def __init__(self, *details: any_pb2.Any) -> None:
            self._status = status_pb2.Status(code=3, details=details).SerializeToString()

        def trailing_metadata(self) -> list[tuple[str, bytes]]:
            return [("grpc-status-details-bin", self._status)]

    ours, other = any_pb2.Any(), any_pb2.Any()
    ours.Pack(to_proto(suggesting({"action": "MODIFY_PARAMS", "parameters": {"a": 1}})))
    other.Pack(status_pb2.Status(message="quoted"))
    assert feedback_of(Refused(other, ours)) is not None
    assert [feedback_of(Refused(ours, other)), feedback_of(Refused(other)), feedback_of(Refused())] == [None] * 3
