"""Acme billing as an ASGI application, and as a process of its own.

`Authorization: Bearer acme_test_ACCOUNT_ROLE` says whose call it is. Each ACCOUNT has payments, refunds and a daily
budget of its own, and is there from its first call on. ROLE is `agent`, `supervisor` or `owner`. The clock
is fixed, so that deadlines are the same at every run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qsl

import orjson

from corrigible.adapters.sandbox.asgi import LARGEST_BODY, Receive, Scope, Send, lifespan, read_body, respond

from .adapter import OPERATIONS
from .policy import policy
from .refund_service import Processor, RefundService, ServiceCall
from .request import Refused, refuse

NOW: Final = datetime(2026, 3, 2, 12, tzinfo=UTC)
_KEY: Final = re.compile(r"Bearer acme_test_([A-Za-z0-9-]{1,64})_(agent|supervisor|owner)")
_METHODS: Final = ("GET", "POST")


@dataclass(frozen=True, slots=True)
class Billing:
    """The application."""

    service: RefundService = field(repr=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await lifespan(receive, send, self.service.processor.close)
            return
        if (body := await read_body(receive)) is None:
            return
        status, document, headers = await self._answer(scope, body)
        await respond(scope, send, status, orjson.dumps(document), headers)

    async def _answer(self, scope: Scope, body: bytes) -> tuple[int, Any, Sequence[tuple[bytes, bytes]]]:
        method, path = scope["method"], scope["path"]
        sent = dict(scope["headers"])
        try:
            caller = _KEY.fullmatch(sent.get(b"authorization", b"").decode("latin-1"))
            if caller is None:
                raise refuse(401, "credentials_refused", "The call carries no key of Acme's.")
            match = OPERATIONS.find("GET" if method == "HEAD" else method, path)
            if match is None:
                if others := [other for other in _METHODS if OPERATIONS.find(other, path)]:
                    document = refuse(405, "method_not_allowed", f"{method} is not offered here.").document()
                    return 405, document, [(b"allow", ", ".join(others).encode())]
                raise refuse(404, "path_unknown", "There is nothing at this path.")
            if len(body) > LARGEST_BODY:
                raise refuse(413, "body_too_large", "The body is too long.")
            operation, parameters = match
            query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
            key = sent.get(b"idempotency-key")
            call = ServiceCall(
                self.service.account(caller[1]), caller[2], parameters, query, body, key and key.decode("latin-1")
            )
            return *await self.service.perform(operation, call), ()
        except Refused as error:
            return error.status, error.document(), ()


def billing(processor: Processor, now: datetime = NOW) -> Billing:
    """Return the application in front of a Stripe-compatible server."""
    return Billing(RefundService(policy(), processor, now))


def serve(host: str, port: int, stripe: str = "", now: str = "") -> None:
    """Run until interrupted, with a Stripe sandbox of its own where none is named. Needs the extra `sandboxes`."""
    import uvicorn

    from corrigible.adapters.apis.stripe.sandbox import SERVERS

    with SERVERS[0].start() if not stripe else nullcontext() as own:
        processor = Processor(own.url if own is not None else stripe)
        app = billing(processor, datetime.fromisoformat(now) if now else NOW)
        uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False)
