"""The server that a gateway asks: whole questions, in any pieces, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from corrigible.proxy.envoy.corrector_process import UNIX, listen
from corrigible.proxy.envoy.http_server import Call, Reply

QUESTION = b"POST /v1/x HTTP/1.1\r\nHost: c\r\nX-One: 1\r\nContent-Length: 5\r\n\r\nhello"


async def echo(call: Call) -> Reply:
    if call.path == b"/fails":
        raise RuntimeError("no")
    return Reply(200, ((b"x-one", call.headers.get(b"x-one", b"")),), call.method + b" " + call.path + b" " + call.body)


def at_server(
    folder: Path, client: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bytes]], largest: int = 100
) -> bytes:
    async def main() -> bytes:
        path = folder / "c.sock"
        server = await listen(echo, f"{UNIX}{path}", largest)
        async with server:
            reader, writer = await asyncio.open_unix_connection(str(path))
            try:
                return await asyncio.wait_for(client(reader, writer), 30)
            finally:
                writer.close()

    return asyncio.run(main())


async def answer(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"content-length:")), 0)
    return head + await reader.readexactly(length)


def test_a_question_in_single_bytes_is_answered(tmp_path: Path) -> None:
    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        for at in range(len(QUESTION)):
            writer.write(QUESTION[at : at + 1])
            await writer.drain()
        return await answer(reader)

    assert at_server(tmp_path, client) == (b"HTTP/1.1 200 OK\r\nx-one: 1\r\ncontent-length: 16\r\n\r\nPOST /v1/x hello")


def test_questions_behind_each_other_are_answered_in_order(tmp_path: Path) -> None:
    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(QUESTION + QUESTION.replace(b"/v1/x", b"/fails") + QUESTION.replace(b"hello", b"again"))
        return b"|".join([(await answer(reader)).partition(b"\r\n\r\n")[2] for _ in range(3)])

    assert at_server(tmp_path, client) == b"POST /v1/x hello|RuntimeError: no\n|POST /v1/x again"


@pytest.mark.parametrize(
    "nonsense",
    [
        b"no http at all\r\n\r\n",
        QUESTION.replace(b"Content-Length: 5", b"Content-Length: 500") + b"x" * 200,
        QUESTION.replace(b"Content-Length: 5", b"Content-Length: 5\r\nTransfer-Encoding: chunked"),
    ],
)
def test_what_is_no_question_or_too_large_ends_the_connection(tmp_path: Path, nonsense: bytes) -> None:
    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(nonsense)
        try:
            return await reader.read()
        except ConnectionError:
            return b""

    assert at_server(tmp_path, client) == b""


def test_a_new_server_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    async def main() -> list[str]:
        address = f"{UNIX}{tmp_path / 'c.sock'}"
        first = await listen(echo, address, 100)
        async with first, await listen(echo, address, 100):
            first.close()
            reader, writer = await asyncio.open_unix_connection(str(tmp_path / "c.sock"))
            writer.write(QUESTION)
            await answer(reader)
            writer.close()
        return [path.name for path in tmp_path.iterdir()]

    assert asyncio.run(main()) == ["c.sock"]
