"""A real etcd from `corrigible sandbox etcd`, and the proxy with `--pack etcd` before it."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from google.protobuf import descriptor_pb2, json_format, message_factory

from corrigible.adapters.apis.etcd.adapter import descriptors
from corrigible.adapters.apis.etcd.sandbox import ETCD, find_tool
from corrigible.adapters.protobuf.descriptors import Descriptors
from corrigible.adapters.registry import adapter_for
from corrigible.adapters.sandbox.server import Running, SandboxError
from corrigible.client.grpc import NextCall, RecoveryFeedbackInterceptor, next_call
from corrigible.proxy.build import build_engine
from corrigible.proxy.core.decision import Annotate
from corrigible.schema.exchange import Exchange, Request
from corrigible.schema.feedback import Feedback
from corrigible.schema.reader import Next, Terminal, apply
from tests._support.command import start

KNOWN = Descriptors(descriptor_pb2.FileDescriptorSet.FromString(descriptors()).file)


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


FOO = b64("foo")


def test_the_descriptors_are_etcds_own() -> None:
    methods = set(KNOWN.methods)
    assert {"/etcdserverpb.KV/Txn", "/etcdserverpb.Watch/Watch", "/etcdserverpb.Cluster/MemberPromote"} <= methods
    kind = KNOWN.pool.FindEnumTypeByName("etcdserverpb.Compare.CompareResult")
    assert [value.name for value in kind.values] == ["EQUAL", "GREATER", "LESS", "NOT_EQUAL"]


def test_the_json_gateway_is_the_same_api() -> None:
    adapter = adapter_for("etcd")
    assert adapter.operations.find("POST", "/v3/kv/range") == ("etcdserverpb.KV/Range", {})
    body = {"error": "m", "code": 11, "message": "etcdserver: too large lease TTL", "details": []}
    (one,) = adapter.formats[0].read(Exchange(Request("POST", "/v3/lease/grant"), 400, {}, b""), body)
    assert (one.type, one.message) == ("OUT_OF_RANGE", "etcdserver: too large lease TTL")


@pytest.fixture(scope="module")
def etcd() -> Iterator[Running]:
    try:
        find_tool("etcd")
    except SandboxError as missing:
        pytest.skip(str(missing))
    with ETCD.start() as running:
        yield running


@pytest.fixture(scope="module")
def channel(etcd: Running, start_proxy: Callable[..., int]) -> Iterator[grpc.Channel]:
    port = start_proxy(etcd.port, "--pack", "etcd")
    with grpc.insecure_channel(f"127.0.0.1:{port}") as plain:
        yield grpc.intercept_channel(plain, RecoveryFeedbackInterceptor())


@pytest.mark.parametrize(
    ("path", "body", "following"),
    [
        ("/v3/lease/grant", {"TTL": "9000000001"}, {"TTL": "9000000000"}),
        ("/v3/kv/range", {"key": FOO, "revision": "100000"}, {"key": FOO}),
    ],
)
def test_the_json_gateway_gets_the_same(path: str, body: Any, following: Any, etcd: Running) -> None:
    with httpx.Client(base_url=etcd.url, trust_env=False, timeout=60) as client:
        answer = client.post(path, json=body)
        request = Request("POST", path, body=body)
        asking = build_engine(["etcd"]).decide(Exchange(request, answer.status_code, {}, answer.content, "e", 0.0))
        with pytest.raises(StopIteration) as done:
            next(asking)
        assert isinstance(done.value.value, Annotate)
        outcome = apply(done.value.value.feedback, request, confirm=True)
        assert isinstance(outcome, Next)
        assert outcome.request.body == following
        assert client.post(path, json=outcome.request.body).status_code == 200


class Refused(Exception):
    def __init__(self, feedback: Feedback | None, message: Any) -> None:
        self.feedback, self.message = feedback, message


def call(channel: grpc.Channel, method: str, body: Any) -> Any:
    kind = KNOWN.methods[method]
    message = json_format.ParseDict(body, message_factory.GetMessageClass(kind.request_type)())
    return sent(channel, method, message)


def sent(channel: grpc.Channel, method: str, message: Any) -> Any:
    answer = message_factory.GetMessageClass(KNOWN.methods[method].response_type)
    try:
        return channel.unary_unary(method, lambda m: m.SerializeToString(), answer.FromString)(message, timeout=20)
    except grpc.RpcError as error:
        raise Refused(getattr(error, "recovery_feedback", None), message) from None


def feedback_on(channel: grpc.Channel, method: str, body: Any) -> tuple[Feedback, Any]:
    with pytest.raises(Refused) as refusal:
        call(channel, method, body)
    assert refusal.value.feedback is not None
    return refusal.value.feedback, refusal.value.message


def test_a_compacted_revision_is_looked_up_anew(channel: grpc.Channel) -> None:
    for number in range(4):
        newest = call(channel, "/etcdserverpb.KV/Put", {"key": FOO, "value": b64(str(number))}).header.revision
    call(channel, "/etcdserverpb.KV/Compact", {"revision": newest})
    method = "/etcdserverpb.KV/Range"
    feedback, message = feedback_on(channel, method, {"key": FOO, "revision": "2"})
    following = next_call(feedback, method, message, confirm=True)
    assert isinstance(following, NextCall)
    assert (following.message.revision, following.message.key) == (newest, b"foo")  # type: ignore[attr-defined]
    assert sent(channel, method, following.message).kvs[0].value == b"3"


def test_a_transaction_within_a_transaction(channel: grpc.Channel) -> None:
    method = "/etcdserverpb.KV/Txn"
    inner = {"requestTxn": {"success": [{"requestRange": {"key": FOO, "revision": "99999"}}]}}
    feedback, message = feedback_on(channel, method, {"success": [inner]})
    assert feedback.suggestions[0].safety is not None and feedback.suggestions[0].safety.changes_intent
    following = next_call(feedback, method, message, confirm=True)
    assert isinstance(following, NextCall)
    assert sent(channel, method, following.message).succeeded


def test_what_is_there_already(channel: grpc.Channel) -> None:
    method = "/etcdserverpb.Auth/RoleAdd"
    call(channel, method, {"name": "reader"})
    feedback, message = feedback_on(channel, method, {"name": "reader"})
    following = next_call(feedback, method, message)
    assert isinstance(following, Terminal)
    assert (following.action, following.parameters) == ("ALREADY_DONE", {"name": "reader"})


def test_the_command_says_where_it_is_and_leaves_nothing_behind() -> None:
    try:
        find_tool("etcd")
    except SandboxError as missing:
        pytest.skip(str(missing))
    command = ["corrigible", "sandbox", "etcd"]
    with start(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first, second = process.stdout.readline(), process.stdout.readline()
        port = first.split(";")[0].rpartition(":")[2]
        children = descendants(process.pid)
        process.terminate()
        assert process.wait(60) == 0
    assert (
        first == f"etcd listening on http://127.0.0.1:{port}; it has one member and forgets everything when it ends\n"
    )
    assert second == f"  gRPC        127.0.0.1:{port} (corrigible proxy --pack etcd --grpc-upstream 127.0.0.1:{port})\n"
    assert children and not any(Path(f"/proc/{child}").exists() for child in children)


def descendants(pid: int) -> set[int]:
    children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return set(children).union(*map(descendants, children))
