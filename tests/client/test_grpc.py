"""Feedback of gRPC in one's own client: no credential is edited, and none is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from google.protobuf import any_pb2, struct_pb2
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
from corrigible.schema.feedback import Feedback, parse
from corrigible.schema.reader import NeedsInput
from tests._support.rows import rows

METHOD = "/shop.v1.Orders/Create"
TOKEN = "Sk9Zq-live-77AbCdEf"
PASSWORD = "hunter2-hunter2"


def message(**members: Any) -> struct_pb2.Struct:
    made = struct_pb2.Struct()
    made.update({"password": PASSWORD, "api_key": "K-secret-1", "note": "x", **members})
    return made


def suggesting(*patch: dict[str, Any], **members: Any) -> Feedback:
    suggestion = {"action": "MODIFY_PARAMS", "parameters": {}, "applicability": "MACHINE_APPLICABLE", **members}
    verified = {"status": "verified", "method": "dry_run"}
    whole = {**suggestion, "patch": list(patch), "verification": verified}
    return parse({"type": "recovery_guidance", "message": f"bad {TOKEN} {PASSWORD}", "suggestions": [whole]})


def test_a_message_is_edited_beside_its_credentials() -> None:
    feedback = suggesting({"op": "replace", "path": "/body/note", "value": "new"})
    after = next_message(feedback, METHOD, message())
    assert after is not None and dict(after) == dict(message(note="new"))


@rows(
    "operation",
    [
        {"op": "replace", "path": "/body/password", "value": "evil"},
        {"op": "remove", "path": "/body/password"},
        {"op": "copy", "from": "/body/api_key", "path": "/body/note"},
        {"op": "move", "from": "/body/api_key", "path": "/body/apiKey2"},
        {"op": "replace", "path": "/body/note", "value": "k-SECRET-1"},
        {"op": "add", "path": "/body/clientSecret", "value": "evil"},
    ],
)
@rows("is_confirmed", [False, True])
def test_no_message_has_another_credential_or_a_copy(operation: dict[str, Any], is_confirmed: bool) -> None:
    assert next_message(suggesting(operation), METHOD, message(), confirm=is_confirmed) is None
    following = next_call(suggesting(operation), METHOD, message(), confirm=is_confirmed)
    assert isinstance(following, NeedsInput) and "credential" in following.reason


def test_a_first_call_has_no_credential() -> None:
    note = {"op": "replace", "path": "/body/note", "value": "new"}
    steps = [{"method": METHOD, "path": "", "body": {"name": "K-secret-1"}}]
    assert isinstance(next_call(suggesting(note, steps=steps), METHOD, message()), NeedsInput)
    steps[0]["body"] = {"name": "a"}
    assert isinstance(next_call(suggesting(note, steps=steps), METHOD, message()), NextCall)


class Refusing(grpc.GenericRpcHandler):
    """Refuses each call with feedback that quotes what it was sent."""

    def service(self, details: Any) -> Any:
        def refuse(request: Any, context: Any) -> Any:
            detail = any_pb2.Any()
            detail.Pack(to_proto(suggesting({"op": "replace", "path": "/body/note", "value": f"{TOKEN}"})))
            status = status_pb2.Status(code=3, message="bad", details=[detail])
            context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "bad")

        make = grpc.unary_stream_rpc_method_handler if "Many" in details.method else grpc.unary_unary_rpc_method_handler
        return make(refuse, struct_pb2.Struct.FromString, struct_pb2.Struct.SerializeToString)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = grpc.server(ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((Refusing(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None).wait()


METADATA = (("authorization", f"Bearer {TOKEN}"), ("trace-bin", b"\0"))


def encode(sent: struct_pb2.Struct) -> bytes:
    return sent.SerializeToString()


def is_quiet(error: Any) -> bool:
    notes = "".join(error.__notes__)
    return feedback_of(error) is not None and TOKEN not in notes and PASSWORD not in notes and "(hidden)" in notes


@pytest.mark.parametrize("way", ["call", "result", "exception", "stream"])
def test_no_note_shows_the_caller_s_credentials(address: str, way: str) -> None:
    with grpc.insecure_channel(address) as plain:
        channel = grpc.intercept_channel(plain, RecoveryFeedbackInterceptor())
        decode = struct_pb2.Struct.FromString
        if way == "stream":
            many = channel.unary_stream("/shop.v1.Orders/Many", encode, decode)
            with pytest.raises(grpc.RpcError) as refusal:
                list(many(message(), metadata=METADATA, timeout=20))
            assert is_quiet(refusal.value)
            return
        create = channel.unary_unary(METHOD, encode, decode)
        if way == "exception":
            assert is_quiet(create.future(message(), metadata=METADATA, timeout=20).exception())
            return
        with pytest.raises(grpc.RpcError) as refusal:
            if way == "call":
                create(message(), metadata=METADATA, timeout=20)
            create.future(message(), metadata=METADATA, timeout=20).result()
        assert is_quiet(refusal.value)


def test_no_note_of_an_asynchronous_call_shows_them(address: str) -> None:
    async def call() -> list[Any]:
        errors = []
        async with aio.insecure_channel(address, interceptors=aio_interceptors()) as channel:
            create = channel.unary_unary(METHOD, encode, struct_pb2.Struct.FromString)
            with pytest.raises(aio.AioRpcError) as refusal:
                await create(message(), metadata=METADATA, timeout=20)
            errors.append(refusal.value)
            many = channel.unary_stream("/shop.v1.Orders/Many", encode, struct_pb2.Struct.FromString)
            with pytest.raises(aio.AioRpcError) as refusal:
                async for _ in many(message(), metadata=METADATA, timeout=20):
                    pass
            errors.append(refusal.value)
        return errors

    assert all(map(is_quiet, asyncio.run(call())))
