"""A gRPC call as its HTTP/2 messages have it."""

from __future__ import annotations

import gzip

import pytest

from corrigible.proxy.envoy.processing import metadata_of, seconds_of, single_message, status_of
from tests._support.rows import rows


def test_metadata_is_what_the_transport_does_not_need() -> None:
    headers = [
        ("content-type", "application/grpc"),
        ("te", "trailers"),
        ("grpc-timeout", "1S"),
        ("grpc-encoding", "gzip"),
        ("x-text", "a,b"),
        ("x-raw-bin", "AP+A,AAE"),
        ("user-agent", "grpc-go"),
    ]
    assert metadata_of(headers) == (
        ("x-text", "a,b"),
        ("x-raw-bin", b"\x00\xff\x80"),
        ("x-raw-bin", b"\x00\x01"),
        ("user-agent", "grpc-go"),
    )
    kept = metadata_of([("grpc-status-details-bin", "CAM")], kept=("grpc-status-details-bin",))
    assert kept == (("grpc-status-details-bin", b"\x08\x03"),)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([("grpc-status", "3"), ("grpc-message", "100%25 %C3%A4%0A")], (3, "100% ä\n")),
        ([("Grpc-Status", "0")], (0, "")),
        ([("grpc-message", "no")], None),
        ([("grpc-status", "-1")], None),
        ([("grpc-status", "300")], None),
    ],
)
def test_a_status_is_read(headers: list[tuple[str, str]], status: tuple[int, str] | None) -> None:
    assert status_of(headers) == status


def framed(message: bytes, compressed: bool = False) -> bytes:
    return bytes([compressed]) + len(message).to_bytes(4, "big") + message


@rows(
    ("body", "encoding", "message"),
    [
        (framed(b"abc"), "identity", b"abc"),
        (framed(b""), "identity", b""),
        (b"", "identity", None),
        (framed(b"a") + framed(b"b"), "identity", None),
        (framed(b"abc")[:-1], "identity", None),
        (framed(gzip.compress(b"abc", mtime=0), True), "gzip", b"abc"),
        (framed(gzip.compress(b"a" * 100, mtime=0), True), "gzip", None),
        (framed(b"abc", True), "snappy", None),
        (framed(b"abc", True), "gzip", None),
    ],
)
def test_the_one_message_of_a_request(body: bytes, encoding: str, message: bytes | None) -> None:
    assert single_message(body, encoding, 50) == message


@pytest.mark.parametrize(("text", "seconds"), [("1S", 1.0), ("250m", 0.25), ("2M", 120.0), ("5u", 5e-6), ("x", None)])
def test_a_deadline_is_read(text: str, seconds: float | None) -> None:
    assert seconds_of([("grpc-timeout", text)]) == (seconds if seconds is None else pytest.approx(seconds))
    assert seconds_of([]) is None
