"""A status as JSON and back with feedback in it: what was sent natively comes first and whole, at every size."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from google.protobuf import any_pb2, descriptor_pool
from google.rpc import code_pb2, error_details_pb2, status_pb2

from corrigible.proxy.grpc.status import (
    DETAILS,
    HTTP,
    MOST_ADDED,
    MOST_TRAILERS,
    Metadata,
    Unreadable,
    annotated,
    caller_text,
    failure_of,
    native_status,
    status_json,
)
from corrigible.schema.convert import from_proto
from corrigible.schema.v0_1 import feedback_pb2
from tests._support.rows import rows

POOL = descriptor_pool.DescriptorPool()


def feedback(count: int = 1, size: int = 1, **group: str) -> dict[str, Any]:
    suggestions = [
        {
            "action": "MODIFY_PARAMS",
            "message": "m" * size,
            "parameters": {"n": n},
            "patch": [{"op": "add", "path": "/body/n", "value": n}],
            **({"group": group} if group else {}),
        }
        for n in range(count)
    ]
    return {"type": "recovery_guidance", "message": "It is.", "suggestions": suggestions}


def native(size: int) -> status_pb2.Status:
    status = status_pb2.Status(code=3, message="bad parent")
    bad = error_details_pb2.BadRequest()
    bad.field_violations.add(field="parent", description="must be lower case")
    status.details.add().Pack(bad)
    if size:
        status.details.add().Pack(error_details_pb2.DebugInfo(detail="d" * size))
    return status


def added(trailers: Metadata | None) -> tuple[status_pb2.Status, any_pb2.Any]:
    assert trailers is not None
    (sent,) = [value for key, value in trailers if key == DETAILS]
    assert isinstance(sent, bytes)
    status = status_pb2.Status.FromString(sent)
    return status, status.details[-1]


def test_feedback_comes_last_and_integers_stay_integers() -> None:
    status = native(0)
    trailers: Metadata = (("x", "1"), (DETAILS, status.SerializeToString()), ("y-bin", b"\x00"))
    result = annotated(trailers, native_status(3, "bad parent", trailers), "bad parent", feedback())
    whole, last = added(result)
    assert list(whole.details[:-1]) == list(status.details)
    assert (whole.code, whole.message) == (3, "bad parent")
    message = feedback_pb2.RecoveryFeedback()
    assert last.Unpack(message)
    assert from_proto(message).suggestions[0].parameters == {"n": 0}
    assert result is not None and [key for key, _ in result] == ["x", "y-bin", DETAILS]


def test_without_native_details_the_status_says_the_same_code_and_message() -> None:
    whole, _ = added(annotated((), native_status(5, "gone", ()), "gone", feedback()))
    assert (whole.code, whole.message, len(whole.details)) == (5, "gone", 1)


@rows("size", [0, 100, 1000, 3000, 4000, 5000, 5500, 6000, 7000, 8000, 65536])
def test_the_native_details_survive_at_every_size(size: int) -> None:
    status = native(size)
    trailers: Metadata = ((DETAILS, status.SerializeToString()),)
    result = annotated(trailers, status, "bad parent", feedback(count=8, size=300))
    if result is None:
        return  # no room: the upstream's own trailers pass
    whole, last = added(result)
    assert list(whole.details[:-1]) == list(status.details)
    assert len(last.SerializeToString()) <= MOST_ADDED
    assert len(whole.SerializeToString()) * 4 / 3 <= MOST_TRAILERS


def test_what_finds_room_and_what_does_not() -> None:
    def room(size: int) -> int:
        result = annotated((), native(size), "bad parent", feedback(count=8, size=300))
        return 0 if result is None else len(_read(result).suggestions)

    assert [room(0), room(3000), room(5000), room(5600)] == [8, 7, 1, 0]


@pytest.mark.parametrize(
    ("message", "others"),
    [("x" * 3000, ()), ("\u00e9" * 1500, ()), ("", (("x", "x" * 2967), ("y", "z"))), ("", (("x-bin", b"x" * 2219),))],
)
def test_everything_in_the_trailers_takes_room(message: str, others: Metadata) -> None:
    """As much as RFC 9113 says, where text is UTF-8 on the wire, and bytes are base64."""

    def taken(trailers: Metadata) -> int:
        sent = [("grpc-status", b"99"), ("grpc-message", message.encode())]
        sent += [(key, value.encode() if isinstance(value, str) else b64encode(value)) for key, value in trailers]
        return sum(len(key) + len(value) + 32 for key, value in sent)

    fitting = [
        result
        for size in range(2000, 3400, 20)
        if (result := annotated(others, native(size), message, feedback(size=100))) is not None
    ]
    assert 0 < len(fitting) < 70
    assert MOST_TRAILERS - 40 < taken(fitting[-1]) <= MOST_TRAILERS


def _read(trailers: Metadata) -> Any:
    message = feedback_pb2.RecoveryFeedback()
    assert added(trailers)[1].Unpack(message)
    return from_proto(message)


def test_a_group_that_only_makes_sense_whole_is_cut_whole() -> None:
    together = feedback(count=30, size=300, id="1", relation="all")
    assert annotated((), native(0), "bad parent", together) is None
    choice = feedback(count=30, size=300, id="1", relation="one_of")
    assert len(_read(annotated((), native(0), "bad parent", choice) or ()).suggestions) == 11


def test_details_that_are_sent_twice_are_left_alone() -> None:
    entry = (DETAILS, native(0).SerializeToString())
    with pytest.raises(Unreadable):
        native_status(3, "bad parent", (entry, entry))


@pytest.mark.parametrize("sent", [b"\x0a\xff\xff\xff\x7f not a Status", status_pb2.Status(code=9).SerializeToString()])
def test_details_that_are_something_else_are_left_alone(sent: bytes) -> None:
    with pytest.raises(Unreadable):
        native_status(3, "bad", ((DETAILS, sent),))


def test_details_as_json() -> None:
    status = native(0)
    status.details.add(type_url="example.com/unknown.Type", value=b"\x01")
    assert status_json(status, POOL)["details"] == [
        {
            "@type": "type.googleapis.com/google.rpc.BadRequest",
            "fieldViolations": [{"field": "parent", "description": "must be lower case"}],
        },
        {"@type": "example.com/unknown.Type", "value": "AQ=="},
    ]


def test_codes_are_the_statuses_of_their_mapping() -> None:
    """google/rpc/code.proto, "HTTP Mapping" of each code."""
    assert HTTP == {
        code_pb2.OK: 200,
        code_pb2.CANCELLED: 499,
        code_pb2.UNKNOWN: 500,
        code_pb2.INVALID_ARGUMENT: 400,
        code_pb2.DEADLINE_EXCEEDED: 504,
        code_pb2.NOT_FOUND: 404,
        code_pb2.ALREADY_EXISTS: 409,
        code_pb2.PERMISSION_DENIED: 403,
        code_pb2.UNAUTHENTICATED: 401,
        code_pb2.RESOURCE_EXHAUSTED: 429,
        code_pb2.FAILED_PRECONDITION: 400,
        code_pb2.ABORTED: 409,
        code_pb2.OUT_OF_RANGE: 400,
        code_pb2.UNIMPLEMENTED: 501,
        code_pb2.INTERNAL: 500,
        code_pb2.UNAVAILABLE: 503,
        code_pb2.DATA_LOSS: 500,
    }


def test_a_status_that_no_server_sent_is_a_failure_of_the_connection() -> None:
    refused = (
        "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:9: "
        "Failed to connect to remote host: Connection refused"
    )
    assert failure_of(14, refused, ()) == "connection refused (127.0.0.1:9)"
    assert failure_of(14, "DNS resolution failed for x", ()) == "DNS resolution failed for x"
    assert failure_of(14, refused, (("x", "y"),)) is None  # a proxy of others says this of its own upstream
    assert failure_of(14, "etcdserver: no leader", ()) is None


@rows(
    ("message", "text"),
    [
        ("failed to connect to all addresses; last error: UNKNOWN: ipv4:10.1.2.3:9: x: Connection refused", "refused"),
        ("failed to connect to all addresses; last error: UNAVAILABLE: ipv6:%5Bfe80::7%5D:9: Socket closed", "socket"),
        ("failed to connect to all addresses; last error: INTERNAL: ipv4:10.1.2.3:9: Bad (10.1.2.3)", "be reached"),
        ("errors resolving db.internal:80: [field:address lookup failed for db.internal:80]", "name is not known"),
        ("DNS resolution failed for db.internal:80", "name is not known"),
        ("Ssl handshake failed: db.internal", "be reached"),
    ],
)
def test_callers_are_not_told_where_the_upstream_is(message: str, text: str) -> None:
    failure = failure_of(14, message, ())
    assert failure is not None
    told = caller_text(failure)
    assert text in told and not any(part in told for part in ("10.1.2.3", "fe80", "internal", ":9", ":80"))
