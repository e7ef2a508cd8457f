"""Look-ups over a real socket: what answers of any size, in any coding, cost."""

from __future__ import annotations

import asyncio
import functools
import gzip
import tracemalloc
import zlib
from typing import Any

import pytest

from corrigible.rules.lookup import Lookup, LookupAnswer

MEBIBYTE = 1 << 20
PLAIN = b'{"free": 7}'
JSON = b"Content-Type: application/json\r\n"


@functools.cache
def bomb() -> bytes:
    """Return what unfolds to 64 MiB."""
    return gzip.compress(bytes(64 * MEBIBYTE))


def asked(bench: Any, answer: bytes) -> LookupAnswer:
    from corrigible.proxy.mitm.lookup_client import LookupClient, Origin

    async def main(port: int) -> LookupAnswer:
        client = LookupClient()
        try:
            return await client.ask(Origin("http", "127.0.0.1", port, None, ()), Lookup("/x"))
        finally:
            await client.close()

    with bench.upstream({"/x": answer}) as upstream:
        return asyncio.run(main(upstream.port))


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (b"", PLAIN),
        (b"Content-Encoding: gzip\r\n", gzip.compress(PLAIN, mtime=0)),
        (b"Content-Encoding: deflate\r\n", zlib.compress(PLAIN)),
        (b"Content-Encoding: identity\r\n", PLAIN),
    ],
)
def test_an_answer_is_read(bench: Any, headers: bytes, body: bytes) -> None:
    assert asked(bench, bench.message(b"200 OK", JSON + headers, body)) == LookupAnswer(200, PLAIN)


def test_no_answer_takes_more_memory_than_it_may(bench: Any) -> None:
    asked(bench, bench.message(b"200 OK", JSON, PLAIN))  # what is imported on first need
    twice = gzip.compress(bomb())
    assert len(twice) < 4096
    tracemalloc.start()
    try:
        for headers, body in [
            (b"Content-Encoding: gzip\r\n", bomb()),
            (b"Content-Encoding: gzip, gzip\r\n", twice),
            (b"Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n", twice),
            (b"Content-Encoding: exi\r\n", PLAIN),
            (b"Content-Encoding: gzip\r\n", PLAIN),
            (b"", bytes(2 * MEBIBYTE)),
        ]:
            assert asked(bench, bench.message(b"200 OK", JSON + headers, body)) == LookupAnswer(0)
        assert tracemalloc.get_traced_memory()[1] < 16 * MEBIBYTE
    finally:
        tracemalloc.stop()
