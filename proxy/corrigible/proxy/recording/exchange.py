"""One recorded exchange, from any kind of file."""

from __future__ import annotations

from dataclasses import dataclass

from corrigible.proxy.http.messages import RequestHead, ResponseHead


@dataclass(frozen=True, slots=True)
class Recorded:
    """One exchange as messages, with a name."""

    name: str
    request: RequestHead
    request_body: bytes
    response: ResponseHead
    response_body: bytes
    started: float = 0.0
