"""Content-Encoding, both ways and against bombs."""

from __future__ import annotations

import tracemalloc
import zlib

import brotli  # type: ignore[import-untyped]  # it has no types
import pytest

from corrigible.schema.content_encoding import Start, coding, decoded, decoded_size, decoded_start
from tests._support.rows import rows

NAMES = ["identity", "gzip", "x-gzip", "deflate", "br", "zstd"]
BODY = b'{"error": {"message": "no"}}' * 40


@rows("name", NAMES)
@rows("body", [b"", b"x", BODY])
def test_round_trip(name: str, body: bytes) -> None:
    scheme = coding(f" {name.upper()} ")
    assert scheme is not None
    assert scheme.decode(scheme.encode(body), len(body)) == body


@pytest.mark.parametrize("name", NAMES[1:])
def test_what_would_grow_past_the_limit_is_refused(name: str) -> None:
    scheme = coding(name)
    assert scheme is not None
    packed = scheme.encode(BODY)
    with pytest.raises(ValueError, match=f"decodes to more than {len(BODY) - 1} bytes"):
        scheme.decode(packed, len(BODY) - 1)


@pytest.mark.parametrize("name", NAMES[1:])
def test_a_bomb_takes_no_memory(name: str) -> None:
    scheme = coding(name)
    assert scheme is not None
    zeros = bytes(1 << 25)
    bomb = brotli.compress(zeros, quality=9) if name == "br" else scheme.encode(zeros)  # the best takes a second
    assert len(bomb) < 1 << 16
    tracemalloc.start()
    try:
        with pytest.raises(ValueError):
            scheme.decode(bomb, 1 << 20)
        assert tracemalloc.get_traced_memory()[1] < 1 << 25
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", NAMES[1:])
def test_broken_streams_are_refused(name: str) -> None:
    scheme = coding(name)
    assert scheme is not None
    packed = scheme.encode(BODY)
    for broken in (b"not packed at all", packed + b"trailing", b"\x00" + packed):
        with pytest.raises(ValueError):
            scheme.decode(broken, 1 << 20)


@pytest.mark.parametrize("name", ["gzip", "deflate", "br"])
def test_half_a_stream_is_refused(name: str) -> None:
    scheme = coding(name)
    assert scheme is not None
    with pytest.raises(ValueError):
        scheme.decode(scheme.encode(BODY)[:-3], 1 << 20)


def test_every_frame_of_zstd_counts() -> None:
    scheme = coding("zstd")
    assert scheme is not None
    assert scheme.decode(scheme.encode(b"one ") + scheme.encode(b"two"), 100) == b"one two"


@pytest.mark.parametrize("name", ["", "compress", "gzip, br", "exi"])
def test_what_is_not_known_here(name: str) -> None:
    assert coding(name) is None


def test_deflate_is_zlib() -> None:
    scheme = coding("deflate")
    assert scheme is not None
    assert zlib.decompress(scheme.encode(BODY)) == BODY


@pytest.mark.parametrize(
    "headers",
    [
        [("Content-Encoding", "gzip, gzip")],
        [("Content-Encoding", "gzip"), ("content-encoding", "gzip")],
        [("Content-Encoding", "exi")],
    ],
)
def test_one_coding_is_undone_and_no_more(headers: list[tuple[str, str]]) -> None:
    gzip = coding("gzip")
    assert gzip is not None
    twice = gzip.encode(gzip.encode(BODY))
    with pytest.raises(ValueError, match="not known here"):
        decoded(headers, twice, 1 << 20)
    assert decoded_size(headers, twice, 10_000) == 10_001
    assert decoded(headers[:1], b"", 1) == b""


def test_the_size_of_a_body_is_that_of_what_is_in_it() -> None:
    gzip = coding("gzip")
    assert gzip is not None
    headers = [("Content-Encoding", "gzip")]
    assert decoded_size(headers, gzip.encode(BODY), 10_000) == len(BODY)
    assert decoded_size(headers, gzip.encode(bytes(20_000)), 10_000) == 10_001
    assert decoded_size([], BODY, 1) == len(BODY)


def test_nobody_waits_for_the_size_of_brotli() -> None:
    """Sixteen MiB come out of these few bytes at once: who only wants their size does not decode them."""
    bomb = brotli.compress(bytes(16 << 20), quality=9)
    assert len(bomb) < 100
    assert decoded_size([("Content-Encoding", " BR")], bomb, 10_000) == 10_001
    assert decoded_size([("Content-Encoding", "br")], b"", 10_000) == 0


@rows("name", NAMES)
@rows("limit", [0, 1, len(BODY) - 1, len(BODY), len(BODY) + 1])
def test_the_start_of_a_body_is_as_long_as_the_limit(name: str, limit: int) -> None:
    scheme = coding(name)
    assert scheme is not None
    headers = [("x", "y"), ("X-Content-Length", "br"), ("Content-Encoding", name), ("content-encodinG2", "zstd")]
    packed = scheme.encode(BODY)
    assert decoded_start(headers, packed, limit) == Start(BODY[:limit], is_whole=limit >= len(BODY))
    whole = decoded_size(headers, packed, limit)
    assert whole == (len(BODY) if limit >= len(BODY) and name != "br" else limit + 1)
    assert decoded_size(headers, b"", limit) == 0 == len(decoded(headers, b"", limit))


@pytest.mark.parametrize("headers", [[], [("content-encodings", "br")], [("Content-Encoding", "identity")]])
def test_a_body_without_a_coding_is_itself(headers: list[tuple[str, str]]) -> None:
    assert decoded(headers, BODY, len(BODY)) == BODY
    assert decoded_start(headers, BODY, 5) == Start(BODY[:5], is_whole=False)
    assert decoded_size(headers, BODY, len(BODY)) == len(BODY)


def test_a_body_in_two_codings_is_not_read() -> None:
    two = [("content-encoding", "gzip"), ("Content-Encoding", "gzip")]
    with pytest.raises(ValueError, match="gzip, gzip"):
        decoded(two, b"x", 100)
    assert decoded_size(two, b"x", 100) == 101
