"""What is asked of every peer, and what the API behind them answers."""

from __future__ import annotations

import json
from typing import Final, NamedTuple

CALLERS: Final = 100_000
"""A caller that is refused again and again is another matter: refusals are of this many in turn."""
SMALL: Final = b'{"data": "' + b"x" * 1012 + b'"}'
LARGE: Final = b'{"data": "' + b"x" * 102_388 + b'"}'
REFUSED: Final = json.dumps(
    {
        "error": {
            "code": "amount_too_small",
            "doc_url": "https://stripe.com/docs/error-codes/amount-too-small",
            "message": "Amount must be at least 50 cents",
            "param": "amount",
            "request_log_url": "https://dashboard.stripe.com/test/logs/req_" + "0" * 240,
            "type": "invalid_request_error",
        }
    },
    indent=2,
).encode()
"""500 bytes."""
FORM: Final = b"amount=10&currency=usd&source=tok_visa"


class Task(NamedTuple):
    """One kind of request, sent on 16 connections."""

    name: str
    method: str
    path: str
    status: int
    body: bytes = b""
    content_type: str = "application/json"
    wire: str = "http"
    """`http`, `tls` (HTTP/1.1), or `h2` (with TLS)."""

    @property
    def scheme(self) -> str:
        return "http" if self.wire == "http" else "https"

    def headers(self) -> dict[str, str]:
        found = {"User-Agent": "bench", "Accept": "*/*", "Authorization": "Bearer bench"}
        return found | ({"Content-Type": self.content_type} if self.body else {})

    def script(self, pause: int = 0) -> str:
        """Return it as wrk takes it. `pause`: milliseconds between two requests of a connection, on average."""
        text = "".join(f"\\{byte:03d}" for byte in self.body)
        lines = [f'wrk.method = "{self.method}"', "local n = 0"]
        lines += [f'wrk.headers["{name}"] = "{value}"' for name, value in self.headers().items()]
        if self.body:
            lines.append(f'wrk.body = "{text}"')
        if self.status >= 400:
            caller = f'n = (n + 1) % {CALLERS}; wrk.headers["Authorization"] = "Bearer bench " .. n'
            lines.append(f"request = function() {caller}; return wrk.format() end")
        if pause:
            lines.append(f"delay = function() return math.random({2 * pause}) end")
        return "\n".join(lines)


GET: Final = Task("GET 1 KB", "GET", "/ok1k", 200)
GET_LARGE: Final = Task("GET 100 KB", "GET", "/ok100k", 200)
POST: Final = Task("POST 1 KB", "POST", "/ok1k", 200, SMALL)
POST_LARGE: Final = Task("POST 100 KB", "POST", "/ok1k", 200, LARGE)
REFUSAL: Final = Task("refused", "POST", "/v1/charges", 400, FORM, "application/x-www-form-urlencoded")
TLS: Final = GET._replace(name="GET 1 KB, TLS", wire="tls")
HTTP2: Final = GET._replace(name="GET 1 KB, HTTP/2", wire="h2")
TASKS: Final = (GET, GET_LARGE, POST, POST_LARGE, REFUSAL, TLS, HTTP2)
ANSWERS: Final = {"/ok1k": (200, SMALL), "/ok100k": (200, LARGE), "/v1/charges": (400, REFUSED)}
