"""What every ASGI application of ours does alike: start and stop, read a body, send one answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LARGEST_BODY = 1 << 20


async def read_body(receive: Receive) -> bytes | None:
    """Return the body, of one that is too long only that it is; None where the caller left."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        if len(body) <= LARGEST_BODY:
            body += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(body)


async def lifespan(receive: Receive, send: Send, close: Callable[[], Awaitable[None]] | None = None) -> None:
    """Go along with the server's start and stop; `close` is awaited at the end."""
    while True:
        event = (await receive())["type"]
        if event == "lifespan.shutdown" and close is not None:
            await close()
        await send({"type": f"{event}.complete"})
        if event == "lifespan.shutdown":
            return


async def respond(
    scope: Scope, send: Send, status: int, content: bytes, headers: Sequence[tuple[bytes, bytes]] = ()
) -> None:
    """Send a JSON answer, to HEAD without its body."""
    all_headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode("ascii")),
        *headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": all_headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})


def field(location: Sequence[int | str]) -> str:
    """Write a place in the body as the API does: `lines[2].quantity`."""
    text = ""
    for step in location:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".")
