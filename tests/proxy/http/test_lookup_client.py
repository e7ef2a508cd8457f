"""Look-ups over a real socket: what answers of any size, in any coding, cost."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import functools
import gzip
import os
import subprocess
import sys
import threading
import tracemalloc
import zlib
from typing import Any

import pytest

from corrigible.rules.lookup import Lookup, LookupAnswer
from tests._support.rows import rows

MEBIBYTE = 1 << 20
PLAIN = b'{"free": 7}'
JSON = b"Content-Type: application/json\r\n"


@functools.cache
def bomb() -> bytes:
    """Return what unfolds to 64 MiB."""
    return gzip.compress(bytes(64 * MEBIBYTE))


def asked(bench: Any, answer: bytes) -> LookupAnswer:
    from corrigible.proxy.http.lookup_client import LookupClient, Origin

    async def main(port: int) -> LookupAnswer:
        client = LookupClient()
        try:
            return await client.ask(Origin("http", "127.0.0.1", port, None, ()), Lookup("/x"))
        finally:
            client.close()

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


def test_headers_that_tell_pages_are_kept(bench: Any) -> None:
    headers = b'Link: </x?page=2>; rel="next"\r\nX-Total-Count: 9\r\nSet-Cookie: a=b\r\nlink: </y>; rel=last\r\n'
    kept = {"link": '</x?page=2>; rel="next", </y>; rel=last', "x-total-count": "9"}
    assert asked(bench, bench.message(b"200 OK", JSON + headers, PLAIN)) == LookupAnswer(200, PLAIN, kept)


PREPARED = """
import asyncio, sys
from corrigible.proxy.http.lookup_client import LookupClient, Origin
from corrigible.rules.lookup import Lookup

async def main():
    client = LookupClient()
    client.prepare()
    before = set(sys.modules)
    answer = await client.ask(Origin("http", "127.0.0.1", int(sys.argv[1]), None, ()), Lookup("/x"))
    print(answer.status, sorted(set(sys.modules) - before))
    client.close()

asyncio.run(main())
"""


def test_the_first_lookup_finds_all_that_it_needs(bench: Any) -> None:
    with bench.upstream({"/x": bench.message(b"200 OK", JSON, PLAIN)}) as upstream:
        ran = subprocess.run(
            [sys.executable, "-c", PREPARED, str(upstream.port)], capture_output=True, text=True, check=True
        )
    status, imported = ran.stdout.split(maxsplit=1)
    assert status == "200"
    assert [name for name in ast.literal_eval(imported) if name.partition(".")[0] in LARGE] == []


LARGE = {"h11", "ssl", "certifi", "asyncio"}


@pytest.mark.slow
def test_a_proxy_brings_no_client_that_it_does_not_use(bench: Any) -> None:
    command = bench.command("--upstream", "http://127.0.0.1:9", "--pack", "http", "--listen", "127.0.0.1:0")
    environment = {**os.environ, "PYTHONPROFILEIMPORTTIME": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        stderr: list[str] = []
        reader = threading.Thread(target=lambda: stderr.extend(process.stderr or ()))
        reader.start()
        assert process.stdout.readline().startswith("corrigible: ")
        process.kill()
        reader.join()
    imported = {line.rpartition("|")[2].strip() for line in stderr}
    assert "h11" in imported
    assert {"httpx", "httpcore", "anyio"}.isdisjoint(imported)


CLOSED = b"Connection: close\r\n"


@rows(
    ("headers", "more", "connections"),
    [(b"", b"", 1), (CLOSED, b"", 3), (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n{of: 9}", 3)],
    ids=["kept", "closed", "more than was asked for"],
)
@rows("later", [False, True])
def test_a_connection_is_kept_for_the_next_look_up(headers: bytes, more: bytes, connections: int, later: bool) -> None:
    from corrigible.proxy.http.lookup_client import LookupClient, Origin

    opened = 0

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal opened
        opened += 1
        with contextlib.suppress(OSError):
            while await reader.readline():
                await reader.readuntil(b"\r\n\r\n")
                writer.write(b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n%b" % (headers, len(PLAIN), PLAIN))
                if later:
                    await asyncio.sleep(0.05)
                writer.write(more)
        writer.close()

    async def main() -> list[LookupAnswer]:
        client, answers = LookupClient(), []
        async with await asyncio.start_server(served, "127.0.0.1", 0) as server:
            origin = Origin("http", "127.0.0.1", server.sockets[0].getsockname()[1], None, ())
            for _ in range(3):
                answers.append(await client.ask(origin, Lookup("/x")))
                await asyncio.sleep(0.1)
            client.close()
            await asyncio.sleep(0.1)
        return answers

    assert asyncio.run(main()) == [LookupAnswer(200, PLAIN)] * 3
    assert opened == connections


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\n\r\n",
        b"SSH-2.0-none\r\n",
        b"",
    ],
)
def test_half_an_answer_is_none(bench: Any, answer: bytes) -> None:
    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    async def main() -> LookupAnswer:
        from corrigible.proxy.http.lookup_client import LookupClient, Origin

        server = await asyncio.start_server(served, "127.0.0.1", 0)
        client = LookupClient()
        async with server:
            port = server.sockets[0].getsockname()[1]
            return await client.ask(Origin("http", "127.0.0.1", port, None, ()), Lookup("/x"))

    assert asyncio.run(main()) == LookupAnswer(0)


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


def test_a_look_up_has_its_own_headers_and_the_callers_credentials(bench: Any) -> None:
    from corrigible.proxy.http.lookup_client import LookupClient, Origin

    sent = (
        *((b"Accept", b"text/html"), (b"Authorization", b"Bearer t"), (b"X-Flavour", b"dark"), (b"X-Odd", b"1")),
        *((b"X-Api-Version", b"7"), (b"Cookie", b"a=b")),
    )
    lookup = Lookup("/x", headers=(("accept", "application/vnd.acme.v2+json"), ("x-flavour", "light")))

    async def main(port: int) -> LookupAnswer:
        client = LookupClient()
        try:
            return await client.ask(Origin("http", "127.0.0.1", port, None, sent), lookup)
        finally:
            client.close()

    with bench.upstream({"/x": bench.message(b"200 OK", JSON, PLAIN)}) as upstream:
        assert asyncio.run(main(upstream.port)).status == 200
        lines = upstream.requests[0].lower().split(b"\r\n")
    headers = sorted(line for line in lines if line.startswith((b"accept:", b"x-", b"authorization", b"cookie")))
    assert headers == [
        *(b"accept: application/vnd.acme.v2+json", b"authorization: bearer t", b"cookie: a=b", b"x-api-version: 7"),
        b"x-flavour: light",
    ]


def test_no_look_up_but_the_first_searches_for_modules(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from corrigible.proxy.http.lookup_client import LookupClient, Origin

    searched: list[str] = []

    class Finder:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> None:
            searched.append(name)

    async def main(port: int) -> LookupAnswer:
        client, origin = LookupClient(), Origin("http", "127.0.0.1", port, None, ())
        try:
            await client.ask(origin, Lookup("/x"))
            monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
            return await client.ask(origin, Lookup("/x"))
        finally:
            client.close()

    with bench.upstream({"/x": bench.message(b"200 OK", JSON, PLAIN)}) as upstream:
        assert asyncio.run(main(upstream.port)) == LookupAnswer(200, PLAIN)
    assert searched == []
