"""A gRPC call in a trace is readable: proto-JSON where the message is known, bytes where it is not."""

from __future__ import annotations

from corrigible.conformance.checks.grpc.call import noting
from corrigible.conformance.reference import grpc_shop
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.grpc import GrpcCall, GrpcResult

METHOD = grpc_shop.path("WatchOrder")


def told(sent: GrpcCall, got: GrpcResult) -> str:
    subject = Subject(role="proxy", profile="grpc")
    noting(subject, "to the subject")(sent, got)
    ((who, text),) = subject.trace
    assert who == "to the subject"
    return text


def test_a_known_message_is_shown_as_json_and_metadata_as_it_is() -> None:
    sent = GrpcCall(METHOD, (grpc_shop.request(METHOD, {"name": "1"}),), (("a", "b"), ("c-bin", b"\x00\xff")))
    text = told(sent, GrpcResult((), 3, "no such order", (), (("d", "e"),)))
    assert text == (
        f'> {METHOD}\n> a: b\n> c-bin: (2 bytes) 00 ff\n{{"name": "1"}}\n\n'
        "< grpc-status: 3\n< grpc-message: no such order\n< d: e"
    )


def test_an_unknown_message_is_shown_as_bytes_and_a_long_stream_is_cut() -> None:
    text = told(GrpcCall("/other.Service/X", (b"\x01",)), GrpcResult((b"\x02",) * 12, 0, "", (), ()))
    assert "> /other.Service/X\n(1 bytes) 01\n" in text
    assert "... 2 messages more" in text
